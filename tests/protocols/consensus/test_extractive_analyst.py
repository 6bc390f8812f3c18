"""The extractive model in the analyst's seat."""

from typing import Any

import pytest

from parley.coordinator.protocols.consensus.score import facts, score
from parley.schemas.citation import Citation
from parley.schemas.protocols.consensus import (
    Change,
    CompareBrief,
    Comparison,
    ConcludeBrief,
    Conclusion,
    Position,
    Weighted,
)
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


def compared(*positions: Position, weights: tuple[float, ...] = (), **brief: Any) -> Comparison:
    """The comparison of these positions."""
    given = weights or (1.0,) * len(positions)
    wanted = tuple(Weighted(post=n, weight=w) for n, w in enumerate(given))
    asked = CompareBrief(**{"iteration": 1, "round_limit": 5, "positions": wanted, **brief})
    comparison = ask(turn_shown("q or p?", kind="compare", seat="analyst", others=positions, brief=asked))
    assert isinstance(comparison, Comparison)
    return comparison


def points(comparison: Comparison) -> float:
    """What it comes to, with seats of equal weight."""
    sides = [[1.0] * len(g.posts) for g in comparison.groups]
    parts = {"facts": facts(sides), "approach": comparison.approach, "priority": comparison.priority}
    return score(parts, SHARES)


def concluded(*positions: Position, answer: str) -> Conclusion:
    """What is worded of these positions, of which most hold this answer."""
    brief = ConcludeBrief(
        label="canary first", answer=answer, stood=(),
        positions=tuple(Weighted(post=n, weight=1.0) for n in range(len(positions))),
    )  # fmt: skip
    conclusion = ask(turn_shown("q?", kind="conclude", seat="analyst", others=positions, brief=brief))
    assert isinstance(conclusion, Conclusion)
    return conclusion


def test_one_answer_on_shared_evidence_is_strong_agreement() -> None:
    comparison = compared(*(position("Canary", *SHARED) for _ in range(3)))
    assert points(comparison) >= 90
    assert [g.posts for g in comparison.groups] == [(0, 1, 2)] and comparison.key_disagreements == ()
    assert "“Canary” is answered more than once." in comparison.agreements
    assert any(SHARED[0] in a for a in comparison.agreements), "what more than one quotes"


@pytest.mark.parametrize(
    "answers", [("Canary", "Blue-green", "Big-bang"), ("Yes", "No", "It depends"), ("A", "B", "C")]
)
def test_three_answers_are_no_agreement(answers: tuple[str, ...]) -> None:
    comparison = compared(*(position(a, *SHARED) for a in answers))
    assert points(comparison) < 50
    assert sorted(g.label for g in comparison.groups) == sorted(answers)
    assert len(comparison.key_disagreements) == 2
    first, *others = (g.label for g in comparison.groups)
    for other, told in zip(others, comparison.key_disagreements, strict=True):
        assert told.startswith(f"“{first}” or “{other}”")


def test_a_disagreement_names_what_is_quoted_for_either_side() -> None:
    comparison = compared(position("A", "One."), position("A", "One."), position("B", "Two."))
    assert comparison.key_disagreements == ("“A” or “B”: “One.” (d.md) against “Two.” (d.md)",)


@pytest.mark.parametrize(
    ("one", "two"), [("Use Kubernetes", "Do not use Kubernetes"), ("30 days", "90 days"), ("Yes", "No")]
)
def test_contraries_that_share_their_words_do_not_agree(one: str, two: str) -> None:
    comparison = compared(position(one, *SHARED), position(two, *SHARED))
    assert len(comparison.groups) == 2 and points(comparison) < 50


def test_who_abstains_is_not_compared() -> None:
    silent = Position(answer="", reasoning="nothing", confidence=0.0, abstains=True)
    comparison = compared(position("A", "x"), position("A", "x"), silent)
    assert [g.posts for g in comparison.groups] == [(0, 1)] and points(comparison) >= 90


def test_a_conclusion_words_the_panels_answer_and_names_what_others_hold() -> None:
    positions = [position("Canary", *SHARED), position("Canary", SHARED[0]), position("Big-bang", "It is cheap.")]
    conclusion = concluded(*positions, answer="Canary")
    assert (conclusion.answer, conclusion.group) == ("Canary", "canary first")
    assert conclusion.reasoning.startswith(f"The evidence quoted most: “{SHARED[0]}” (d.md); ")
    assert conclusion.reasoning.endswith("Another answer is “Big-bang”, on “It is cheap.” (d.md).")


def test_a_conclusion_counts_no_heads_and_says_nothing_of_agreement() -> None:
    for positions in ([position("A"), position("A")], [position("A"), position("B")]):
        reasoning = concluded(*positions, answer="A").reasoning
        assert not any(word in reasoning for word in ("agree", "consensus", "seats", "%", "of 2"))
