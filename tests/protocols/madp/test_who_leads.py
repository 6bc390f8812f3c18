"""How deep a task is coordinated and who leads, as pure functions."""

import statistics
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest

from parley.coordinator.protocols.madp.depth import (
    REVIEWERS,
    SUPPORT,
    assessed,
    claims_wanted,
    determine_depth,
    variance,
    worded,
)
from parley.coordinator.protocols.madp.who_leads import (
    ResolutionInput,
    Resolved,
    most_confident,
    needs_challenges,
    resolve,
    tied,
)
from parley.schemas.protocols.madp.messages import Challenge, Claim, Settings
from parley.schemas.routing import DEPTHS, Candidate, Factors, Profile
from tests.protocols.madp.play import claim, objection

PROFILES = {x: Profile(expert=x, pin="", claim=f"{x} claims.", priority=i) for i, x in enumerate("abcdef", 1)}
"""a has priority 1, b 2, ..."""
ALL = frozenset("abcdef")


def settle(*claims: Claim, challenges: Sequence[Challenge] = (), most_support: int = 3, **more: Any) -> Resolved:
    return resolve(
        ResolutionInput(
            claims={c.agent_id: c for c in claims}, challenges=challenges, profiles=PROFILES, announced=ALL,
            most_support=most_support, **more,
        )
    )  # fmt: skip


def lead(*claims: Claim, **more: Any) -> str:
    return settle(*claims, **more).lead.agent_id


def support(r: Resolved) -> list[str]:
    return [a.agent_id for a in r.support]


def out(r: Resolved) -> dict[str, str]:
    return {x.agent_id: x.reason for x in r.excluded}


# ---------------------------------------------------------------- standing and ties


def test_claimed_relevance_comes_before_confidence() -> None:
    assert lead(claim("a", "medium", 0.9), claim("b", "high", 0.3)) == "b"


def test_ties_go_by_priority_and_it_is_said() -> None:
    r = settle(claim("c", "high", 0.705), claim("b", "high", 0.7), claim("d", "high", 0.2))
    assert r.lead.agent_id == "b" and not r.conflict
    assert r.notes == ("tie: b, c are equally confident (0.70); priority decides for b",)


def test_a_tie_is_a_variance_not_above_the_threshold() -> None:
    """Of 0.70 and 0.72 the variance is 1e-4."""
    assert tied({"a": 0.70, "b": 0.7199}) == ("b", "a")
    assert tied({"a": 0.70, "b": 0.73}) == ("b",)
    assert tied({"a": 0.5, "b": 0.5, "c": 0.1}) == ("a", "b")
    assert most_confident({"b": 0.5, "c": 0.5}, PROFILES)[0] == "b"
    assert most_confident({"x": 0.5, "c": 0.5}, PROFILES)[0] == "c", "whose priority is not known comes last"


def test_nobody_is_made_to_lead_who_did_not_claim() -> None:
    with pytest.raises(ValueError, match="got 0"):
        settle()
    candidates = (Candidate(expert="a", relevance=1, confidence=0.99),)
    assert lead(claim("b", "low", 0.1), candidates=candidates) == "b"


# ---------------------------------------------------------------- deferrals


def test_deferring_the_whole_task_leaves_the_lead_to_the_other() -> None:
    r = settle(claim("a", "high", 0.9, defers_to=("b",)), claim("b", "high", 0.5))
    assert r.lead.agent_id == "b" and r.rationale == "a left the task to b"


def test_mutual_deferral_over_different_topics_is_normal() -> None:
    r = settle(
        claim("a", "high", 0.6, defers_to=("b",), topics={"b": "code"}),
        claim("b", "high", 0.8, defers_to=("a",), topics={"a": "structure"}),
    )
    assert r.lead.agent_id == "b" and not r.notes and not r.conflict
    assert [(x.agent_id, x.responsibility) for x in r.support] == [("a", "structure")]


