"""The committed halves: whole, apart, those of the harness, and made from the data alone."""

import pytest

from parley_research.debates.record import SPLIT, half
from parley_research.learned import splits
from parley_research.loaders import DATA, NoData

NAMES = splits.names()


def test_every_recorded_set_with_gold_has_a_file() -> None:
    assert set(NAMES) == set(splits.sets())


@pytest.mark.parametrize("name", NAMES)
def test_halves_are_apart(name: str) -> None:
    found = splits.split(name)
    assert (found.set, found.seed) == (name, SPLIT)
    assert found.fit.sha256 != found.test.sha256
    assert 0.35 < found.fit.questions / (found.fit.questions + found.test.questions) < 0.65


def test_a_question_lies_in_the_half_of_the_harness() -> None:
    questions = [f"q{i}" for i in range(100)]
    drawn = splits.halves("a", questions)
    assert drawn.fit == splits.half_of(sorted(q for q in questions if half("a", q) == "fit"))
    assert drawn.test == splits.half_of(sorted(q for q in questions if half("a", q) == "test"))


def test_halves_depend_on_the_set_and_on_no_order() -> None:
    questions = [f"q{i}" for i in range(100)]
    assert splits.halves("a", questions) == splits.halves("a", [*questions[::-1], *questions])
    assert splits.halves("a", questions).fit != splits.halves("b", questions).fit


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_made_from_the_data(name: str) -> None:
    try:
        found = splits.made(splits.sets()[name], DATA)
    except NoData as error:
        pytest.skip(f"NOT CHECKED: {error}")
    assert found == splits.split(name)
