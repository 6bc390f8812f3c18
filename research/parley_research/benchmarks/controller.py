"""What one round of MACI's controller costs: 8 agents, 100 outcomes, 20 spans each.

    python -m parley_research.benchmarks.controller

Timed is CPU of this process for `advance` and `verdict`: smoothing, monotone gate, reliability, every signal of the
round (those logged only included), flags, dials, stops; with 20 cited passages an agent. Not timed: making the
observation, reading and writing messages. Beside it, what the protocol asks before: reading the helper's figures on the
160 spans, Q of all of them and of each of 24 arguments. The floor is what no controller can do without: the logarithms
of the 800 probabilities, each times its probability, summed.
"""

import math
import time
from collections.abc import Callable
from operator import mul

import msgspec
import numpy as np

from parley.coordinator.schedulers.controller import Observation, State, advance, begin, verdict
from parley.coordinator.signals.crit import Similarities
from parley.schemas.control import Control
from parley.schemas.text import Similar

AGENTS, OUTCOMES, SPANS, ARGUMENTS, ROUNDS = 8, 100, 20, 3, 8
REPEATS = 60
FLOOR = "the floor: 800 logarithms, products, 8 sums"
ADAPTIVE = "a round, adaptive"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One thing measured."""

    what: str
    us: float
    """CPU microseconds of one; median over the repeats."""


def observations(seed: int = 1) -> list[Observation]:
    """The blind round and those after it; agents close in on each other, so that no round is held back."""
    dice = np.random.default_rng(seed)
    start, goal = dice.dirichlet(np.ones(OUTCOMES), size=AGENTS), dice.dirichlet(np.ones(OUTCOMES))
    agents = [f"debater_{i + 1}" for i in range(AGENTS)]
    rounds = []
    for number in range(ROUNDS + 1):
        share = number / (ROUNDS + 2)
        rows = ((1 - share) * start + share * goal).tolist()
        cited = dice.integers(1, 61, size=(AGENTS, SPANS)).tolist()
        seen = Observation(
            beliefs={agent: tuple(row) for agent, row in zip(agents, rows, strict=True)},
            evidence={a: tuple(f"p{p}" for p in ids) for a, ids in zip(agents, cited, strict=True)},
            crit={agent: float(dice.random()) for agent in agents}, crit_variance=0.01, q=0.6, tokens=20_000,
        )  # fmt: skip
        rounds.append(seen)
    return rounds


def similar(seed: int = 2) -> Similar:
    """The helper's figures on every span of a round."""
    dice = np.random.default_rng(seed)
    vectors = dice.normal(size=(AGENTS * SPANS + 1, 64)) + 0.5
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    spans, theta = vectors[:-1], vectors[-1]
    gram = (spans @ spans.T)[np.triu_indices(len(spans))]
    return Similar(gram=tuple(gram.tolist()), dots=tuple((spans @ theta).tolist()))


def _cpu_us(call: Callable[[], object], each: int) -> float:
    """Of one of `each` things that a call does: the median over the repeats."""
    taken = []
    for _ in range(REPEATS):
        before = time.process_time_ns()
        call()
        taken.append(time.process_time_ns() - before)
    return sorted(taken)[REPEATS // 2] / each / 1e3


def _floor() -> None:
    for row in _PROBABILITIES:
        math.fsum(map(mul, row, map(math.log2, row)))


_PROBABILITIES = [list(row) for row in observations()[0].beliefs.values()]


def _debate(config: Control) -> Callable[[], object]:
    blind, *rounds = observations()
    opened = begin(config, tuple(f"outcome {i}" for i in range(OUTCOMES)), blind)

    def play() -> State:
        state = opened
        for observation in rounds:
            state = advance(config, state, observation)
            verdict(config, state)
        return state

    assert not play().held
    return play


def _evidence() -> None:
    asked = Similarities(_SIMILAR)
    everything = range(AGENTS * SPANS)
    asked.quality(everything)
    for argument in range(AGENTS * ARGUMENTS):
        asked.quality(everything[argument :: AGENTS * ARGUMENTS])


_SIMILAR = similar()


def measure() -> list[Figure]:
    """Everything, the floor first."""
    figures = [Figure(what=FLOOR, us=_cpu_us(_floor, 1))]
    plays = {
        ADAPTIVE: Control(round_limit=50),
        "a round, learned (UCB)": Control(round_limit=50, schedule="learned"),
        "a round, learned (LinUCB)": Control(round_limit=50, schedule="learned", policy="linucb"),
    }
    for what, config in plays.items():
        figures.append(Figure(what=what, us=_cpu_us(_debate(config), ROUNDS)))
    figures.append(Figure(what="Q of 160 spans and of 24 arguments, from the Gram matrix", us=_cpu_us(_evidence, 1)))
    return figures


def lines(figures: list[Figure]) -> list[str]:
    """The table."""
    floor = next(f.us for f in figures if f.what == FLOOR)
    head = f"MACI's controller, {AGENTS} agents, {OUTCOMES} outcomes, {SPANS} spans each; CPU us"
    return [head, *(f"  {f.what:60}{f.us:8.0f} {f.us / floor:6.1f}x" for f in figures)]


if __name__ == "__main__":
    print("\n".join(lines(measure())))
