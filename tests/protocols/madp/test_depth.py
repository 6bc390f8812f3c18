"""3.2 and 4.1 by hand: each line of determineCoordinationDepth, at its boundary."""

import statistics

import pytest

from parley.coordinator.protocols.madp.depth import (
    REVIEWERS,
    SUPPORT,
    assessed,
    claims_wanted,
    determine_depth,
    ranked,
    variance,
    worded,
)
from parley.schemas.protocols.madp.messages import Settings
from parley.schemas.routing import DEPTHS, Candidate, Factors


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


def test_without_candidates_there_is_no_depth() -> None:
    with pytest.raises(ValueError, match="got 0"):
        depth()


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


def test_candidates_are_ranked_and_equal_ones_stay_as_the_matcher_has_them() -> None:
    a = Candidate(expert="a", relevance=0.1, confidence=0.5)
    b = Candidate(expert="b", relevance=0.2, confidence=0.5)
    c = Candidate(expert="c", relevance=0.2, confidence=0.6)
    d = Candidate(expert="d", relevance=0.2, confidence=0.5)
    assert [x.expert for x in ranked([a, d, b, c])] == ["c", "d", "b", "a"]


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
