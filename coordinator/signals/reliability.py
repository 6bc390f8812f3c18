"""What a member's record makes its word worth. Pure: the opening has the table (parley.schemas.past_sessions.learned).

A member that is right with probability p, where K answers are possible and wrong ones are equally likely, has the
weight log(p (K - 1) / (1 - p)). With these weights the vote is the most probable answer, if members err apart from each
other (Nitzan and Paroush, 1982, for K = 2). p is taken as at most `MOST` of the way from chance to certainty, so that
no record rules alone. Near chance and below it the weight falls off towards 0 without reaching it: a worse record
always weighs less, and nobody's word is turned round. The mean of all weights is 1, so equal records change nothing.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from parley.schemas.log import Opened
from parley.schemas.past_sessions.learned import Calibrated, Calibration, Learned, Reliability, Standing
from parley.schemas.session import Seat

MOST = 0.95
"""Of the way from chance to certainty, up to which a record counts."""
BEND = 0.1
"""Log odds below which a weight falls off exponentially, with the same slope at this point."""


def standing(table: Reliability, seat: Seat, kind: str) -> Standing | None:
    """The record that counts for a seat: its model's on this kind of question, else its model's on all kinds, else the
    seat's own in the same order; None: nobody knows it."""
    rows = {(str(row.by), row.name, row.kind): row for row in table.rows}
    wanted = [("model", seat.model)] if seat.model else []
    for by, name in (*wanted, ("seat", seat.seat)):
        for of_kind in dict.fromkeys((kind, "")):
            if (row := rows.get((by, name, of_kind))) is not None:
                return row
    return None


def weight(mean: float, outcomes: int) -> float:
    """log(p (K - 1) / (1 - p)), bounded above, and above 0.

    Parameters
    ----------
    mean
        How often it was right, 0 to 1.
    outcomes
        How many answers are possible, K: 2 or more.

    Examples
    --------
    >>> round(weight(0.8, 2), 4)
    1.3863
    """
    chance = 1 / outcomes
    p = min(max(mean, 1e-9), chance + MOST * (1 - chance))
    odds = math.log(p * (outcomes - 1) / (1 - p))
    return odds if odds >= BEND else BEND * math.exp((odds - BEND) / BEND)


def shares(means: Mapping[str, float | None], outcomes: int) -> dict[str, float]:
    """By seat, its weight divided by the mean weight; a seat without a record has the mean of those that have one.

    All equal, or none known: 1 each.
    """
    known = {seat: weight(p, outcomes) for seat, p in means.items() if p is not None}
    if not known or max(known.values()) - min(known.values()) < 1e-12:
        return dict.fromkeys(means, 1.0)
    middle = math.fsum(known.values()) / len(known)
    return {seat: round(known.get(seat, middle) / middle, 6) for seat in means}


def learned(opened: Opened) -> Learned | None:
    """What the session was opened with; None: nothing."""
    return None if opened.learned is msgspec.UNSET else opened.learned


def trust(opened: Opened, seats: Sequence[Seat], outcomes: int = 2) -> dict[str, float]:
    """By seat, the factor of its weight; empty: no record was given, and weights are as without one."""
    records = learned(opened)
    if records is None or records.reliability is msgspec.UNSET:
        return {}
    rows = {seat.seat: standing(records.reliability, seat, records.kind) for seat in seats}
    return shares({seat: None if row is None else row.mean for seat, row in rows.items()}, max(2, outcomes))


def certified(opened: Opened, role: str, used: Mapping[str, float]) -> dict[str, Any]:
    """For the certificate, under `reliability`: whose record counted, with its interval, and what the table rests on;
    empty: no record was given.

    Parameters
    ----------
    role
        Whose seats' records count.
    used
        By seat, the factor that the session's weights had; a seat without one was left out. Empty: it came to none.
    """
    records = learned(opened)
    if records is None or records.reliability is msgspec.UNSET:
        return {}
    table, seats = records.reliability, [seat for seat in opened.seats if seat.role == role]
    factors = used or trust(opened, seats)
    seat_records = {}
    for seat in seats:
        row = standing(table, seat, records.kind)
        known = {} if row is None else msgspec.to_builtins(row)
        seat_records[seat.seat] = {**known, "factor": factors.get(seat.seat, 0.0)}
    rests_on = msgspec.to_builtins(msgspec.structs.replace(table, rows=()))
    del rests_on["rows"]
    return {"reliability": {"kind": records.kind, "seats": seat_records, **rests_on}}


# ---------------------------------------------------------------- calibration: the fit is in the opening


EDGE = 1e-6
"""Beta calibration has no value at 0 and 1: what is nearer is taken at this distance."""


def calibrated(fit: Calibration, stated: float) -> float:
    """The share of answers with this confidence that should be right: 0 to 1.

    Parameters
    ----------
    stated
        0 to 1; outside it the nearest.

    Examples
    --------
    >>> fit = Calibration(version="v", method="isotonic", knots=((0.5, 0.2), (1.0, 0.8)), fitted_on="", outcomes=9)
    >>> calibrated(fit, 0.75)
    0.5
    """
    p = min(max(stated, 0.0), 1.0)
    if fit.method == "beta":
        assert fit.beta is not None
        a, b, c = fit.beta
        p = min(max(p, EDGE), 1 - EDGE)
        z = c + a * math.log(p) - b * math.log1p(-p)
        return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))
    knots = fit.knots
    place = bisect_right(knots, p, key=lambda knot: knot[0])
    if place == 0:
        return knots[0][1]
    if place == len(knots):
        return knots[-1][1]
    (x0, y0), (x1, y1) = knots[place - 1], knots[place]
    return y0 + (y1 - y0) * (p - x0) / (x1 - x0)


def of(opened: Opened, outcome: Mapping[str, Any]) -> Calibrated | msgspec.UnsetType:
    """A result's confidence with what it rests on; unset: the outcome has none, or nothing was fitted."""
    learned, stated = opened.learned, outcome.get("confidence")
    if learned is msgspec.UNSET or learned.calibration is msgspec.UNSET or not isinstance(stated, int | float):
        return msgspec.UNSET
    fit = learned.calibration
    return Calibrated(
        stated=float(stated),
        confidence=round(calibrated(fit, stated), 6),
        version=fit.version,
        fitted_on=fit.fitted_on,
        outcomes=fit.outcomes,
    )
