"""How deep a task is coordinated and who leads, as pure functions."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
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


def out(r: Resolved) -> dict[str, str]:
    return {x.agent_id: x.reason for x in r.excluded}


@dataclass(frozen=True)
class Rule:
    """What is said, and what comes of it."""

    claims: tuple[Claim, ...]
    lead: str
    support: str = ""
    """Experts, one letter each."""
    out: dict[str, str] = field(default_factory=dict)
    challenges: tuple[Challenge, ...] = ()
    notes: tuple[str, ...] = ()
    conflict: str = ""
    contenders: str = ""


LEAVES = "it leaves its part to {}, and nobody calls for it"
WATCHES = "it claims low relevance, and only watches"
NOT_THEIRS = "It is not theirs."
WEAK = "b's challenge of a (exclude) does not hold: a claims more relevance or confidence, and nobody seconds it"
HIGH_A, HIGH_B, HALF_B = claim("a", "high", 0.9), claim("b", "high", 0.9), claim("b", "medium", 0.5)
TOP_A, HALF_C, HALF_D = claim("a", "high", 1), claim("c", "medium", 0.5), claim("d", "medium", 0.5)
EQUAL = tuple(claim(x, "high", 0.8) for x in "abc")
OUT_A = objection("b", "a", "exclude")
DIFFER = objection("b", "d", "exclude"), objection("c", "d", "support")
RULES = {
    "claimed relevance comes before confidence": Rule((claim("a", "medium", 0.9), claim("b", "high", 0.3)), "b", "a"),
    "ties go by priority": Rule(
        (claim("c", "high", 0.705), claim("b", "high", 0.7), claim("d", "high", 0.2)), "b", "cd",
        notes=("tie: b, c are equally confident (0.70); priority decides for b",),
    ),
    "of the whole task: the other leads": Rule(
        (claim("a", "high", 0.9, defers_to=("b",)), claim("b", "high", 0.5)), "b", out={"a": LEAVES.format("b")}
    ),
    "to each other, over different topics": Rule(
        (claim("a", "high", 0.6, defers_to=("b",), topics={"b": "code"}),
         claim("b", "high", 0.8, defers_to=("a",), topics={"a": "structure"})), "b", "a",
    ),
    "of a part: nobody calls for it": Rule(
        (claim("a", "high"), claim("b", "medium", defers_to=("a",), topics={"a": "all of it"})), "a",
        out={"b": LEAVES.format("a")},
    ),
    "a concession moves on": Rule(
        (HIGH_A, HALF_B, claim("c", "low", 0.3), claim("d", "medium", 0.8)), "c", "abd",
        challenges=(objection("a", "b", "lead"), objection("b", "c", "lead")),
    ),
    "support bars from the lead": Rule(EQUAL[:2], "b", "a", challenges=(objection("b", "a", "support"),)),
    "exclude, with the challenger's reason": Rule(
        (claim("a", "medium", 0.6), HALF_B, claim("c", "high", 0.7)), "c", "b", {"a": "This is code."},
        (objection("b", "a", "exclude", "This is code."),),
    ),
    "collaborate keeps both": Rule(
        (HIGH_A, claim("b", "medium", 0.5, defers_to=("a",))), "a", "b",
        challenges=(objection("a", "b", "collaborate"),),
    ),
    "one that claims less is not heard": Rule(
        (claim("a", "high", 0.5), claim("b", "medium", 0.9)), "a", "b", challenges=(OUT_A,), notes=(WEAK,)
    ),
    "an equal one is": Rule((HIGH_A, HIGH_B), "b", "", {"a": NOT_THEIRS}, (OUT_A,)),
    "two that say the same are": Rule(
        (HIGH_A, HALF_B, claim("c", "low", 0.4)), "b", "", {"a": NOT_THEIRS, "c": WATCHES},
        (OUT_A, objection("c", "a", "exclude")),
    ),
    "of two that differ the stronger counts": Rule(
        (TOP_A, HIGH_B, HALF_C, HALF_D), "a", "bc", {"d": NOT_THEIRS}, DIFFER
    ),
    "and between equals the milder": Rule((TOP_A, HALF_B, HALF_C, HALF_D), "a", "dbc", challenges=DIFFER),
    "equals push each other out": Rule(
        EQUAL[:2], "a", "b", challenges=(objection("a", "b", "exclude"), objection("b", "a", "support")),
        notes=("tie: a, b are equally confident (0.80); priority decides for a",),
        conflict="a and b challenge each other's part with equal standing", contenders="ab",
    ),
    "equals name different leads": Rule(
        (*EQUAL[:2], HALF_C, claim("d", "medium", 0.4)), "c", "abd",
        challenges=(objection("a", "c", "lead"), objection("b", "d", "lead")),
        notes=("tie: c, d are equally confident (0.80); priority decides for c",),
        conflict="challengers of equal standing propose different leads: c and d", contenders="cd",
    ),
    "everybody is pushed out": Rule(
        EQUAL, "a", "bc",
        challenges=(objection("a", "b", "support"), objection("b", "c", "support"), objection("c", "a", "exclude")),
        conflict="everybody who claimed is challenged out of the lead", contenders="abc",
    ),
    "support: whom the lead requires, then by confidence": Rule(
        (claim("a", "high", 0.9, requires=("f",)), HALF_B, claim("c", "medium", 0.6), claim("d", "high", 0.1)), "a",
        "fdc", {"b": "there are 3 supporting roles at most, and others are called for first"},
    ),
    "low: 0.3 - Observe only": Rule((claim("a", "high"), claim("b", "low")), "a", out={"b": WATCHES}),
    "unless it is required": Rule((claim("a", "high", requires=("b",)), claim("b", "low")), "a", "b"),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_what_claims_and_challenges_come_to(rule: Rule) -> None:
    r = settle(*rule.claims, challenges=rule.challenges)
    found = Rule(
        rule.claims, r.lead.agent_id, "".join(a.agent_id for a in r.support), out(r), rule.challenges, r.notes,
        r.conflict, "".join(r.contenders),
    )  # fmt: skip
    assert found == rule


def test_a_tie_is_a_variance_not_above_the_threshold() -> None:
    """Of 0.70 and 0.72 the variance is 1e-4."""
    assert tied({"a": 0.70, "b": 0.7199}) == ("b", "a")
    assert tied({"a": 0.70, "b": 0.73}) == ("b",)
    assert tied({"a": 0.5, "b": 0.5, "c": 0.1}) == ("a", "b")
    assert most_confident({"b": 0.5, "c": 0.5}, PROFILES)[0] == "b"
    assert most_confident({"x": 0.5, "c": 0.5}, PROFILES)[0] == "c", "whose priority is not known comes last"


def test_a_part_is_what_another_leaves_or_asks_of_it_else_what_it_claims() -> None:
    r = settle(
        claim("a", "high", 0.9, defers_to=("b",), topics={"b": "the structure", "f": "the data"}, requires=("f",)),
        claim("b", "medium"), claim("c", "medium", 0.1),
    )  # fmt: skip
    assert {x.agent_id: x.responsibility for x in (r.lead, *r.support)} == {
        "a": "a should lead.", "f": "the data", "b": "the structure", "c": "c should lead.",
    }  # fmt: skip


@pytest.mark.parametrize("topic", ["", "caching"])
def test_a_circle_over_one_topic_is_ended_by_relevance_and_said_so(topic: str) -> None:
    def defers(one: str, other: str, confidence: float) -> Claim:
        return claim(one, "high", confidence, defers_to=(other,), topics={other: topic} if topic else {})

    r = settle(defers("a", "b", 0.5), defers("b", "c", 0.9), defers("c", "a", 0.7))
    assert r.lead.agent_id == "b" and not r.conflict
    over = "over 'caching'" if topic else "over the whole task"
    assert r.notes == (f"deferrals {over} go round in a circle (a -> b -> c -> a): ended by relevance, b has it",)


def test_everybody_has_exactly_one_part() -> None:
    """And whom another requires comes before those that only claim."""
    candidates = tuple(Candidate(expert=x, relevance=0.5, confidence=0.5) for x in "abef")
    r = settle(
        claim("a"), claim("b", "medium", 0.8), claim("c", "medium", 0.3), claim("d", "medium", 0.7, requires=("c",)),
        passed={"e": "Not mine."}, silent=("f",), candidates=candidates, most_support=1,
    )  # fmt: skip
    assert (r.lead.agent_id, [a.agent_id for a in r.support]) == ("a", ["c"]) and sorted(out(r)) == list("bdef")
    assert out(r)["e"] == "Not mine." and out(r)["f"] == "it did not speak in time"


def test_who_spoke_first_does_not_matter() -> None:
    claims = [
        claim("a", "high", 0.5, defers_to=("b",)), claim("b", "high", 0.5, defers_to=("c",)),
        claim("c", "high", 0.5, defers_to=("a",)), claim("d", "medium", 0.9),
    ]  # fmt: skip
    challenges = [objection("a", "d", "exclude"), objection("b", "d", "support"), objection("c", "d", "collaborate")]
    found = [settle(*some, challenges=others) for some in permutations(claims) for others in permutations(challenges)]
    assert all(r == found[0] for r in found)
    assert found[0].lead.agent_id == "a" and "d" in [a.agent_id for a in found[0].support], "the mildest of equals"


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
