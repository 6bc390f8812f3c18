"""What feedback says of a panel's threshold, round limit and quorum, for one kind of question.

A session with feedback holds more than its own end: after each round stands the share of the first answer, and
whether that answer is right. So other settings can be tried on it without a call. They end it in the first round in
which enough seats hold an answer and the first answer has the share:

    right, wrong    that answer, as the feedback says
    none            no round reaches it, and the session was stuck, or the round limit is met
    unknown         no round reaches it, and the session would have gone on; or the feedback does not tell

A right end is worth 1, a wrong one -1, none 0. Settings are compared on the sessions whose end is known under both.
They are chosen on one half of the sessions, by their ids, and compared with the defaults on the other half, which had
no say. Signatures are left out: whoever holds the first answer is taken to sign it.
"""

import itertools
import math
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

import msgspec

from parley.client.learned.verdicts import KnownOutcome
from parley.client.protocols import all_setups
from parley.coordinator.protocols import PROTOCOLS

LEAST_OUTCOMES = 30
"""Sessions of a kind with feedback below which nothing is learned."""
THRESHOLDS = (51.0, 60.0, 67.0, 75.0, 80.0, 90.0, 100.0)
ROUND_LIMITS = (1, 2, 3, 4, 5, 7)
QUORUMS = (2, 3)
End = Literal["right", "wrong", "none", "unknown"]
_WORTH = {"right": 1, "wrong": -1, "none": 0}
_GIVEN_UP = frozenset({"stuck", "incomplete", "unanswered", "one_source"})
"""Ends after which no further round would have been played, whatever the settings."""
_Z = 1.96
"""Half the width of an interval of 95 %, in standard errors."""


class Dials(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a panel that are compared."""

    threshold: float
    round_limit: int
    quorum: int


def defaults() -> Dials:
    """Those of the protocol whose settings feedback teaches."""
    settings = PROTOCOLS[next(setup.name for setup in all_setups() if setup.learns)].settings()
    return Dials(threshold=settings.threshold, round_limit=settings.round_limit, quorum=settings.quorum)


class Ends(msgspec.Struct, frozen=True, kw_only=True):
    """How sessions end under some settings."""

    dials: Dials
    right: int
    wrong: int
    none: int
    unknown: int
    rounds: float
    """Mean rounds of the sessions whose end is known."""


class SettingsComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Settings against the defaults, on the same sessions."""

    sessions: int
    """Those whose end is known under both."""
    better: float
    """Mean worth of an end above that of the defaults, -2 to 2."""
    low: float
    high: float
    """95 % interval."""


class ThresholdFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What feedback on one kind of question says."""

    kind: str
    outcomes: int
    needed: int = LEAST_OUTCOMES
    defaults: Ends | None = None
    """On all sessions; None: there are too few."""
    chosen: Ends | None = None
    """None: no settings were better than the defaults on the half that they are chosen on."""
    held_out: SettingsComparison | None = None
    """On the half that they were not chosen on."""

    @property
    def holds(self) -> bool:
        """Whether what was chosen is no worse than the defaults on the half that had no say, and that is known."""
        return self.held_out is not None and self.held_out.sessions > 0 and self.held_out.better >= 0


def found(verdicts: Sequence[KnownOutcome], kind: str = "") -> ThresholdFinding:
    """What feedback says, of sessions that name this kind of question; empty: of all. `verdicts`: of sessions of any
    protocol; those without answers in each round say nothing here."""
    known = [said for said in verdicts if said.rounds and (not kind or said.kind == kind)]
    if len(known) < LEAST_OUTCOMES:
        return ThresholdFinding(kind=kind, outcomes=len(known))
    halves: tuple[list[KnownOutcome], list[KnownOutcome]] = ([], [])
    for said in known:
        halves[sha256(said.session.encode()).digest()[0] % 2].append(said)
    choosing, held_out = halves
    ranked = []
    for threshold, round_limit, quorum in itertools.product(THRESHOLDS, ROUND_LIMITS, QUORUMS):
        dials = Dials(threshold=threshold, round_limit=round_limit, quorum=quorum)
        against = compare_settings(choosing, dials)
        if against.sessions >= LEAST_OUTCOMES // 4 and against.better > 0:
            ranked.append((-against.better, ends(choosing, dials).rounds, -threshold, dials))
    whole = ends(known, defaults())
    if not ranked:
        return ThresholdFinding(kind=kind, outcomes=len(known), defaults=whole)
    best = min(ranked, key=lambda row: row[:3])[3]
    return ThresholdFinding(
        kind=kind,
        outcomes=len(known),
        defaults=whole,
        chosen=ends(known, best),
        held_out=compare_settings(held_out, best),
    )


def end(said: KnownOutcome, dials: Dials) -> tuple[End, int]:
    """(How a session would have ended, the rounds that it would have taken)."""
    for number, played in enumerate(said.rounds[: dials.round_limit], 1):
        if played.answers >= dials.quorum and played.share >= dials.threshold:
            if played.right is None:
                return "unknown", number
            return ("right" if played.right else "wrong"), number
    least = min(len(said.rounds), dials.round_limit)
    over = dials.round_limit <= len(said.rounds) or said.stop in _GIVEN_UP
    return ("none" if over else "unknown"), least


def ends(verdicts: Sequence[KnownOutcome], dials: Dials) -> Ends:
    """How these sessions would have ended."""
    all_ends = [end(said, dials) for said in verdicts]
    rounds = [number for what, number in all_ends if what != "unknown"]
    counts = {name: sum(what == name for what, _ in all_ends) for name in ("right", "wrong", "none", "unknown")}
    return Ends(dials=dials, rounds=round(sum(rounds) / len(rounds), 2) if rounds else 0.0, **counts)


def compare_settings(verdicts: Sequence[KnownOutcome], dials: Dials) -> SettingsComparison:
    """Settings against the defaults, on the sessions whose end is known under both."""
    usual = defaults()
    pairs = [(end(said, dials)[0], end(said, usual)[0]) for said in verdicts]
    better = [_WORTH[mine] - _WORTH[theirs] for mine, theirs in pairs if "unknown" not in (mine, theirs)]
    if not better:
        return SettingsComparison(sessions=0, better=0.0, low=0.0, high=0.0)
    mean = sum(better) / len(better)
    spread = math.sqrt(sum((x - mean) ** 2 for x in better) / max(1, len(better) - 1) / len(better))
    low, high = mean - _Z * spread, mean + _Z * spread
    return SettingsComparison(sessions=len(better), better=round(mean, 4), low=round(low, 4), high=round(high, 4))
