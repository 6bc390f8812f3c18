"""Rounds for the controller's tests: short ways to say what a round brought."""

from collections.abc import Sequence
from typing import Any

from parley.coordinator.schedulers.controller import Observation, State, advance, begin
from parley.schemas.control import Control
from tests.support import tuned

OUTCOMES = ("a", "b", "c")
U, V = (0.6, 0.3, 0.1), (0.1, 0.2, 0.7)
SHARED = {"u": ("e1", "e2"), "v": ("e2",)}


def control(**given: Any) -> Control:
    """Parameters in the paper's reading, without smoothing unless asked for: figures by hand are exact then."""
    return tuned.control(**{"reading": "paper", "smoothing": 0.0, **given})


def seen(u: Sequence[float] = U, v: Sequence[float] = V, **given: Any) -> Observation:
    """A round of two agents; by default a good one in which nothing moves."""
    usual: dict[str, Any] = {"evidence": SHARED, "crit": {"u": 0.8, "v": 0.7}, "q": 0.62}
    return Observation(beliefs={"u": tuple(u), "v": tuple(v)}, **{**usual, **given})


def play(config: Control, rounds: Sequence[Observation], **given: Any) -> State:
    """The controller over these rounds, the blind one first; stops are not asked for."""
    state = begin(config, given.pop("outcomes", OUTCOMES), rounds[0], **given)
    for observation in rounds[1:]:
        state = advance(config, state, observation)
    return state
