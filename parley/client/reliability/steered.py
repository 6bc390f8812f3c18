"""What past sessions say of the controller of a new one: computed here, whoever asks for it."""

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from parley.client.protocols import face_of
from parley.client.reliability import store
from parley.client.text import count
from parley.schemas.afterwards.learned import Learned
from parley.schemas.session import OpenSession

if TYPE_CHECKING:
    from parley.schemas.afterwards.policy import Policy


def policy_of(
    protocol: str,
    path: Path,
    *,
    price: float,
    question: str = "",
    kind: str = "",
    given: Collection[str] = (),
    now_ns: int | None = None,
) -> "Policy | None":
    """What the file says of a protocol's controller at a time; None: the protocol has no controller that learns.

    Parameters
    ----------
    path
        The file of what was learned (parley.client.reliability.store); one that is not there says nothing.
    price, question, kind, given
        As parley.client.reliability.policy.policy takes them; `given` under any of its names.
    now_ns
        Unix time; None: now.

    Raises
    ------
    BadInput
        The file cannot be read.
    """
    grid = face_of(protocol).grid
    if not grid:
        return None
    from parley.client.reliability.policy import policy

    return policy(
        store.read(path).verdicts, grid, protocol=protocol, question=question, kind=kind, price=price,
        given=given,
        now_ns=time.time_ns() if now_ns is None else now_ns,
    )  # fmt: skip


def with_policy(
    opening: OpenSession,
    path: Path | None,
    *,
    price: float,
    kind: str = "",
    now_ns: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> OpenSession:
    """The session with the settings that past ones speak for, and with what its bandit carries over, where its protocol
    has a controller that learns and the file says enough. What the session sets itself stays.

    Parameters
    ----------
    path
        As `policy_of` takes it; None: no file is named.
    price, kind, now_ns
        As `policy_of` takes them.
    tell
        Gets a line that says why nothing is taken over, where the protocol has a controller that learns.

    Raises
    ------
    BadInput
        The file cannot be read.
    """
    if not face_of(opening.protocol).grid:
        return opening
    known = None if path is None else policy_of(
        opening.protocol, path, price=price, question=opening.question, kind=kind, given=opening.settings, now_ns=now_ns
    )  # fmt: skip
    if known is None or not (known.settings or known.arms):
        if tell is not None:
            tell(f"learned.policy is on, but {_why_nothing(known, opening.protocol)}")
        return opening
    learned = Learned(kind=kind) if opening.learned is msgspec.UNSET else opening.learned
    return msgspec.structs.replace(
        opening, settings={**opening.settings, **known.settings}, learned=msgspec.structs.replace(learned, policy=known)
    )


def _why_nothing(known: "Policy | None", protocol: str) -> str:
    if known is None:
        return "no file of what was learned is named: --set learned.file=FILE"
    from parley.client.reliability.policy import LEAST

    past = f"from {count(known.sessions, 'past session')} of {protocol} with feedback"
    if not known.choices:
        return f"nothing is learned yet {past}; {LEAST} are needed"
    return f"no setting that you leave open is surely better {past}"