@pytest.mark.parametrize("topic", ["", "caching"])
def test_a_circle_over_one_topic_is_ended_by_relevance_and_said_so(topic: str) -> None:
    def defers(one: str, other: str, confidence: float) -> Claim:
        return claim(one, "high", confidence, defers_to=(other,), topics={other: topic} if topic else {})

    r = settle(defers("a", "b", 0.5), defers("b", "c", 0.9), defers("c", "a", 0.7))
    assert r.lead.agent_id == "b" and not r.conflict
    over = "over 'caching'" if topic else "over the whole task"
    assert r.notes == (f"deferrals {over} go round in a circle (a -> b -> c -> a): ended by relevance, b has it",)


def test_one_that_leaves_its_part_and_that_nobody_calls_for_is_left_out() -> None:
    r = settle(claim("a", "high"), claim("b", "medium", defers_to=("a",), topics={"a": "all of it"}))
    assert out(r) == {"b": "it leaves its part to a, and nobody calls for it"}


# ---------------------------------------------------------------- challenges


def test_a_concession_moves_on() -> None:
    challenges = [objection("a", "b", "lead"), objection("b", "c", "lead")]
    r = settle(
        claim("a", "high", 0.9), claim("b", "medium", 0.5), claim("c", "low", 0.3), claim("d", "medium", 0.8),
        challenges=challenges,
    )  # fmt: skip
    assert r.lead.agent_id == "c"


def test_support_bars_from_the_lead_and_keeps_for_support() -> None:
    r = settle(claim("a", "high", 0.8), claim("b", "high", 0.8), challenges=[objection("b", "a", "support")])
    assert r.lead.agent_id == "b" and support(r) == ["a"]


def test_exclude_leaves_out_with_the_challengers_reason() -> None:
    r = settle(
        claim("a", "medium", 0.6), claim("b", "medium", 0.5), claim("c", "high", 0.7),
        challenges=[objection("b", "a", "exclude", "This is code, not architecture.")],
    )  # fmt: skip
    assert r.lead.agent_id == "c" and out(r) == {"a": "This is code, not architecture."} and support(r) == ["b"]


def test_collaborate_keeps_both() -> None:
    """Else b, who leaves its part to the lead, would be left out."""
    claims = (claim("a", "high", 0.9), claim("b", "medium", 0.5, defers_to=("a",)))
    assert support(settle(*claims)) == []
    assert support(settle(*claims, challenges=[objection("a", "b", "collaborate")])) == ["b"]


def test_a_challenge_by_one_that_claims_less_does_not_hold() -> None:
    r = settle(claim("a", "high", 0.5), claim("b", "medium", 0.9), challenges=[objection("b", "a", "exclude")])
    assert r.lead.agent_id == "a" and "b's challenge of a (exclude) does not hold" in r.notes[0]


def test_the_one_that_stands_highest_gives_way_only_to_an_equal() -> None:
    def challenged(confidence: float) -> str:
        return lead(
            claim("a", "high", 0.9), claim("b", "high", confidence), challenges=[objection("b", "a", "exclude")]
        )

    assert challenged(0.6) == "a" and challenged(0.9) == "b"


def test_two_that_say_the_same_are_heard() -> None:
    r = settle(
        claim("a", "high", 0.9), claim("b", "medium", 0.5), claim("c", "low", 0.4),
        challenges=[objection("b", "a", "exclude"), objection("c", "a", "exclude")],
    )  # fmt: skip
    assert r.lead.agent_id == "b" and "a" in out(r)


def test_of_two_that_differ_the_stronger_counts_and_between_equals_the_milder() -> None:
    weak = [objection("b", "d", "exclude"), objection("c", "d", "support")]
    r = settle(claim("a", "high", 1), claim("b", "high", 0.9), claim("c", "medium", 0.5), claim("d", "medium", 0.5),
               challenges=weak)  # fmt: skip
    assert "d" in out(r)
    r = settle(claim("a", "high", 1), claim("b", "medium", 0.5), claim("c", "medium", 0.5), claim("d", "medium", 0.5),
               challenges=weak)  # fmt: skip
    assert "d" in support(r)


# ---------------------------------------------------------------- conflicts


