"""What a text says that was counted, against what was: a table of texts that contradict it, and of others."""

from pathlib import Path

import pytest
import yaml

from parley.coordinator.signals.count_contradictions import Contender, CountedResult, all_of_one_mind, contradiction

COUNT = CountedResult(
    sides={
        "pro": Contender(
            names=("Proposition", "pro", "affirmative", "team for the motion"), figures=(42.8, 53.05, 7.13, 6.0)
        ),
        "con": Contender(names=("Opposition", "con", "negative"), figures=(18.1, 48.1, 30.0, 6.87, 7.0)),
    },
    winner="pro",
    figures=(24.7,),
    best=("pro_2",),
    voters=("audience", "vot", "publikum"),
    unanimous=False,
)
"""Proposition won, 42.8 to 18.1: Opposition had lost 30 points to penalties."""

TEXTS: dict[str, list[str]] = yaml.safe_load((Path(__file__).parent / "retold.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", TEXTS["contradict"])
def test_a_text_that_says_otherwise_than_was_counted_is_found(text: str) -> None:
    assert contradiction(text, COUNT)


@pytest.mark.parametrize("text", TEXTS["agree"])
def test_a_text_that_does_not_is_left_alone(text: str) -> None:
    assert contradiction(text, COUNT) == ""


def test_nobody_won_and_a_text_names_a_winner() -> None:
    nobody = CountedResult(sides=COUNT.sides)
    assert contradiction("Proposition won.", nobody) == "it says that Proposition won"
    assert contradiction("Nobody won.", nobody) == ""
    assert contradiction("The debate ended in a draw.", nobody)


@pytest.mark.parametrize(
    "text",
    [
        "All agreed.", "All three reviewers approved it.", "It was approved by all reviewers.", "There was no dissent.",
        "It passed without dissent.",
        "The panel was unanimous.", "Nobody objected.", "Everyone agrees with this.", "Both experts agree.",
        "Alle Gutachter stimmten zu.", "Der Beschluss war einstimmig.", "Tous sont d'accord.", "À l'unanimité.",
    ],
)  # fmt: skip
def test_a_text_that_says_that_all_agreed(text: str) -> None:
    assert all_of_one_mind(text)


@pytest.mark.parametrize(
    "text",
    [
        "Not all agreed.", "It was not unanimous.", "If all agree, it ends.", "Two of three agreed.",
        "All questions are open.",
        "They agreed to meet.", "Nicht alle stimmten zu.", "The seats do not all agree.", "Almost everybody agreed.",
    ],
)  # fmt: skip
def test_a_text_that_does_not_say_that_all_agreed(text: str) -> None:
    assert not all_of_one_mind(text)


def test_of_whom_it_says_so_matters() -> None:
    text = "The council of Kaunas voted unanimously."
    assert all_of_one_mind(text) and not all_of_one_mind(text, ("reviewer", "expert"))
