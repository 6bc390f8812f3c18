"""Opening and cancelling a session: what a client submits, and what a session is made of."""

import hashlib
import re
from typing import Any

import msgspec

from parley.schemas.folders.notes import MOST_NOTES, Note
from parley.schemas.past_sessions.learned import Learned
from parley.schemas.result import Result
from parley.schemas.strategies import Strategy
from parley.schemas.wire import InvalidValue, Json, few, in_range, not_empty

MAX_QUESTION = 20_000
"""Characters of a question."""
MAX_DOCUMENT = 12_000_000
"""Characters of one document."""
MAX_EVIDENCE = MAX_DOCUMENT
"""Characters of all documents of a session: they travel inside its first event, which must fit one message."""
MAX_LINE = 500
"""Characters of a line that says what was left out."""
MAX_LEFT_OUT = 200
"""Such lines of a session."""
MAX_FEEDBACK = 4_000
"""Characters of the answer, and of the note, that a person gives as feedback."""
MAX_SEATS = 64
USUAL_TURN_S = 120.0
"""Seconds for a turn, where a request names none."""
EVERYBODY = "*"
"""As a document's one holder: every seat that documents are dealt to."""
SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a session id may be: it stands in subjects and message ids of a limited length."""
METRICS = "metrics"
"""The user of `parley metrics`: who counts sessions, and asks a synthetic question now and then."""
_HUMAN = "_human"
_VARIANT, _BASE = "__", 55
_OF_A_VARIANT = re.compile(r".+__[0-9a-f]{7}")
_ID_CHARS = 64
_CHILD = re.compile(r"-c\d+(-\d)?\Z")
"""Of a session's id."""


def human_queue(seat: str) -> str:
    """The queue, and so the credential, of a person who takes this seat."""
    return seat + _HUMAN


def is_human(queue: str) -> bool:
    """Whether a queue is a person's: no seat has it unless the request says so."""
    return queue.endswith(_HUMAN)


def variant_of(queue: str, digest: str) -> str:
    """The queue beside this one whose workers have another model; `digest`: 7 hexadecimal digits of what they are."""
    return f"{queue[:_BASE]}{_VARIANT}{digest}"


def is_variant(queue: str) -> bool:
    """Whether a queue's workers take part only in sessions that name it."""
    return _OF_A_VARIANT.fullmatch(queue) is not None


def plain_name(queue: str) -> str:
    """What sessions call a queue, a variant or not."""
    return queue[: queue.rindex(_VARIANT)] if is_variant(queue) else queue


def child_id(sid: str, n: int, place: int = 0) -> str:
    """The id of the session that transition `n` of this one starts: at most 64 characters, of a long id the first ones
    and a hash. `place`: from 0 to 9, of several that start there."""
    tail = f"-c{n}-{place}" if place else f"-c{n}"  # no session that a client opens has such an id (is_child_id)
    if len(sid) + len(tail) <= _ID_CHARS:
        return sid + tail
    mark = "-" + hashlib.blake2b(sid.encode(), digest_size=6).hexdigest()
    return sid[: _ID_CHARS - len(mark) - len(tail)] + mark + tail


def is_child_id(sid: str) -> bool:
    """Whether an id is of the form that `child_id` makes."""
    return _CHILD.search(sid) is not None


def is_synthetic(sid: str) -> bool:
    """Whether it is the id of a question that `parley metrics` asks to see whether one is answered. Moderators refuse
    such ids to everybody else, so that nobody's sessions can hide among these."""
    return sid.startswith(f"{METRICS}-")


