"""What one more round is worth: the fit's features and figures, and the stop that follows from it."""

from typing import Any

import msgspec
import pytest

from parley.coordinator.schedulers import controller, round_value
from parley.coordinator.schedulers.controller import Observation
from parley.schemas.control import Control, RoundValue, Tuned
from parley.schemas.wire import InvalidValue
from tests.support.tuned import control


def fit(price: float = 0.0, tokens: float = 500, **coefficients: float) -> RoundValue:
    return RoundValue(
        version="v1", coefficients=coefficients, price=price, tokens=tokens, fitted_on="a test", debates=3
    )


def played(config: Control, *beliefs: tuple[float, float], tokens: int = 0) -> controller.State:
    """Rounds of two agents; the second of them always believes (.2, .8)."""
    seen = [Observation(beliefs={"u": first, "v": (0.2, 0.8)}, tokens=tokens) for first in beliefs]
    state = controller.begin(config, ("a", "b"), seen[0])
    for observation in seen[1:]:
        state = controller.advance(config, state, observation)
    return state


def test_features_are_of_the_rounds_played() -> None:
    state = played(Control(), (0.9, 0.1), (0.1, 0.9))
    found = round_value.features(state.rounds)
    assert found["top"] == pytest.approx(0.85, abs=1e-5) and found["turned"] == 1.0
    assert (found["blind"], found["round"], found["outcomes"], found["one"]) == (0.0, 1.0, 0.5, 1.0)
    assert found["disagreement"] == state.rounds[-1].jsd
    first = round_value.features(state.rounds[:1])
    assert (first["blind"], first["turned"]) == (1.0, 0.0)


def test_the_gain_is_the_sum_and_never_more_than_a_certain_answer() -> None:
    found = round_value.features(played(Control(), (0.9, 0.1)).rounds)
    assert round_value.gain(fit(one=0.3, outcomes=-0.2), found) == pytest.approx(0.2)
    assert round_value.gain(fit(one=5), found) == 1.0


def test_the_cost_is_the_price_of_the_dearest_round_so_far() -> None:
    spent, unknown = played(Control(), (0.9, 0.1), tokens=2_000), played(Control(), (0.9, 0.1))
    assert round_value.cost(fit(price=0.01), spent.rounds) == pytest.approx(0.02)
    assert round_value.cost(fit(price=0.01), unknown.rounds) == pytest.approx(0.005)


def stop(price: float, gain: float, *beliefs: tuple[float, float]) -> Any:
    config = control(round_value=fit(price=price, one=gain))
    return controller.verdict(config, played(config, *beliefs))


def test_a_round_that_is_worth_its_cost_is_played() -> None:
    assert stop(0.1, 0.06, (0.9, 0.1)) is None
    found = stop(0.1, 0.05, (0.9, 0.1))
    assert (found.reason, found.round, found.converged) == ("no_gain", 0, False)
    told = found.certificate["round_value"]
    assert (told["version"], told["price"], told["features"]["blind"]) == ("v1", 0.1, 1.0)
    assert found.certificate["stops"]["no_gain"]["tests"][0]["limit"] == pytest.approx(0.05)


def test_only_near_agreement_is_it_convergence() -> None:
    assert stop(1.0, 0.0, (0.25, 0.75)).converged
    assert not stop(1.0, 0.0, (0.9, 0.1)).converged


def test_without_a_fit_nothing_is_tested_or_told() -> None:
    config = Control(round_limit=1)
    found = controller.verdict(config, played(config, (0.9, 0.1), (0.9, 0.1)))
    assert found is not None and found.reason == "round_limit"
    assert "no_gain" not in found.certificate["stops"] and "round_value" not in found.certificate


def test_a_fit_names_features_that_there_are() -> None:
    with pytest.raises(InvalidValue, match="known are one, top"):
        fit(wordiness=1.0)


def test_a_fit_is_a_setting_and_survives_the_bus() -> None:
    config = control(round_value=fit(price=0.5, top=-0.25))
    assert msgspec.json.decode(msgspec.json.encode(config), type=Tuned) == config


def test_records_move_the_mixture_that_the_fit_sees() -> None:
    seen = Observation(beliefs={"u": (1.0, 0.0), "v": (0.0, 1.0)})
    plain = controller.begin(Control(), ("a", "b"), seen)
    known = controller.begin(Control(), ("a", "b"), seen, trust={"u": 1.5, "v": 0.5})
    assert round_value.features(plain.rounds)["top"] == pytest.approx(0.5)
    assert round_value.features(known.rounds)["top"] == pytest.approx(0.75, abs=1e-5)
    later = controller.advance(Control(), known, seen)
    assert later.mixture["a"] == pytest.approx(0.75, abs=1e-5)