def test_equals_that_push_each_other_out_are_a_conflict() -> None:
    challenges = [objection("a", "b", "exclude"), objection("b", "a", "support")]
    r = settle(claim("a", "high", 0.8), claim("b", "high", 0.8), challenges=challenges)
    assert r.conflict == "a and b challenge each other's part with equal standing"
    assert r.contenders == ("a", "b") and r.lead.agent_id == "a", "the default: by priority"


def test_equal_challengers_that_name_different_leads_are_a_conflict() -> None:
    challenges = [objection("a", "c", "lead"), objection("b", "d", "lead")]
    r = settle(
        claim("a", "high", 0.8), claim("b", "high", 0.8), claim("c", "medium", 0.5), claim("d", "medium", 0.4),
        challenges=challenges,
    )  # fmt: skip
    assert r.conflict == "challengers of equal standing propose different leads: c and d"
    assert r.contenders == ("c", "d") and r.lead.agent_id == "c"


def test_everybody_pushed_out_of_the_lead_is_a_conflict() -> None:
    challenges = [objection("a", "b", "support"), objection("b", "c", "support"), objection("c", "a", "exclude")]
    r = settle(claim("a", "high", 0.8), claim("b", "high", 0.8), claim("c", "high", 0.8), challenges=challenges)
    assert r.conflict == "everybody who claimed is challenged out of the lead" and r.lead.agent_id == "a"


# ---------------------------------------------------------------- support and exclusion


def test_support_is_whom_the_lead_requires_then_by_confidence() -> None:
    r = settle(
        claim("a", "high", 0.9, requires=("f",), topics={"f": "the data"}), claim("b", "medium", 0.5),
        claim("c", "medium", 0.6), claim("d", "high", 0.1),
    )  # fmt: skip
    assert [(x.agent_id, x.responsibility) for x in r.support] == [
        ("f", "the data"), ("d", "d should lead."), ("c", "c should lead."),
    ]  # fmt: skip
    assert list(out(r)) == ["b"] and "3 supporting roles at most" in out(r)["b"]


def test_whom_another_requires_comes_before_those_that_only_claim() -> None:
    r = settle(
        claim("a", "high", 0.9), claim("b", "medium", 0.8), claim("c", "medium", 0.3),
        claim("d", "medium", 0.7, requires=("c",)), most_support=1,
    )  # fmt: skip
    assert support(r) == ["c"]


def test_low_relevance_only_watches() -> None:
    """low: 0.3 - Observe only"""
    r = settle(claim("a", "high"), claim("b", "low"))
    assert support(r) == [] and out(r) == {"b": "it claims low relevance, and only watches"}
    assert support(settle(claim("a", "high", requires=("b",)), claim("b", "low"))) == ["b"], "unless it is required"


def test_everybody_has_exactly_one_part() -> None:
    candidates = tuple(Candidate(expert=x, relevance=0.5, confidence=0.5) for x in "abef")
    r = settle(
        claim("a"), claim("b", "medium"), claim("c", "low"), passed={"e": "Not mine."}, silent=("f",),
        candidates=candidates,
    )  # fmt: skip
    assert sorted([r.lead.agent_id, *support(r), *out(r)]) == list("abcef")
    assert out(r)["e"] == "Not mine." and out(r)["f"] == "it did not speak in time"


def test_who_spoke_first_does_not_matter() -> None:
    claims = [
        claim("a", "high", 0.5, defers_to=("b",)), claim("b", "high", 0.5, defers_to=("c",)),
        claim("c", "high", 0.5, defers_to=("a",)), claim("d", "medium", 0.9),
    ]  # fmt: skip
    challenges = [objection("a", "d", "exclude"), objection("b", "d", "support"), objection("c", "d", "collaborate")]
    found = [settle(*some, challenges=others) for some in permutations(claims) for others in permutations(challenges)]
    assert all(r == found[0] for r in found)
    assert found[0].lead.agent_id == "a" and "d" in support(found[0]), "by priority; between equals the mildest"