class Place(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Where in a document's text a page, a slide or a sheet begins."""

    at: int
    name: str
    """`page 3`, `slide 2`, `sheet Costs`."""


class LookUpOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a document is from that a tool returned in the session."""

    seat: str
    """Who looked it up. Others hold it from the next round on."""
    round: int
    at_ns: int
    """Unix time at which the moderator took it."""
    source: str
    """Server, tool and arguments: `web.search {"query": "..."}`."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One readable text of the evidence."""

    id: str = ""
    """SHA-256 of the text, hex: documents are fetched and cached by content. Whoever opens a session fills it in."""
    name: str
    """Path inside the evidence folder."""
    text: str
    holders: tuple[str, ...] = ()
    """Seats that hold it; empty means not yet dealt, EVERYBODY all that documents are dealt to."""
    background: bool | msgspec.UnsetType = msgspec.UNSET
    """It says what was found before, to every seat: it is read beside the question, and it is no evidence that anybody
    quotes. Left out: it is evidence."""
    places: tuple[Place, ...] | msgspec.UnsetType = msgspec.UNSET
    """Its pages, slides or sheets, in order. Left out: it has none. Headings stand in the text."""
    looked: LookUpOrigin | msgspec.UnsetType = msgspec.UNSET
    """Who looked it up, and where. Left out: it came with the opening."""

    def is_shown(self, seat: str, round_: int) -> bool:
        """Whether a seat holds it in this round."""
        early = self.looked and self.looked.seat != seat and self.looked.round >= round_
        return seat in self.holders and not early

    def __post_init__(self) -> None:
        if len(self.text) > MAX_DOCUMENT:
            raise InvalidValue(
                f"document {self.name}", f"{len(self.text):,} characters", f"allowed are at most {MAX_DOCUMENT:,}"
            )


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """A participant's place: one identity and one vote, whatever number of copies serve its queue."""

    seat: str
    role: str
    queue: str
    weight: float = 1.0
    """Share of this seat's say in weighted scores, relative to the others. 0.1 to 10."""
    model: str = ""
    """What answered for this queue when the session was opened, as announced."""
    family: str = ""
    metered: bool = False
    """Whether its model is counted in tokens; one that is not reserves no tokens and costs nothing."""
    usd_per_million_input: float = 0.0
    usd_per_million_output: float = 0.0
    chosen: str | msgspec.UnsetType = msgspec.UNSET
    """Why it sits, of more members that could have sat; left out: it was not chosen."""
    strategy: Strategy | msgspec.UnsetType = msgspec.UNSET
    """How it works on the question; the protocol decides it at the opening. Left out: it has none."""

    def __post_init__(self) -> None:
        not_empty("seat", self.seat, 64)
        in_range(f"seat {self.seat}: weight", self.weight, 0.1, 10.0)


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of one session; None is no limit."""

    tokens: int | None = None
    """Input and output tokens together."""
    calls: int | None = None
    """Model calls, repairs included."""
    cost_usd: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for field in ("tokens", "calls", "cost_usd", "seconds"):
            value, whole = getattr(self, field), field in ("tokens", "calls")
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                raise InvalidValue(f"budget.{field}", value, f"it must be a {'whole ' if whole else ''}number")
            if not 0 < value <= 1e12:
                raise InvalidValue(f"budget.{field}", value, "it must be above 0, and at most 1e12")
        if self.seconds is not None and self.seconds > 1e8:
            raise InvalidValue("budget.seconds", self.seconds, "allowed are at most 1e8")


class OpenSession(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="open"):
    """A client asks for a session. Submitted on IN; answered by an entry in the session's log, taken or refused."""

    question: str
    protocol: str
    settings: dict[str, Any] = {}
    """The protocol's settings; what is absent has its default."""
    seats: tuple[Seat, ...] = ()
    """Empty: the protocol seats the workers that are alive."""
    documents: tuple[Document, ...] = ()
    left_out: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Files, or parts of them, that were sent with it and could not be read: name, why, and what would help, a line
    each. Left out: all could."""
    budget: Budget = Budget()
    seed: int | None = None
    """None: the moderator draws one; it is kept in the first event."""
    turn_timeout_s: float = USUAL_TURN_S
    """A model that was measured to be slow gets more, where this is the default."""
    continues: str = ""
    """The session whose result this one follows up; a background document holds what that one came to."""
    parent: str = ""
    """The session that this one is started beneath; moderators alone set it."""
    inherits: bool = False
    """Of one beneath another: the parent's documents come with it, dealt anew."""
    only: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Of the parent's documents, those of these names alone, and the background. Left out: all of them."""
    waits: dict[str, float] = {}
    """Seat -> seconds, 1 to 86,400, for which its turns wait for a person, from the first one on: as if the person sat
    at the opening. After that the seat is its agent's until somebody sits down."""
    queues: dict[str, str] = {}
    """Queue as the session names it -> the queue whose workers take part in its place, and nobody else's do. Empty:
    every worker that is alive may, under its queue's own name, but for variants of one (`is_variant`)."""
    expires_s: float | msgspec.UnsetType = msgspec.UNSET
    """Seconds from when the server stored it, after which nobody waits for it any more: it is refused from then on.
    Left out: never."""
    learned: Learned | msgspec.UnsetType = msgspec.UNSET
    """What past outcomes say of members and confidence, and what kind of question it is. Left out: nothing does."""

    def __post_init__(self) -> None:
        not_empty("question", self.question, MAX_QUESTION)
        in_range("turn_timeout_s", self.turn_timeout_s, 0.25, 86_400.0)
        if self.continues and not SESSION_ID.fullmatch(self.continues):
            raise InvalidValue("continues", self.continues[:80], "it is not a session's id")
        if self.parent and not SESSION_ID.fullmatch(self.parent):
            raise InvalidValue("parent", self.parent[:80], "it is not a session's id")
        if len(self.seats) > MAX_SEATS:
            raise InvalidValue("seats", len(self.seats), f"allowed are at most {MAX_SEATS}")
        size = sum(len(d.text) for d in self.documents)
        if size > MAX_EVIDENCE:
            raise InvalidValue("evidence", f"{size:,} characters", f"allowed are at most {MAX_EVIDENCE:,}")
        told = self.left_out or ()
        if len(told) > MAX_LEFT_OUT or any(len(line) > MAX_LINE for line in told):
            limits = f"allowed are at most {MAX_LEFT_OUT}, of {MAX_LINE} characters"
            raise InvalidValue("left_out", f"{len(told):,} lines", limits)
        for seat, seconds in self.waits.items():
            in_range(f"waits.{seat[:64]}", seconds, 1.0, 86_400.0)
        seen: set[str] = set()
        for s in self.seats:
            if s.seat in seen:
                raise InvalidValue("seats", s.seat, "two seats have this id")
            seen.add(s.seat)


class ForkSession(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="fork"):
    """A client asks for a session that carries the record of one of its own on, up to the end of a round."""

    of: str
    """The session whose record it carries. It is over."""
    round: int | None = None
    """None: its last whole round."""
    settings: dict[str, Any] = {}
    """The protocol's settings that are to change."""
    seats: tuple[Seat, ...] = ()
    """Seats of the record that other queues serve now."""
    budget: Budget | None = None
    """For what it does itself; None: the limits of the record's session, anew."""
    turn_timeout_s: float | None = None
    """None: as there."""
    queues: dict[str, str] = {}
    """As `OpenSession` has it, for the seats of the record. Empty: the queues that served them serve them again."""
    expires_s: float | msgspec.UnsetType = msgspec.UNSET
    """As `OpenSession` has it."""

    def __post_init__(self) -> None:
        if not SESSION_ID.fullmatch(self.of):
            raise InvalidValue("of", self.of[:80], "it is not a session's id")
        if self.turn_timeout_s is not None:
            in_range("turn_timeout_s", self.turn_timeout_s, 0.25, 86_400.0)
        if len(self.seats) > MAX_SEATS:
            raise InvalidValue("seats", len(self.seats), f"allowed are at most {MAX_SEATS}")


class CancelSession(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="cancel"):
    """A client ends a session before its protocol does."""

    reason: str = ""


class AnswerNow(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="answer_now"):
    """A client wants what a session has come to by now, and waits for nothing more."""


class TimerDue(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="timer"):
    """The session's durable timer fired."""


class DecideItem(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="decide"):
    """A human answers an open item of a session."""

    item: str
    choice: str
    note: str = ""

    def __post_init__(self) -> None:
        not_empty("decide.item", self.item, 64)
        not_empty("decide.choice", self.choice, MAX_QUESTION)
        if len(self.note) > MAX_QUESTION:
            raise InvalidValue("decide.note", f"{len(self.note):,} characters", f"allowed are at most {MAX_QUESTION:,}")


class GiveFeedback(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="feedback"):
    """A person says whether a closed session's result is right. Who it is stands in the subject."""

    right: bool
    answer: str = ""
    """What the answer should have been."""
    note: str = ""

    def __post_init__(self) -> None:
        for field in ("answer", "note"):
            size = len(getattr(self, field))
            if size > MAX_FEEDBACK:
                raise InvalidValue(f"feedback.{field}", f"{size:,} characters", f"allowed are at most {MAX_FEEDBACK:,}")


class KeepNotes(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="keep_notes"):
    """A person says what is remembered of a closed session: these of its notes, in these words, and no others. Who it
    is stands in the subject."""

    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        few("notes", self.notes, MOST_NOTES)


class TellSession(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="tell"):
    """One session says something to another. Which, stands in the subject."""

    place: str
    """Transition and command of the telling session: told twice, it is taken once."""
    kind: str
    body: Json


class SessionEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="ended"):
    """A session tells the one that it was started beneath that it is over, or was never opened."""

    protocol: str
    status: str
    """finished | failed | cancelled | refused | erased"""
    reason: str = ""
    result: Result | None = None
    """Null where it was never opened, or its texts are gone."""
    why: str = ""
    """In words, where there is no result."""
    unaccounted_calls: int = 0
    """The most that calls lost with a process or a time-out may have used: in the result's `unaccounted_tokens`, and
    these."""
    unaccounted_cost_usd: float = 0.0


Submission = (
    OpenSession | ForkSession | CancelSession | AnswerNow | DecideItem | GiveFeedback | KeepNotes | TimerDue
    | TellSession | SessionEnded
)  # fmt: skip
"""What IN carries."""
