"""Who reads and who writes which channel, and which submission may come from where: one table each.

A channel's readers and writers are accounts, because that is what the broker separates. The server configuration and
the builder of turns both follow these tables. A package brings channels and roles of its own behind Parley's rows
(parley.schemas.packages): they give nothing to an account of Parley's, and take nothing from one.
"""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from parley.schemas import packages as package_rows
from parley.schemas.registry import Extended
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

    def is_read_by(self, account: str) -> bool:
        """Whether participants of an account may read it."""
        return account in self.readers or (_AGENTS in self.readers and is_agents(account))

    def is_written_by(self, account: str) -> bool:
        """Whether participants of an account submit through it."""
        return account in self.writers or (_AGENTS in self.writers and is_agents(account))


_AGENTS = "*"
"""Among a channel's readers and writers: every account that agents live in."""
_ALL = frozenset({CLIENTS, _AGENTS})


def is_agents(account: str) -> bool:
    """Whether agents live in an account, Parley's or a package's."""
    return account in AGENT_ACCOUNTS or account in package_rows.brought_accounts().values()


def _brought_channels() -> dict[str, Channel]:
    """Those of packages."""

    def accounts(names: tuple[str, ...]) -> frozenset[str]:
        return frozenset(CLIENTS if n == package_rows.CLIENT else package_rows.account_of(n) for n in names)

    rows = package_rows.brought_channels()
    return {n: Channel(name=n, readers=accounts(r.readers), writers=accounts(r.writers)) for n, r in rows.items()}


_OWN = {
    c.name: c
    for c in (
        # The first channel that an account writes is the one that it speaks on.
        Channel(name=PUBLIC, readers=_ALL, writers=frozenset({_AGENTS})),
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
CHANNELS: Mapping[str, Channel] = Extended(_OWN, _brought_channels)

_OWN_SUBMISSIONS: dict[str, tuple[type, ...]] = {
    CLIENT: (OpenSession, ForkSession, CancelSession, AnswerNow, DecideItem, GiveFeedback, KeepNotes),
    OWNER: (CancelSession, AnswerNow, DecideItem, GiveFeedback, KeepNotes),
    TIMER: (TimerDue,),
    SESSION: (OpenSession, CancelSession, TellSession, SessionEnded),
    PUBLIC: (Reply, Retry, Speak, Sit),
    TEAM_PRO: (Reply, Retry),
    TEAM_CON: (Reply, Retry),
    JUDGE_NOTES: (Reply, Retry),
}
MAY_SUBMIT: Mapping[str, tuple[type, ...]] = Extended(
    _OWN_SUBMISSIONS, lambda: dict.fromkeys(package_rows.brought_channels(), (Reply, Retry))
)
"""Channel -> what may be submitted through it. A pair that is absent is refused."""

_OWN_ROLES = {
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
ACCOUNT_OF_ROLE: Mapping[str, str] = Extended(_OWN_ROLES, package_rows.brought_accounts)
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
    return row is not None and row.is_read_by(account)


def readable_by(account: str) -> tuple[str, ...]:
    """The channels that participants of the account may read."""
    return tuple(row.name for row in CHANNELS.values() if row.is_read_by(account))


def heard_live(account: str) -> tuple[str, ...]:
    """The channels whose live text participants of the account may hear: those that they read; for experts none, since
    there may be hundreds of them."""
    return () if account == EXPERTS else readable_by(account)


def may_write(account: str, channel: str) -> bool:
    """Whether participants of the account submit through the channel."""
    row = CHANNELS.get(channel)
    return row is not None and row.is_written_by(account)


def may_submit(channel: str, message: object) -> bool:
    """Whether this kind of submission may come through the channel."""
    return isinstance(message, MAY_SUBMIT.get(channel, ()))


@lru_cache(_KEPT)
def speaks_on(account: str) -> str:
    """The channel through which an account's participants submit their replies."""
    for row in CHANNELS.values():
        if row.is_written_by(account) and row.name != CLIENT:
            return row.name
    raise KeyError(account)
