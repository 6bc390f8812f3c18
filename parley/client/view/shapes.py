"""SessionView: what anybody shows of a session, and its JSON form. `--json`, the page's stream, MCP, exports and the
Python API give it; a change of what a field means raises `version`."""

from typing import Any, Literal

import msgspec

from parley.client.show.answer import ResultCard
from parley.client.show.card import Card, Series, Table
from parley.client.show.open_items import OpenItem
from parley.client.turns import SubmissionRefused
from parley.schemas.past_sessions.feedback import Feedback
from parley.schemas.result import ResultUsage
from parley.schemas.session import Budget

VERSION = 1
State = Literal[
    "idle", "queued", "thinking", "retrying", "no worker", "waits for a person", "person's turn", "done", "failed"
]


PLACE = ("n", "channel", "k", "transition", "round", "seat", "kind")
"""Where a post stands: fields of a Post that its card has, too."""


class PostCard(Card, frozen=True, kw_only=True):
    """A post: what it says (parley.client.show.card.Card), and where it stands."""

    n: int
    """Number in its session: the anchor of links, `p12`."""
    channel: str
    k: int
    """Number on its channel."""
    transition: int
    at_ms: int
    round: int
    seat: str = ""
    """Empty: the moderator."""
    kind: str
    """As the protocol calls it."""
    flags: tuple[str, ...] = ()
    """What the worker noticed about the reply behind it, in words."""


class RoundView(msgspec.Struct, frozen=True, kw_only=True):
    """A round and what was said in it."""

    round: int
    name: str
    """`Round 2`; `Beginning` of what comes before the first."""
    note: str = ""
    """`blind, nobody saw another answer`; empty: nothing."""
    posts: tuple[PostCard, ...]


class SeatView(msgspec.Struct, frozen=True, kw_only=True):
    """A seat as it is now."""

    seat: str
    role: str = ""
    model: str = ""
    family: str = ""
    weight: float = 1.0
    """Of its vote."""
    state: State = "idle"
    since_ms: int | None = None
    """When it came to this state; None: not known."""
    text: str = ""
    """What it has said so far in the turn that it is at."""
    does: str = ""
    """What its turn is, with what of it is used; empty: nobody knows, or the state says it."""
    person: bool = False
    """Its turns are a person's now, or a person said something there: `model` is the agent that stands in."""


class MindChange(msgspec.Struct, frozen=True, kw_only=True):
    """Who changed when and on what."""

    seat: str
    round: int
    post: int
    before: str = ""
    after: str = ""
    by: str
    why: str = ""
    because: int | None = None
    """Number of the post that moved it."""
    explained: bool = True


class Use(ResultUsage, frozen=True, kw_only=True):
    """What was used so far."""

    seconds: float = 0.0
    words: str = ""


class Warn(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader must know before believing the answer."""

    kind: Literal[
        "one_family", "weights", "weak_evidence", "no_language_model", "estimated", "missing_seats", "left_out"
    ]
    text: str


class DocumentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A document of the evidence."""

    name: str
    characters: int
    holders: tuple[str, ...] = ()
    """Seats that hold it."""


class FeedbackView(Feedback, frozen=True, kw_only=True):
    """What somebody said last of a result."""

    times: int = 1
    """How often something was said; the last one counts."""


class SessionView(msgspec.Struct, kw_only=True):
    """One session, whole, as far as who asks may see it."""

    version: int = VERSION
    session: str
    question: str
    """Empty: not known to who asks."""
    protocol: str
    status: str
    """open | finished | failed | cancelled | refused | erased"""
    opened_ms: int
    closed_ms: int | None = None
    owner: str = ""
    settings: dict[str, Any] = {}
    continues: str = ""
    forked_from: str = ""
    forked_at: int | None = None
    """The round up to which the other's record was taken over."""
    fork_words: tuple[str, ...] = ()
    """What a fork changed and what it carries, a line each."""
    parent: str = ""
    round: int = 0
    """The one that is played, or the last one."""
    round_limit: int | None = None
    round_name: str = "Round"
    documents: tuple[DocumentRow, ...] = ()
    """The evidence, in the order in which a quotation's `file` counts it."""
    seats: tuple[SeatView, ...] = ()
    rounds: tuple[RoundView, ...] = ()
    signals: tuple[Series, ...] = ()
    board: Table | None = None
    """What is counted so far, such as a scoreboard."""
    refused: tuple[SubmissionRefused, ...] = ()
    changes: tuple[MindChange, ...] = ()
    budget: Budget = Budget()
    usage: Use
    result: ResultCard | None = None
    """The card of the result; None: it is open."""
    warnings: tuple[Warn, ...] = ()
    items: tuple[OpenItem, ...] = ()
    """Questions that wait for a human."""
    left_out: str = ""
    """That posts are not shown, in words; empty: none, or nobody knows."""
    feedback: FeedbackView | None = None
    """None: nobody said anything."""
