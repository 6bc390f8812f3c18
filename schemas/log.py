"""The log of a session: one entry a transition, its event, its cause, the commands that followed.

Events are past tense, commands imperative. Every command has an effect on the bus; its place (transition, index) is its
identity there, so that carrying it out twice is carrying it out once.
"""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from parley.schemas.expert import Known
from parley.schemas.folders.notes import Note
from parley.schemas.past_sessions.fork import Fork
from parley.schemas.past_sessions.learned import Learned
from parley.schemas.presence import Announcement
from parley.schemas.session import MAX_EVIDENCE, Budget, Document, LookUpOrigin, OpenSession, Seat, SessionEnded
from parley.schemas.tools import LookUpResult
from parley.schemas.turn import Caps, Usage
from parley.schemas.wire import Json

# ---------------------------------------------------------------- events


class Opened(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="opened"):
    """A session began: everything that it will ever need from outside."""

    question: str
    protocol: str
    version: int
    settings: dict[str, Any]
    """Complete: defaults filled in, so that a later default changes no old session."""
    seats: tuple[Seat, ...]
    documents: tuple[Document, ...] = ()
    """With those that are no evidence: `evidence` is without them."""
    left_out: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Files of which there is no document, and why, a line each. Left out: there is none of these."""
    budget: Budget = Budget()
    seed: int
    turn_timeout_s: float
    workers: tuple[Announcement, ...] = ()
    """Who was alive when it was opened, in the protocol's own roles."""
    author: str = ""
    continues: str = ""
    """The session that this one follows up."""
    parent: str = ""
    """The session that this one was started beneath."""
    experts: tuple[Known, ...] = ()
    """Experts that were announced then, where the protocol wants them; by id."""
    known: dict[str, Any] = {}
    """What standing sessions said that the protocol reads."""
    waits: dict[str, float] = {}
    """Seat -> seconds for which its turns wait for a person, from the first one on."""
    reasoning_tokens: int | msgspec.UnsetType = msgspec.UNSET
    """What a metered seat's model may think in one call, beside its answer: the most that any announced. Left out: none
    did."""
    fits: bool | msgspec.UnsetType = msgspec.UNSET
    """Turns get narrower caps where the budget is short, down to what they need (parley.coordinator.budget.least).
    Left out: a turn whose full caps do not fit is not asked."""
    fork: Fork | msgspec.UnsetType = msgspec.UNSET
    """The session whose record it carries on. Left out: it carries none."""
    trace: str | msgspec.UnsetType = msgspec.UNSET
    """The span that the session's own is a child of, as W3C's `traceparent` (parley.observability.tracing.begin). Left
    out: it is not traced."""
    queues: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    """As `OpenSession.queues` has it. Left out: every worker took part under its queue's own name."""
    learned: Learned | msgspec.UnsetType = msgspec.UNSET
    """What past outcomes say of members and confidence, as far as the protocol uses it, and the kind of question. Left
    out: nothing does."""
    stop_rule: str | msgspec.UnsetType = msgspec.UNSET
    """The rule of a package that may end it early (parley.coordinator.table.StopRule). Left out: there is none."""

    @property
    def evidence(self) -> tuple[Document, ...]:
        """The documents that may be quoted."""
        return tuple(d for d in self.documents if d.background is not True)

    def with_found(self, ask: "Ask", found: Iterable[LookUpResult], at_ns: int) -> "Opened":
        """With documents that a seat looked up for a turn: its own at once, and those of all seats of its role from the
        next round on (`Document.is_shown`). What is there already stays as it is. A fold over replies makes them, so no
        replay looks anything up."""
        there = {name for d in self.documents for name in (d.id, d.name)}
        room = MAX_EVIDENCE - sum(len(d.text) for d in self.documents)
        role = next(s.role for s in self.seats if s.seat == ask.seat)
        holders = tuple(s.seat for s in self.seats if s.role == role)
        more = []
        for one in found:
            room -= len(one.text)
            if room < 0 or one.id in there or one.name in there:
                continue
            there |= {one.id, one.name}
            source = f"{one.server}.{one.tool} {one.arguments}"
            looked = LookUpOrigin(seat=ask.seat, round=ask.round, at_ns=at_ns, source=source)
            more.append(Document(id=one.id, name=one.name, text=one.text, holders=holders, looked=looked))
        return msgspec.structs.replace(self, documents=(*self.documents, *more)) if more else self


