"""Answers in other words, without a language model (agents/extractive/same_answer.py)."""

import pytest

from parley.agents.extractive.same_answer import grouped


@pytest.mark.parametrize(
    ("one", "other"),
    [("Move", "do not move"), ("Yes", "not yes"), ("A over B", "B over A"), ("before May", "after May"),
     ("more pumps", "fewer pumps"), ("5 %", "50 %"), ("20 percent", "20 %"), ("C++", "C#"), ("> 5 ms", "< 5 ms")],
)  # fmt: skip
def test_a_word_or_a_sign_that_turns_an_answer_round_makes_another(one: str, other: str) -> None:
    assert grouped([one, other]) == [[0], [1]]


@pytest.mark.parametrize(
    ("one", "other"), [("The worn impeller.", "worn impellers"), ("YES", "yes"), ("'Move'.", "move")]
)
def test_case_articles_and_endings_make_none(one: str, other: str) -> None:
    assert grouped([one, other]) == [[0, 1]]
