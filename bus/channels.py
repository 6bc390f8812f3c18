"""Who reads and who writes which channel, and which submission may come from where: one table each.

A channel's readers and writers are accounts, because that is what the broker separates. A protocol that needs a new
channel adds a row here; the server configuration and the builder of turns both follow it.
"""

import msgspec

from schemas.session import CancelSession, OpenSession, TimerDue
from schemas.turn import Reply, Speak

CORE = "CORE"
CLIENTS = "CLIENTS"
PANEL = "PANEL"
HELPERS = "HELPERS"
AGENT_ACCOUNTS = (PANEL, HELPERS)

PUBLIC = "public"
CONTROL = "control"
CLIENT = "client"
OWNER = "owner"
TIMER = "timer"


class Channel(msgspec.Struct, frozen=True, kw_only=True):
    """One row: accounts that may read it, accounts whose participants submit through it."""

    name: str
    readers: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()


_ALL = frozenset({CLIENTS, PANEL, HELPERS})

CHANNELS: dict[str, Channel] = {
    c.name: c
    for c in (
        Channel(name=PUBLIC, readers=_ALL, writers=frozenset({PANEL, HELPERS})),
        Channel(name=CONTROL, readers=_ALL),
        Channel(name=CLIENT, writers=frozenset({CLIENTS})),
        Channel(name=OWNER),
        Channel(name=TIMER),
    )
}

MAY_SUBMIT: dict[str, tuple[type, ...]] = {
    CLIENT: (OpenSession, CancelSession),
    OWNER: (CancelSession,),
    TIMER: (TimerDue,),
    PUBLIC: (Reply, Speak),
}
"""Channel -> what may be submitted through it. A pair that is absent is refused."""

ACCOUNT_OF_ROLE: dict[str, str] = {
    "panelist": PANEL,
    "analyst": HELPERS,
    "answerer": PANEL,
    "critic": PANEL,
    "judge": HELPERS,
    "helper": HELPERS,
}
"""The account that a role's workers live in."""


def may_read(account: str, channel: str) -> bool:
    """Whether participants of the account may read the channel."""
    row = CHANNELS.get(channel)
    return row is not None and account in row.readers


def may_submit(channel: str, message: object) -> bool:
    """Whether this kind of submission may come through the channel."""
    return isinstance(message, MAY_SUBMIT.get(channel, ()))


def speaks_on(account: str) -> str:
    """The channel through which an account's participants submit their replies."""
    for row in CHANNELS.values():
        if account in row.writers and row.name != CLIENT:
            return row.name
    raise KeyError(account)