class Replied(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="replied", gc=False):
    """The worker of a turn's queue answered it, well or badly."""

    turn: str
    body: Json
    error: str = ""
    usage: Usage = Usage()
    model: str = ""
    model_s: float = 0.0
    deliveries: int = 1
    flags: tuple[str, ...] = ()
    found: tuple[LookUpResult, ...] | msgspec.UnsetType = msgspec.UNSET
    """What the seat looked up before it answered. Left out: nothing."""


class Spoke(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="spoke"):
    """A process that heard a post spoke up."""

    author: str
    channel: str
    window: str
    kind: str
    body: Json


class Sat(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="sat"):
    """A person sat down on a seat, or left it."""

    seat: str
    queue: str
    """Where the seat's turns go from now on."""
    seconds: float = 300.0
    """For each of them."""
    then: Literal["agent", "miss", "wait"] = "agent"
    left: bool = False


class TimerFired(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t", tag="timer_fired"):
    """A deadline passed. Which, follows from the time of the entry. Or it was time to look who is there."""

    gone: tuple[str, ...] = ()
    """Queues of open turns that nobody serves any more."""
    stay: tuple[str, ...] = ()
    """Windows that stay open for another second, though their end has come: somebody may still speak."""


class Retrying(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="retrying"):
    """A call for an open turn failed, and its worker makes it again: the seat is failing from here on."""

    turn: str
    why: str
    again_s: float = 0.0


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="begun"):
    """A worker is about to begin a try of an open turn whose tries are booked. Taken before it pays."""

    turn: str


class Cancelled(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="cancelled"):
    """A client ended the session."""

    author: str
    reason: str = ""


class Hurried(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="hurried"):
    """A client asked for the answer that there is now: the session's time is over from here on."""

    author: str


class Decided(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="decided"):
    """A human answered an open item."""

    item: str
    choice: str
    note: str = ""
    author: str
    seat: Seat | msgspec.UnsetType = msgspec.UNSET
    """The seat of a member that is to join, as its workers announce it. Left out: nobody is."""


class FeedbackGiven(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t", tag="feedback_given"):
    """A person said whether the result is right."""

    author: str
    right: bool
    answer: str = ""
    note: str = ""


class NotesKept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t", tag="notes_kept"):
    """A person said what is remembered of the session."""

    author: str
    notes: tuple[Note, ...] = ()


class ChildEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="child_ended"):
    """A session beneath this one is over, or was never opened."""

    session: str
    ended: SessionEnded


class Forked(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="forked"):
    """The entries ahead of this one carry another session's record. It goes on by itself from here."""

    fork: Fork


class Told(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="told"):
    """Another session said something to this one."""

    sender: str
    kind: str
    body: Json


class Faulted(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="faulted"):
    """The protocol's own code failed on what came; this stands in its place (parley.schemas.stops.PROTOCOL_FAULT)."""

    why: str
    """The error, with its file and line."""


class Lost(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="lost"):
    """Nobody could run the session any more (parley.schemas.stops.VERSION_LOST). No machine takes it: its entry lies
    beside the transitions, under the kind `erased`, which ends a session for every moderator, and has no digest.
    """

    why: str


Event = (
    Opened | Replied | Spoke | Sat | TimerFired | Begun | Cancelled | Hurried | Decided | FeedbackGiven | NotesKept
    | ChildEnded | Told | Forked | Lost | Retrying | Faulted
)  # fmt: skip

AFTERWARDS = (FeedbackGiven, NotesKept)
"""The only events that a closed session takes."""

# ---------------------------------------------------------------- commands


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="ask", gc=False):
    """Send a turn to a seat's queue. What it shows are numbers of posts; the builder of WORK messages looks them up."""

    seat: str
    kind: str
    round: int
    brief: Json
    sees: tuple[int, ...] = ()
    own: int | None = None
    caps: Caps
    deadline_ns: int
    stream: bool = False
    final: bool = False
    """Paid from what was held back for the end."""
    channel: str = ""
    """Where the reply is submitted and its text is shown live; empty: the channel that the seat's account speaks on."""
    window_s: float | None = None
    """Seconds for this turn, retries included, where it has fewer than the session's turns have."""
    attempt: int = 1
    error: str = ""
    refused: str | msgspec.UnsetType = msgspec.UNSET
    """The reply that was not accepted, as JSON, its first 4,000 characters. Left out where none came."""
    queue: str = ""
    """Of the person who sits there; empty: the seat's own."""


