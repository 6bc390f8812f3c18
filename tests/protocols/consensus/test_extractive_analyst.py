"""The extractive model in the analyst's seat."""

import pytest

from parley.schemas.citation import Citation
from parley.schemas.protocols.consensus import CompareBrief, ConcludeBrief, Position, Weighted
from tests.protocols.consensus.simulate import ask, turn_shown

SILENT = Position(answer="", reasoning="nothing", confidence=0.0, abstains=True)


def position(answer: str, quote: str = "The canary caught six faults.") -> Position:
    return Position(
        answer=answer, reasoning="r", confidence=0.8, citations=(Citation(document="d.md", quote=quote),)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "groups"),
    [
        (("Canary", "Canary", "Canary"), [(0, 1, 2)]),
        (("Canary", "Blue-green", "Big-bang"), [(0,), (1,), (2,)]),
        (("Use Kubernetes", "Do not use Kubernetes"), [(0,), (1,)]),
        (("30 days", "90 days"), [(0,), (1,)]),
        (("A", "A", ""), [(0, 1)]),
    ],
)
def test_equal_answers_agree_and_contraries_that_share_their_words_do_not(
    answers: tuple[str, ...], groups: list[tuple[int, ...]]
) -> None:
    others = [position(a) if a else SILENT for a in answers]
    positions = tuple(Weighted(post=n, weight=1.0) for n in range(len(others)))
    brief = CompareBrief(iteration=1, round_limit=5, positions=positions)
    comparison = ask(turn_shown("q or p?", kind="compare", seat="analyst", others=others, brief=brief))
    assert sorted(g.posts for g in comparison.groups) == groups
    assert len(comparison.key_disagreements) == len(groups) - 1


def test_a_conclusion_words_the_panels_answer_and_names_what_others_hold() -> None:
    others = [position("Canary"), position("Canary"), position("Big-bang", "It is cheap.")]
    positions = tuple(Weighted(post=n, weight=1.0) for n in range(3))
    brief = ConcludeBrief(label="canary", answer="Canary", stood=(), positions=positions)
    conclusion = ask(turn_shown("q?", kind="conclude", seat="analyst", others=others, brief=brief))
    assert (conclusion.answer, conclusion.group) == ("Canary", "canary")
    assert conclusion.reasoning == (
        "The evidence quoted most: “The canary caught six faults.” (d.md)."
        " Another answer is “Big-bang”, on “It is cheap.” (d.md)."
    )
