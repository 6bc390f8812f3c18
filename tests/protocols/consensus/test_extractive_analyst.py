"""The extractive model in the analyst's seat."""

from typing import Any

import pytest

from parley.schemas.citation import Citation
from parley.schemas.protocols.consensus import Analysis, Change, Position, ScoreBrief, SynthesisBrief, Weighted
from tests.protocols.consensus.simulate import ask, turn_shown

SHARES = {"facts": 0.6, "approach": 0.25, "priority": 0.15}
SHARED = ("The canary caught six faults.", "The canary was reliable.")


def position(answer: str, *quotes: str, confidence: float = 0.8, change: Change = "kept") -> Position:
    """A position with its evidence."""
    return Position(
        answer=answer, reasoning="r", confidence=confidence, change=change,
        change_reason="" if change == "kept" else "x",
        citations=tuple(Citation(document="d.md", quote=q) for q in quotes),
    )  # fmt: skip


def scored(*positions: Position, weights: tuple[float, ...] = (), **brief: Any) -> Analysis:
    """The analysis of these positions."""
    given = weights or (1.0,) * len(positions)
    wanted = tuple(Weighted(post=n, weight=w) for n, w in enumerate(given))
    asked = ScoreBrief(**{"iteration": 1, "positions": wanted, "shares": SHARES, **brief})
    analysis = ask(turn_shown("q or p?", kind="score", seat="analyst", others=positions, brief=asked))
    assert isinstance(analysis, Analysis)
    return analysis


def test_one_answer_on_shared_evidence_is_strong_agreement() -> None:
    analysis = scored(*(position("Canary", *SHARED) for _ in range(3)))
    assert analysis.score >= 90
    assert analysis.key_disagreements == () and not analysis.should_continue
    assert any("“Canary”" in a for a in analysis.agreements)


def test_one_answer_on_different_evidence_still_counts_as_agreement() -> None:
    analysis = scored(position("Canary", "One."), position("canary.", "Two."), position("The canary", "Three."))
    assert analysis.score >= 90


@pytest.mark.parametrize(
    "answers", [("Canary", "Blue-green", "Big-bang"), ("Yes", "No", "It depends"), ("A", "B", "C")]
)
def test_three_answers_are_no_agreement(answers: tuple[str, ...]) -> None:
    analysis = scored(*(position(a, *SHARED) for a in answers))
    assert analysis.score < 50
    assert len(analysis.key_disagreements) == 2
    assert all(any(a in d for d in analysis.key_disagreements) for a in answers)


@pytest.mark.parametrize(
    ("one", "two"), [("Use Kubernetes", "Do not use Kubernetes"), ("30 days", "90 days"), ("Yes", "No")]
)
def test_contraries_that_share_their_words_do_not_agree(one: str, two: str) -> None:
    assert scored(position(one, *SHARED), position(two, *SHARED)).score < 50


def test_answers_with_other_figures_do_not_agree() -> None:
    near = scored(position("It is kept for 30 days"), position("They keep it for 30 days")).score
    far = scored(position("It is kept for 30 days"), position("It is kept for 35 days")).score
    assert far < near < 90


def test_two_of_three_lie_between() -> None:
    two = scored(position("A", "x y"), position("A", "x y"), position("B", "z")).score
    assert scored(position("A"), position("B"), position("C")).score < two < 90


def test_weights_count() -> None:
    heavy = scored(position("A"), position("A"), position("B"), weights=(2.0, 2.0, 0.5)).score
    light = scored(position("A"), position("A"), position("B"), weights=(0.5, 0.5, 2.0)).score
    assert heavy > light


def test_shares_of_the_dimensions_count() -> None:
    positions = (position("A", *SHARED), position("B", *SHARED))
    facts = scored(*positions, shares={"facts": 1.0, "approach": 0.0, "priority": 0.0}).score
    priority = scored(*positions, shares={"facts": 0.0, "approach": 0.0, "priority": 1.0}).score
    assert facts == 0.0 < priority


def test_who_abstains_is_not_scored() -> None:
    silent = Position(answer="", reasoning="nothing", confidence=0.0, abstains=True)
    assert scored(position("A", "x"), position("A", "x"), silent).score >= 90


@pytest.mark.parametrize(
    ("before", "word"), [((), "stable"), ((20.0,), "improving"), ((99.9,), "diverging"), ((20.0, 51.0), "stable")]
)
def test_convergence_is_told_by_the_last_score(before: tuple[float, ...], word: str) -> None:
    analysis = scored(position("A", "x"), position("A", "x"), position("B", "y"), trend=before)
    assert 50 < analysis.score < 52
    assert analysis.convergence == word


def test_it_would_stop_when_nobody_moves() -> None:
    assert scored(position("A"), position("B"), iteration=1).should_continue
    assert not scored(position("A"), position("B"), iteration=2).should_continue
    assert scored(position("A"), position("B", change="adopted"), iteration=2).should_continue


def test_a_synthesis_explains_the_panels_answer_and_keeps_the_minority() -> None:
    positions = [position("Canary", *SHARED), position("Canary", SHARED[0]), position("Big-bang", "It is cheap.")]
    brief = SynthesisBrief(
        reason="round_limit",
        converged=False,
        positions=tuple(Weighted(post=n, weight=1.0) for n in range(3)),
        answer="Canary",
    )
    synthesis = ask(turn_shown("q?", kind="synthesize", seat="analyst", others=positions, brief=brief))
    assert synthesis.answer == "Canary"
    assert "no consensus" in synthesis.reasoning
    assert (
        SHARED[0] in synthesis.reasoning and "Big-bang" in synthesis.reasoning and "It is cheap." in synthesis.reasoning
    )
    assert synthesis.confidence == pytest.approx(0.8 * 2 / 3, abs=1e-3)


def test_a_synthesis_of_nothing_says_so() -> None:
    brief = SynthesisBrief(reason="round_limit", converged=False, positions=(), answer="")
    synthesis = ask(turn_shown("q?", kind="synthesize", seat="analyst", brief=brief))
    assert synthesis.confidence == 0.0 and "No seat" in synthesis.reasoning
