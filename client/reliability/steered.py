"""What a new session is opened with of what its controller learned across sessions."""

import time
from pathlib import Path

import msgspec

from client.protocols import face_of
from client.reliability import store
from coordinator.protocols import PROTOCOLS
from schemas.afterwards.learned import Learned
from schemas.session import OpenSession


def with_policy(
    opening: OpenSession, path: Path | None, *, price: float, kind: str = "", now_ns: int | None = None
) -> OpenSession:
    """The session with the settings that past ones speak for, and with what its bandit carries over, where its protocol
    has a controller that learns and the file says enough. What the session sets itself stays.

    Parameters
    ----------
    path
        The file of what was learned (client.reliability.store); None, or no such file: nothing is known.
    price
        Share of right answers that 1,000 tokens may cost, 0 or more.
    kind
        What kind of question it is, in a word of one's own.
    now_ns
        Unix time; None: now.

    Raises
    ------
    BadInput
        The file cannot be read.
    """
    grid = face_of(opening.protocol).grid
    if not grid or path is None or not path.exists():
        return opening
    from client.reliability.policy import policy

    found = policy(
        store.read(path).verdicts, grid, protocol=opening.protocol, question=opening.question, kind=kind, price=price,
        given=PROTOCOLS[opening.protocol].present_names(opening.settings),
        now_ns=time.time_ns() if now_ns is None else now_ns,
    )  # fmt: skip
    if not (found.settings or found.arms):
        return opening
    learned = Learned(kind=kind) if opening.learned is msgspec.UNSET else opening.learned
    return msgspec.structs.replace(
        opening, settings={**opening.settings, **found.settings}, learned=msgspec.structs.replace(learned, policy=found)
    )
