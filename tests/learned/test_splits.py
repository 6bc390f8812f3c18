"""The committed halves: whole, apart, and made from the data alone."""

import pytest

from evaluation import loaders
from evaluation.debates.record import SPLIT, half
from evaluation.learned import splits
from evaluation.loaders import DATA, BadData


@pytest.mark.parametrize("name", splits.SETS)
def test_halves_are_apart_and_of_like_size(name: str) -> None:
    found = splits.split(name)
    assert found.set == name and found.seed == SPLIT
    assert not set(found.fit) & set(found.test)
    assert 0.35 < len(found.fit) / (len(found.fit) + len(found.test)) < 0.65


def test_a_unit_is_in_one_half_and_an_unknown_one_in_none() -> None:
    found = splits.split(loaders.GSM8K)
    assert found.half(found.fit[0]) == "fit"
    assert found.half(found.test[-1]) == "test"
    with pytest.raises(BadData, match="is in no half"):
        found.half("gsm8k/none")


def test_halves_depend_on_the_set_and_on_no_order() -> None:
    ids = [f"q{i}" for i in range(100)]
    assert splits.halves("a", ids) == splits.halves("a", [*ids[::-1], *ids])
    assert splits.halves("a", ids) != splits.halves("b", ids)


def test_the_harness_has_the_same_halves() -> None:
    for name, called in splits.HARNESS.items():
        found = splits.split(name)
        assert {half(called, unit) for unit in found.fit} == {"fit"}
        assert {half(called, unit) for unit in found.test} == {"test"}


@pytest.mark.parametrize("name", splits.SETS)
def test_the_files_are_made_from_the_data(name: str) -> None:
    if not (DATA / name).is_dir():
        pytest.skip(f"NOT CHECKED: {DATA / name} is not there")
    assert splits.made(name) == splits.split(name)
