"""Answers in other words, without a language model (agents/extractive/same_answer.py)."""

import pytest

from parley.agents.extractive.same_answer import grouped


@pytest.mark.parametrize(
    ("one", "other"),
    [("Move", "do not move"), ("Yes", "not yes"), ("A over B", "B over A"), ("before May", "after May"),
     ("more pumps", "fewer pumps"), ("5 %", "50 %")],
)  # fmt: skip
def test_a_word_that_turns_an_answer_round_makes_another(one: str, other: str) -> None:
    assert grouped([one, other]) == [[0], [1]]


@pytest.mark.parametrize(
    ("one", "other"), [("The worn impeller.", "worn impellers"), ("YES", "yes"), ("20 percent", "20 %")]
)
def test_case_articles_and_endings_make_none(one: str, other: str) -> None:
    assert grouped([one, other]) == [[0, 1]]