# ---------------------------------------------------------------- whether challenges are needed


@pytest.mark.parametrize(
    ("claims", "overlap", "needed"),
    [
        ([claim("a", "high")], True, False),  # nobody to challenge
        ([claim("a", "high"), claim("b", "medium")], False, False),
        ([claim("a", "high"), claim("b", "medium")], True, True),
        ([claim("a", "high"), claim("b", "high")], False, True),
        ([claim("a", "medium", defers_to=("b",)), claim("b", "medium", defers_to=("a",))], False, True),
    ],
)
def test_when_challenges_are_needed(claims: list[Claim], overlap: bool, needed: bool) -> None:
    assert needs_challenges({c.agent_id: c for c in claims}, overlap) is needed


def candidates(*confidences: float) -> tuple[Candidate, ...]:
    return tuple(Candidate(expert=f"e{i}", relevance=0.5, confidence=c) for i, c in enumerate(confidences))


def depth(*confidences: float, overlap: bool = False, clear: bool = True) -> str:
    given = Factors(
        candidate_count=0, confidence_variance=0, domain_overlap=overlap, action_clarity=clear, scope_definition=True
    )
    some = candidates(*confidences)
    return determine_depth(assessed(given, some), some)


@pytest.mark.parametrize(
    ("confidences", "overlap", "clear", "wanted"),
    [
        ((0.91,), False, True, "instant"),  # candidateCount === 1 && confidence > 0.9
        ((0.9,), False, True, "quick"),  # not above 0.9, above 0.7
        ((0.91,), False, False, "instant"),  # a vague verb does not matter to a single clear match
        ((0.71,), True, False, "quick"),
        ((0.71, 0.2), True, False, "quick"),  # candidateCount <= 2 && max > 0.7: nothing else counts
        ((0.7, 0.7), False, True, "standard"),  # not above 0.7
        ((0.95, 0.95, 0.95), False, True, "standard"),  # three are too many for quick
        ((0.7,), False, True, "standard"),
        ((0.7, 0.7), True, True, "extended"),  # overlap
        ((0.7, 0.7), False, False, "extended"),  # unclear action
        ((0.9, 0.5, 0.5, 0.5), False, True, "extended"),  # four
    ],
)
def test_the_function_to_the_letter(confidences: tuple[float, ...], overlap: bool, clear: bool, wanted: str) -> None:
    assert depth(*confidences, overlap=overlap, clear=clear) == wanted


def test_factors_are_those_of_the_candidates() -> None:
    """candidateCount, confidenceVariance: statisticalVariance(candidates.map(a => a.confidence))"""
    given = Factors(
        candidate_count=9, confidence_variance=9, domain_overlap=True, action_clarity=False, scope_definition=True
    )
    f = assessed(given, candidates(0.6, 0.5, 0.7))
    assert f.candidate_count == 3
    assert f.confidence_variance == pytest.approx(statistics.pvariance([0.6, 0.5, 0.7]), abs=1e-15)
    assert f.domain_overlap and not f.action_clarity and f.scope_definition, "the matcher's"
    assert not assessed(given, candidates(0.6)).domain_overlap, "one expert overlaps with nobody"


def test_variance_of_fewer_than_two_is_nothing() -> None:
    assert variance([]) == variance([0.4]) == 0.0
    assert variance([0.0, 1.0]) == 0.25


def test_what_each_depth_has() -> None:
    assert [claims_wanted(d) for d in DEPTHS] == ["none", "brief", "full", "full"]
    assert [SUPPORT[d] for d in DEPTHS] == [0, 1, 2, 3]
    assert [REVIEWERS[d] for d in DEPTHS] == [1, 1, 2, 3]


@pytest.mark.parametrize(
    ("wording", "wanted"), [("never", []), ("extended", ["extended"]), ("standard", ["standard", "extended"])]
)
def test_from_which_depth_on_models_word(wording: str, wanted: list[str]) -> None:
    settings = Settings(wording=wording)  # type: ignore[arg-type]
    assert [d for d in DEPTHS if worded(d, settings)] == wanted
