"""Who reads and who writes which channel, and which submission may come from where: one table each.

A channel's readers and writers are accounts, because that is what the broker separates. A protocol that needs a new
channel adds a row here; the server configuration and the builder of turns both follow it.
"""

from functools import lru_cache

import msgspec

from parley.schemas.session import (
    AnswerNow,
    CancelSession,
    DecideItem,
    ForkSession,
    GiveFeedback,
    KeepNotes,
    OpenSession,
    SessionEnded,
    TellSession,
    TimerDue,
)
from parley.schemas.turn import Reply, Retry, Sit, Speak

CORE = "CORE"
CLIENTS = "CLIENTS"
PANEL = "PANEL"
HELPERS = "HELPERS"
PRO = "PRO"
CON = "CON"
JUDGE = "JUDGE"
EXPERTS = "EXPERTS"
OBSERVERS = "OBSERVERS"
"""Who reads and writes no channel, and counts sessions by their log."""
AGENT_ACCOUNTS = (PANEL, HELPERS, PRO, CON, JUDGE, EXPERTS)

PUBLIC = "public"
SCORES = "scores"
TEAM_PRO = "team_pro"
TEAM_CON = "team_con"
JUDGE_NOTES = "judge_notes"
CONTROL = "control"
CLIENT = "client"
OWNER = "owner"
INBOX = "inbox"
SESSION = "session"
TIMER = "timer"
_KEPT = 1_024
"""Answers of the tables below that are remembered: a turn asks some for each post that it shows."""


class Channel(msgspec.Struct, frozen=True, kw_only=True):
    """One row: accounts that may read it, accounts whose participants submit through it."""

    name: str
    readers: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()


_ALL = frozenset({CLIENTS, *AGENT_ACCOUNTS})

CHANNELS: dict[str, Channel] = {
    c.name: c
    for c in (
        # The first channel that an account writes is the one that it speaks on.
        Channel(name=PUBLIC, readers=_ALL, writers=frozenset(AGENT_ACCOUNTS)),
        Channel(name=CONTROL, readers=_ALL),
        # What judges made of arguments, and those that a gate refused: for whoever watches, never for who argues.
        Channel(name=SCORES, readers=frozenset({CLIENTS, HELPERS, JUDGE})),
        Channel(name=TEAM_PRO, readers=frozenset({PRO}), writers=frozenset({PRO})),
        Channel(name=TEAM_CON, readers=frozenset({CON}), writers=frozenset({CON})),
        Channel(name=JUDGE_NOTES, readers=frozenset({JUDGE}), writers=frozenset({JUDGE})),
        # What waits for a human's answer.
        Channel(name=INBOX, readers=frozenset({CLIENTS})),
        Channel(name=CLIENT, writers=frozenset({CLIENTS})),
        Channel(name=OWNER),
        Channel(name=TIMER),
        # What sessions tell each other: moderators alone submit there.
        Channel(name=SESSION),
    )
}

MAY_SUBMIT: dict[str, tuple[type, ...]] = {
    CLIENT: (OpenSession, ForkSession, CancelSession, AnswerNow, DecideItem, GiveFeedback, KeepNotes),
    OWNER: (CancelSession, AnswerNow, DecideItem, GiveFeedback, KeepNotes),
    TIMER: (TimerDue,),
    SESSION: (OpenSession, CancelSession, TellSession, SessionEnded),
    PUBLIC: (Reply, Retry, Speak, Sit),
    TEAM_PRO: (Reply, Retry),
    TEAM_CON: (Reply, Retry),
    JUDGE_NOTES: (Reply, Retry),
}
"""Channel -> what may be submitted through it. A pair that is absent is refused."""

ACCOUNT_OF_ROLE: dict[str, str] = {
    "panelist": PANEL,
    "analyst": HELPERS,
    "answerer": PANEL,
    "critic": PANEL,
    "debater": PANEL,
    "pro": PRO,
    "con": CON,
    "audience": PANEL,
    "judge": JUDGE,
    "helper": HELPERS,
    "expert": EXPERTS,
    "check": EXPERTS,
}
"""The account that a role's workers live in."""

MATCHING = frozenset({"helper"})
"""Roles whose workers hear which experts there are, and may call for their announcements."""


WITH_ARTIFACTS = frozenset({CLIENTS, EXPERTS})
"""Accounts that store artifacts and fetch them."""


def stores_on(account: str) -> str:
    """The channel through which an account's participants store artifacts."""
    return CLIENT if account == CLIENTS else PUBLIC


@lru_cache(_KEPT)
def may_read(account: str, channel: str) -> bool:
    """Whether participants of the account may read the channel."""
    row = CHANNELS.get(channel)
    return row is not None and account in row.readers


def readable_by(account: str) -> tuple[str, ...]:
    """The channels that participants of the account may read."""
    return tuple(row.name for row in CHANNELS.values() if account in row.readers)


def heard_live(account: str) -> tuple[str, ...]:
    """The channels whose live text participants of the account may hear: those that they read; for experts none, since
    there may be hundreds of them."""
    return () if account == EXPERTS else readable_by(account)


def may_write(account: str, channel: str) -> bool:
    """Whether participants of the account submit through the channel."""
    row = CHANNELS.get(channel)
    return row is not None and account in row.writers


def may_submit(channel: str, message: object) -> bool:
    """Whether this kind of submission may come through the channel."""
    return isinstance(message, MAY_SUBMIT.get(channel, ()))


@lru_cache(_KEPT)
def speaks_on(account: str) -> str:
    """The channel through which an account's participants submit their replies."""
    for row in CHANNELS.values():
        if account in row.writers and row.name != CLIENT:
            return row.name
    raise KeyError(account)
