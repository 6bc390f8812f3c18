"""What a session came to: one frame for every protocol."""

from typing import Any

import msgspec

from parley.schemas.past_sessions.fork import Fork
from parley.schemas.past_sessions.learned import Calibrated

RIGHT_OF = 8, 15
"""Answers of the built-in model to the frozen questions that were right, of how many (docs/reports/extractive.md)."""
RIGHT = round(RIGHT_OF[0] / RIGHT_OF[1], 2)
"""The confidence of such an answer: how sure the reader is tells answers from guesses, and no more."""


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """Why it ended."""

    reason: str
    converged: bool
    certificate: dict[str, Any]
    """The figures that the decision rests on; recomputable from the log."""


class SeatUsage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one seat used."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    cost_usd: float = 0.0
    cached_tokens: int | msgspec.UnsetType = msgspec.UNSET
    """Of the input, what endpoints said that they had in their cache. Left out: none."""
    unpriced: bool | msgspec.UnsetType = msgspec.UNSET
    """Of some of it no price is known, and the cost is without that."""

    def __add__(self, other: "SeatUsage") -> "SeatUsage":
        return SeatUsage(
            turns=self.turns + other.turns,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            calls=self.calls + other.calls,
            cost_usd=self.cost_usd + other.cost_usd,
            cached_tokens=(self.cached_tokens or 0) + (other.cached_tokens or 0) or msgspec.UNSET,
            unpriced=bool(self.unpriced or other.unpriced) or msgspec.UNSET,
        )


class ResultUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What the session used."""

    turns: int
    """Turns that were answered."""
    calls: int
    input_tokens: int
    output_tokens: int
    estimated: bool
    """Some of the tokens are estimates."""
    cost_usd: float
    unaccounted_turns: int
    """Turns of which calls may have been lost with a killed process or a time-out: their use is not in the sums."""
    unaccounted_tokens: int
    """The most that those could have used."""
    by_seat: dict[str, SeatUsage]
    cached_tokens: int | msgspec.UnsetType = msgspec.UNSET
    """Of the input, what endpoints said that they had in their cache. Left out: none."""
    unpriced: bool | msgspec.UnsetType = msgspec.UNSET
    """Of some of it no price is known, and the cost is without that."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Posted on `control` when a session closes, and printed by `ask --json`."""

    session: str
    protocol: str
    status: str
    """finished | failed | cancelled"""
    outcome: dict[str, Any]
    """What it came to: the fields of the protocol's own message `Outcome` (parley.schemas.protocols)."""
    stop: Stop
    rounds: tuple[dict[str, Any], ...]
    usage: ResultUsage
    duration_s: float
    fork: Fork | msgspec.UnsetType = msgspec.UNSET
    """The session whose record it carries on; usage and duration are without that. Left out: it carries none."""
    calibrated: Calibrated | msgspec.UnsetType = msgspec.UNSET
    """The outcome's confidence as past outcomes say it should be read. Left out: it is not calibrated."""
    keyless: bool | msgspec.UnsetType = msgspec.UNSET
    """No seat was a person or had a language model. Left out: one was, or had."""


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """How often values fell into each of some ranges."""

    counts: tuple[int, ...]
    """By range; the last: above all bounds."""
    total: float = 0.0
    """Sum of the values."""


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """The traced session that was counted last in a number of the totals, or in a range of it."""

    trace: str
    """Id of its trace, 32 hexadecimal digits."""
    value: float
    """What it added, or the value that was observed."""
    at_ns: int
    """Unix time of its end."""


class UnansweredItem(msgspec.Struct, frozen=True):
    """A question to a human that is not answered: Unix times of its asking, and of when its default holds."""

    since_ns: int
    due_ns: int


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """What all sessions came to together, up to a place of LOG: the one message of OUTCOMES.

    A series stands here by its name without `parley_`; a number of it by the values of its labels, in their order,
    joined by line ends."""

    v: int = 1
    position: int = 0
    """The sequence in LOG of the last message that is in the totals."""
    since_ns: int = 0
    """Unix time when counting began; 0: it has not."""
    numbers: dict[str, dict[str, float]] = {}
    spreads: dict[str, dict[str, Spread]] = {}
    examples: dict[str, dict[str, Example]] = {}
    """By series and values of labels, as numbers are; of a spread, the number of the range stands behind them."""
    days: dict[str, float] = {}
    """Day (UTC, its number since 1970) -> US dollars, of the last days that cost something."""
    waiting: dict[str, dict[str, UnansweredItem]] = {}
    """Open session -> its questions to a human that are not answered, by their ids."""
    seen: dict[str, tuple[str, ...]] = {}
    """Label -> its values that came from outside, as many as get a number of their own."""
