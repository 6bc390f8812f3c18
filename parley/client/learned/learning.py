"""Reads the feedback on all stored sessions of a bus, and keeps what it says: the same for the command line and the
Python API."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from parley.client.errors import BadInput
from parley.client.learned import store
from parley.client.learned.verdicts import KnownOutcome, verdict
from parley.client.records import Altered, record_of
from parley.coordinator.signals.reliability import EDGE
from parley.schemas.past_sessions.learned import Calibration

if TYPE_CHECKING:
    from parley.client.client import Client

LEAST_OUTCOMES = 30
"""Results of one protocol from which on its confidence is fitted."""


class LearnReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was read, and what is known now."""

    file: str
    """Where it is kept."""
    sessions: int
    """Sessions with feedback that were read now."""
    of_members: int
    """Those of them that say of a member whether it was right alone."""
    kept: int
    """Verdicts in the file now, those of earlier times included."""
    calibrated: dict[str, int]
    """Protocol -> outcomes that the fit of its confidence rests on."""
    unread: tuple[str, ...]
    """Sessions whose record cannot be read."""


async def learn(client: "Client | None", file: Path | None) -> tuple[Path, LearnReport]:
    """Read all feedback that there is, and keep what it says; (the file, what was done).

    Parameters
    ----------
    client
        None: no session was ever held there.
    file
        Where it is kept; None: nowhere, which is refused.

    Raises
    ------
    BadInput
        No file is named; a file cannot be read or written; the credentials are no owner's.
    Unreachable
        The bus does not answer.
    """
    if file is None:
        raise BadInput("learned.file", "nothing is kept without a file; name one")
    now_ns = time.time_ns()
    store.read(file)
    heard, unread = ([], []) if client is None else await _heard(client)

    def learnt(before: store.Store) -> store.Store:
        kept = {said.session: said for said in (*before.verdicts, *heard)}
        fits = calibrations(tuple(kept.values()), now_ns)
        return msgspec.structs.replace(before, learned_ns=now_ns, verdicts=tuple(kept.values()), calibrations=fits)

    after = store.update(file, learnt)
    return file, LearnReport(
        file=str(file),
        sessions=len(heard),
        of_members=sum(bool(said.members) for said in heard),
        kept=len(after.verdicts),
        calibrated={fit.protocol: fit.outcomes for fit in after.calibrations},
        unread=tuple(unread),
    )


async def _heard(client: "Client") -> tuple[list[KnownOutcome], list[str]]:
    """(What each session with feedback says, the sessions that cannot be read)."""
    if not client.owner:
        raise BadInput("creds", "an owner's credentials are needed to read the feedback on all sessions")
    verdicts: list[KnownOutcome] = []
    unread: list[str] = []
    for row in await client.sessions():
        if not row.feedback:
            continue
        try:
            said = verdict(record_of(row.session, await client.log(row.session)))
        except (Altered, BadInput):
            unread.append(row.session)
            continue
        verdicts += [] if said is None else [said]
    return verdicts, unread


def calibrations(verdicts: Sequence[KnownOutcome], now_ns: int) -> tuple[Calibration, ...]:
    """How the confidence of each protocol is to be read, where enough of its results were said to be right or wrong."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for said in verdicts:
        if said.protocol and said.confidence is not None and said.right is not None:
            pairs.setdefault(said.protocol, []).append((said.confidence, float(said.right)))
    day = time.strftime("%Y-%m-%d", time.gmtime(now_ns / 1e9))
    found = []
    for protocol, known in sorted(pairs.items()):
        if len(known) >= LEAST_OUTCOMES:
            stated, right = zip(*known, strict=True)
            found.append(beta(stated, right, f"beta, {day}", f"feedback on sessions of {protocol}", protocol))
    return tuple(found)


def beta(stated: Sequence[float], right: Sequence[float], version: str, on: str, protocol: str = "") -> Calibration:
    """Beta calibration (Kull, Silva Filho and Flach, 2017): logistic regression on ln p and -ln(1 - p), with slopes of
    0 or more, so that a higher confidence never reads lower.

    Parameters
    ----------
    stated, right
        Of as many answers, one or more; 0 to 1.
    """
    import numpy as np
    from scipy.optimize import minimize  # takes half a second to import

    p = np.clip(np.asarray(stated, dtype=float), EDGE, 1 - EDGE)
    x = np.stack([np.log(p), -np.log1p(-p), np.ones_like(p)], axis=1)
    y = np.asarray(right, dtype=float)

    def loss(coefficients: Any) -> tuple[float, Any]:
        z = x @ coefficients
        value = float((np.logaddexp(0, z) - y * z).mean() + 1e-6 * (coefficients**2).sum())
        slope = x.T @ (1 / (1 + np.exp(-z)) - y) / len(y) + 2e-6 * coefficients
        return value, slope

    solution = minimize(
        loss, np.array([1.0, 1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0, 50), (0, 50), (-50, 50)]
    ).x
    a, b, c = (round(float(figure), 6) for figure in solution)
    return Calibration(
        version=version, protocol=protocol, method="beta", beta=(a, b, c), fitted_on=on, outcomes=len(stated)
    )