class Say(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="say", gc=False):
    """Post on a channel."""

    channel: str
    kind: str
    round: int
    body: Json
    seat: str = ""


class Invite(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="invite"):
    """Add a seat; one that is there already stays as it is."""

    seat: Seat


class StartChild(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="start_child"):
    """Submit the opening of a session beneath this one."""

    session: str
    opening: OpenSession


class CancelChild(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="cancel_child"):
    """Submit the cancelling of a session beneath this one; it still comes back as ended."""

    session: str


class Tell(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="tell"):
    """Submit words to another session, which takes them as told, once; lost where that one is not open."""

    session: str
    kind: str
    body: Json


class Notify(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="notify"):
    """Call people: it stands in the log, and is counted for alerts."""

    severity: str
    """info | warning | error"""
    text: str


class SetTimer(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="set_timer", gc=False):
    """Arm the session's one timer for this time, in place of any earlier."""

    at_ns: int


class ClearTimer(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="clear_timer"):
    """Nothing is due any more."""


class Close(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="close"):
    """The session is over. Its result was posted on `control` in the same transition; its parent is told."""

    status: str
    reason: str


Command = Ask | Say | Invite | StartChild | CancelChild | Tell | Notify | SetTimer | ClearTimer | Close


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One message of LOG: the truth."""

    n: int
    """Number of the transition in its session, from 0 without gaps."""
    at_ns: int
    """Unix time; never before the entry ahead of it."""
    cause: str
    """`in:<sequence>`, `turn:<id>`, `try:<turn>:<attempt>`, `retry:<turn>`, `say:<author>:<window>` or
    `sit:<author>:<id>`: never only an id that the sender chose. Between sessions, for which moderators speak:
    `tell:<session>:<place>`, `ended:<session>`. Of what a fork carries: `fork:<transition of the record>`."""
    event: Event
    commands: tuple[Command, ...]
    digest: str
    """Chains event, commands and the state after to the entry before (BLAKE2b, 128 bits, hex)."""


# ---------------------------------------------------------------- packs

FORM = 1
"""Of a pack: how entries lie in it."""


class Said(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="said", gc=False):
    """A post (`Say`) whose body is that of an event in the same pack."""

    of: int
    """The event's place in the pack, from 0."""
    channel: str
    kind: str
    round: int
    seat: str = ""


class PackedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry, with `Said` in place of posts whose body lies in the pack already."""

    n: int
    at_ns: int
    cause: str
    event: Json
    commands: tuple[
        Ask | Say | Said | Invite | StartChild | CancelChild | Tell | Notify | SetTimer | ClearTimer | Close, ...
    ]
    digest: str


class Pack(msgspec.Struct, frozen=True, kw_only=True):
    """One message of LOG that holds several entries, or one whose post repeats its reply."""

    v: int
    entries: tuple[PackedEntry, ...]


# ---------------------------------------------------------------- beside the entries


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A submission to IN that was refused: recorded beside the transitions, not among them, for its author to find."""

    cause: str
    what: str
    """open | cancel | answer_now | decide | feedback; a fork that is refused is an opening"""
    why: str
    field: str = ""
    author: str = ""
    at_ns: int
    retry_s: float | msgspec.UnsetType = msgspec.UNSET
    """After so many seconds another try may succeed. Absent: nobody knows."""


class Erased(msgspec.Struct, frozen=True, kw_only=True):
    """What stays of a session whose texts were removed: the last message of its log, and the only one left."""

    at_ns: int
    author: str
    """The owner who had it removed."""
    protocol: str
    status: str
    """As it was closed."""
    reason: str
    opened_ns: int
    closed_ns: int | None = None
    owner: str
    """Whose it was."""
    opened_seq: int | msgspec.UnsetType = msgspec.UNSET
    """Sequence in LOG of the message that opened it, so that who counts sessions knows whether it has seen that one.
    Left out: it was gone before."""
    closed_seq: int | msgspec.UnsetType = msgspec.UNSET
    """The same of the message that closed it."""


class Aside(msgspec.Struct, frozen=True, kw_only=True):
    """A message that could not be decoded, or whose handling raised: recorded, put aside, and it stops nobody."""

    subject: str
    cause: str
    why: str
    at_ns: int
    payload: str
    """The first 4,096 bytes, escaped."""
    size: int
