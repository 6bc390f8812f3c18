"""tests/tiers.txt names what is there, and puts a test into the tiers that it says."""

from tests.conftest import TIERS, tiers_of
from tests.house.module_names import ROOT


def test_every_place_is_there_once() -> None:
    places = [place for _, place in TIERS]
    assert len(set(places)) == len(places)
    for tier, place in TIERS:
        file, _, test = place.partition("::")
        assert tier in ("landing", "nightly", "slow") and (ROOT / file).exists(), place
        assert not test or f"def {test.partition('[')[0]}(" in (ROOT / file).read_text(), place


def test_a_landing_test_is_in_no_other_tier() -> None:
    landing = next(place for tier, place in TIERS if tier == "landing" and place.startswith("tests/chaos/"))
    assert tiers_of(landing) == tiers_of(f"{landing}[1]") == {"slow", "landing"}
    assert tiers_of("tests/chaos/test_freezes.py::test_x") == {"nightly"}
    assert tiers_of("tests/coordinator/test_machine.py::test_x") == set()
