"""The parts of a protocol: its table, the events that the table takes, and the errors around it.

A protocol is data and pure functions: phase x event -> handler and the phases that it may lead to. A pair that is
absent is illegal. The machine (parley.coordinator.machine) runs it; the diagrams are drawn from it."""

import hashlib
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from parley.coordinator.budget import Ledger, Reservation
from parley.coordinator.commands import SayOn, Wish
from parley.coordinator.signals.grace import DEFAULT_GRACE, Grace
from parley.schemas import log
from parley.schemas.log import Decided as Decided
from parley.schemas.log import Spoke as Spoke
from parley.schemas.log import Told as Told
from parley.schemas.post import CLOSED, Post
from parley.schemas.presence import Announcement
from parley.schemas.session import OpenSession, Seat, child_id, human_queue
from parley.schemas.turn import Caps
from parley.schemas.wire import Json, encode

_REFUSED_CHARS = 4_000
CONTROL = "control"
"""The channel on which the machine itself speaks."""


class MachineError(Exception):
    """Base of the errors of this package."""


class Illegal(MachineError):
    """The event is not allowed in this state. The peer's fault: the submission is refused with this text."""


class Inadmissible(MachineError):
    """A session that cannot be opened. Names the field to blame. The peer's fault.

    Parameters
    ----------
    worker
        A worker that is not alive, or not heard yet, could cure it.
    """

    def __init__(self, field: str, why: str, *, worker: bool | None = None) -> None:
        self.field = field
        self.worker = field.startswith("seats") if worker is None else worker
        super().__init__(why)


class BrokenTable(MachineError):
    """A handler went to a phase that its cell does not name. Our fault."""


# ---------------------------------------------------------------- what a protocol's table is made of


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A seat's turn was answered, and the answer passed its schema and the protocol's check."""

    turn: str
    seat: str
    kind: str
    round: int
    body: Any
    flags: tuple[str, ...] = ()


class AnsweredLate(Answered, frozen=True, kw_only=True):
    """A turn was answered that had been set aside, after its step was told that it was missed. A table without a cell
    for it drops it."""


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """A seat's turn came to nothing: its deadline passed, no attempt was good, or its grace is over
    (parley.coordinator.signals.grace)."""

    turn: str
    seat: str
    kind: str
    round: int
    why: str
    short: str = ""
    """The limit of the budget that another attempt would have passed, as in Unaffordable; empty: none."""
    late: bool = False
    """Its deadline passed without a reply."""
    gone: bool = False
    """Nobody serves the seat's queue any more."""


class Unaffordable(msgspec.Struct, frozen=True, kw_only=True):
    """The turns just wished do not fit the budget, or its seconds are over. They are not asked."""

    what: str
    """The limit, with the figures."""
    seconds: bool = False
    """True: the time is over, so that not even a final turn can be asked."""


class WindowClosed(msgspec.Struct, frozen=True, kw_only=True):
    """The time of a window for words from the floor is over."""

    name: str


class ChildEnded(msgspec.Struct, frozen=True, kw_only=True):
    """A child ended, or was never opened."""

    session: str
    protocol: str
    status: str
    """finished | failed | cancelled | refused | erased"""
    reason: str
    """The reason of its stop (parley.schemas.stops); empty if it was not opened."""
    result: Json | None
    """Its result frame (parley.schemas.result.Result)."""
    why: str
    """In words, if there is no result."""


Inner = Answered | AnsweredLate | Missed | Unaffordable | Spoke | WindowClosed | Decided | ChildEnded | Told
"""What a table takes. `Spoke`, `Decided` and `Told` come as the log has them."""


class OpenTurn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An open turn."""

    id: str
    ask: log.Ask
    asked_ns: int = 0
    failing_ns: int = 0
    """Since when it fails (parley.coordinator.signals.grace); 0: it does not, as far as is known."""
    why: str = ""
    """What it fails with."""
    aside: bool = False
    """Whether its grace is over: nobody waits for it, and its seat is asked nothing else."""
    begun: bool = False
    """A worker announced a try of it, and has not replied."""


class Sitter(msgspec.Struct, frozen=True, kw_only=True):
    """A person in a seat."""

    queue: str
    seconds: float
    """Seconds for each turn."""
    then: str
    """agent | miss | wait (parley.schemas.turn.Sit)."""


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """The stop decision, once there is one."""

    reason: str
    certificate: Json
    converged: bool
    transition: int


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a session remembers."""

    sid: str
    opened: log.Opened
    settings: Any = None
    """`opened.settings`, typed: decoded once, not hashed."""
    question: str = ""
    """The question that seats are shown, once the protocol rephrased `opened.question`. Not hashed: a post has it."""
    n: int
    """Transitions taken."""
    opened_ns: int
    at_ns: int
    turns: dict[str, OpenTurn] = {}
    posts: tuple[Post, ...] = ()
    ledger: Ledger = Ledger()
    quorum_ns: int = 0
    """When the step that is waited for could go on without the turns that are open; 0: it could not."""
    lasted: dict[str, int] = {}
    """Seat -> ns that its last turn took. Not hashed: the times of the entries say it."""
    timer_ns: int | None = None
    """When the armed timer fires. It may be earlier than the next deadline, never later."""
    stopped: Stopped | None = None
    closed: bool = False
    inner: Any = None
    sitters: dict[str, Sitter] = {}
    """People in seats, by seat."""
    windows: dict[str, int] = {}
    """Windows for words from the floor: name -> Unix time of their end, ns."""
    hurried: str = ""
    """Who asked for the answer now; empty: nobody. Its time is over since then. Not hashed: the event is."""
    children: dict[str, Reservation] = {}
    """Children that have not ended, and the most that each may use."""
    taken: dict[str, tuple[int, ...]] = {}
    """Model, and model and kind of turn -> tokens that the last such turns took beside what they were shown. Only where
    the budget is limited; not hashed: the replies hold it."""

    @property
    def closing(self) -> Post:
        """The post with the result of a closed session."""
        return next(p for p in reversed(self.posts) if p.kind == CLOSED and p.channel == CONTROL)


def seat_of(opened: log.Opened, name: str) -> Seat:
    """The seat of this name. Raises StopIteration where there is none."""
    for seat in opened.seats:
        if seat.seat == name:
            return seat
    raise StopIteration(name)


def awaited(opened: log.Opened) -> dict[str, Sitter]:
    """Seats whose turns wait for a person from the first turn on, as if a person had taken the seat at the opening. If
    nobody comes, the agent has them."""
    return {seat: Sitter(queue=human_queue(seat), seconds=s, then="agent") for seat, s in opened.waits.items()}


def digest(
    before: str, session: Session, event: log.Event, at_ns: int, cause: str, commands: tuple[log.Command, ...]
) -> str:
    """Chains a transition to the one before: event, cause, commands, and the state after (128 bits, hex).

    Posts, asks, the opening and the seats invited since are not hashed again: the commands and the first event of the
    chain hold them. `before` is empty for the first transition, whose chain begins with the session's id."""
    h = hashlib.blake2b((before or session.sid).encode(), digest_size=16)
    h.update(encode([event, at_ns, cause, commands]))
    lag = [[t.id, t.failing_ns, t.aside] for t in session.turns.values() if t.failing_ns or t.aside]
    h.update(
        encode(
            [session.n, session.at_ns, list(session.turns), session.ledger, session.timer_ns, session.stopped,
             session.closed, session.inner, len(session.posts), session.sitters, session.windows, session.children,
             *lag]
        )
    )  # fmt: skip
    return h.hexdigest()


ATTEMPTS = 2  # once more
"""How often a turn is asked before its seat counts as missing."""


class View(msgspec.Struct, frozen=True):
    """What a handler may look at beside its own state."""

    opened: log.Opened
    settings: Any
    posts: tuple[Post, ...]
    """All posts so far; a post's number is its index."""
    next_post: int
    open_turns: tuple[OpenTurn, ...]
    """Open turns that the step waits for, without the one that is being handled."""
    at_ns: int
    ledger: Ledger = msgspec.field(default_factory=Ledger)
    """What was used so far."""
    affords: Callable[[Iterable[tuple[str | Seat, Caps]]], str] = lambda turns: ""
    """The limit of the budget that these turns of seats would pass together, beside what is used, reserved and held
    back; empty: they fit. A seat that is not invited yet is given as a Seat."""
    sid: str = ""
    """The session's own id."""
    windows: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Open windows: name -> Unix time of their end, ns."""
    n: int = 0
    """The transition in the making."""
    attempts: int = ATTEMPTS
    """How often a turn is asked, at most."""

    def child(self, place: int = 0) -> str:
        """The id of the child that is started at this place in the step, from 0 on."""
        return child_id(self.sid, self.n, place)

    def seats(self, role: str) -> tuple[Seat, ...]:
        """Seats of one role, in the order of the opening."""
        return tuple([s for s in self.opened.seats if s.role == role])


def with_said(view: View, says: Iterable[Wish]) -> View:
    """The view with what is posted in this very step."""
    more = tuple(
        Post(
            session=view.sid, channel=say.channel, k=0, n=view.next_post + i, transition=view.n, at_ns=view.at_ns,
            seat=say.seat, kind=say.kind, round=say.round, body=say.body,
        )
        for i, say in enumerate(w for w in says if isinstance(w, SayOn))
    )  # fmt: skip
    return msgspec.structs.replace(view, posts=(*view.posts, *more), next_post=view.next_post + len(more))


class Sample(msgspec.Struct, frozen=True):
    """An addition to one of the series of outcomes (parley.observability.outcomes)."""

    series: str
    """The series' name, without `parley_`."""
    labels: dict[str, str] = {}
    value: float = 1.0
    """The amount by which a counter goes up, the value that a histogram observes, or the value of a gauge."""


class LogLine(msgspec.Struct, frozen=True):
    """A line for the log of the moderator that took the transition."""

    text: str
    warning: bool = False


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What a protocol measured in a closed session."""

    agreement: float | None = None
    """After the last measured round, 0 to 1; None: it was not measured."""
    disagreement: float | None = None
    """The same, by the protocol's own measure, 0 to 1."""
    plateau: bool = False
    """Whether nothing moved any more, by the protocol's own test."""
    flips: dict[str, int] = {}
    """Changes of answers: FLIPS -> count."""
    judge_variance: tuple[float, ...] = ()
    """Of the scores that judges gave, round by round."""
    samples: tuple[Sample, ...] = ()
    """Samples that only this protocol counts."""


FLIPS = ("quoted", "argued", "unexplained")
"""Why somebody changed an answer: a quotation that was new to the seat, an argument, or nothing that the record
shows."""


@dataclass(frozen=True)
class SessionCounts:
    """What a protocol tells the counter of its sessions."""

    measured: Callable[["Session", "View"], Measured] = lambda session, view: Measured()
    """For a closed session; the view is of its last state."""
    feedback: Callable[["Session", bool], Iterable[Sample]] = lambda session, right: ()
    """For a closed session, when a person says that its result is right, or wrong."""
    live: Callable[[log.Entry], Iterable[Sample]] = lambda entry: ()
    """For a standing session, which never closes: what an entry adds."""
    children: tuple[Sample, ...] = ()
    """Labels of its own series that are known beforehand."""


State = Any
Step = tuple[State, tuple[Wish, ...]]


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    handler: Callable[[State, Any, View], Step]
    targets: tuple[StrEnum, ...]


def to(handler: Callable[[Any, Any, View], Step], *targets: StrEnum) -> Cell:
    """A cell: the handler, and every phase that it may lead to."""
    return Cell(handler, targets)


Table = Mapping[StrEnum, Mapping[type, Cell]]


@dataclass(frozen=True)
class Role:
    """A role that a protocol needs."""

    name: str
    least: int
    computes: bool = False
    """All its turns are computed: a language model of such a seat is not asked."""


@dataclass(frozen=True)
class Planned:
    """The turns that one seat may be asked."""

    seat: str
    kind: str
    caps: Caps
    turns: int = 1


@dataclass(frozen=True)
class Usual:
    """Turns of one seat as they usually come, by sessions that were played with a strong model."""

    seat: str
    kind: str
    turns: int = 1
    heard: int = 0
    """Tokens of each prompt beside instructions, question and documents: what others said, what it is told."""
    answer: int = 150
    """Tokens of each reply."""
    steps: int = 1
    """Model calls of each: above 1, it uses tools."""

    def looking(self, look_ups: int) -> "Usual":
        """Where it may look things up: a call that asks tools, one that ends that, and the answer."""
        return replace(self, steps=3) if look_ups else self


@dataclass(frozen=True)
class WorkerChoice:
    """Who may be chosen for a turn of work, and how many calls that turn may have."""

    seat: Seat
    least: Caps
    most: Caps


@dataclass(frozen=True)
class TurnPlan:
    """The turns that a session may come to, as known before it begins."""

    rounds: int
    """Largest number of rounds."""
    least: tuple[Planned, ...]
    """The turns of a single round that ends the session, each asked once."""
    most: tuple[Planned, ...]
    """The turns of all rounds, each asked as often as it may be."""
    workers: tuple[WorkerChoice, ...] = ()
    """If the session chooses who works: the seats that it may choose. Their turns are in neither of the two."""


class Awaited(NamedTuple):
    """Queues whose words a window waits for. A process that starts again hears the posts once more."""

    surely: frozenset[str] = frozenset()
    """These say something if they can: the window stays open until they have spoken, or are gone."""
    maybe: frozenset[str] = frozenset()
    """These may say nothing: the window stays open while they are away, and may come back."""

    def is_open(self, gone: Container[str], away: Container[str]) -> bool:
        """Whether the window stays open at its end."""
        return any(q not in gone for q in self.surely) or any(q in away for q in self.maybe)


NOBODY = Awaited()


@dataclass(frozen=True)
class StopRule:
    """A rule of a package that ends a session of any protocol with rounds before the protocol does."""

    name: str
    reason: str
    """The stop reason where it does; one that never converges."""
    holds: Callable[["View"], str]
    """Asked whenever a round has ended: why the session ends now, in words; empty: it goes on. A pure function."""


@dataclass(frozen=True)
class Protocol:
    """One protocol: data and pure functions. Registered in parley.coordinator.protocols."""

    name: str
    version: int
    """The version of sessions opened now (`log.Opened.version`). It goes up whenever the same events would lead to
    other bytes."""
    settings: type
    """msgspec struct; its `__post_init__` refuses values outside their range."""
    state: type
    """Frozen msgspec struct with a field `phase`."""
    table: Table
    done: StrEnum
    replies: Mapping[str, type]
    """Kind of turn -> schema of its reply."""
    roles: tuple[Role, ...]
    channel: str
    """Where replies of participants are submitted and posted."""
    seat: Callable[[OpenSession, Any, tuple[Announcement, ...]], tuple[Seat, ...]]
    """Seats for a request that names none, or only some. Raises Inadmissible."""
    start: Callable[[View], Step]
    final: Callable[[View], tuple[tuple[str, Caps], ...]]
    """(seat, caps) of the turns for which the budget is held back from the opening on."""
    check: Callable[[State, OpenTurn, Any, View], str]
    """A semantic fault in a reply, in words that the model is shown; empty if there is none."""
    outcome: Callable[[State, View], tuple[dict[str, Any], tuple[dict[str, Any], ...]]]
    """(outcome, rounds) of the result frame."""
    attempts: int = ATTEMPTS
    tuned: type | None = None
    """Its settings with a field `constants`, for recorded sessions that are computed again with other numbers; None: it
    has no such numbers."""
    stops: tuple[str, ...] = ()
    """Reasons for which its sessions stop (parley.schemas.stops), beside those of every protocol."""
    oldest: int | None = None
    """The oldest version whose sessions it steps to the same bytes as that version did; None: only its own version."""
    plan: Callable[[View], TurnPlan] = lambda view: TurnPlan(rounds=1, least=(), most=())
    """The turns to be expected, from settings and seats alone; the view has no posts. Left out: nothing is known."""
    usual: Callable[[View, int | None], tuple[Usual, ...]] | None = None
    """The turns of a usual course, or of one with so many rounds. None: those of the shortest course, each with a usual
    prompt."""
    fixed: bool = False
    """Its course is fixed at the opening: it takes every turn at least once. Other protocols take at least one
    round."""
    synthetic: Mapping[str, Any] | None = None
    """Settings of the question by which `parley metrics` sees that questions are answered: one call. None: another
    protocol is asked."""
    shows_refused: bool = False
    """Whether a seat is shown its refused reply, with the error."""
    readers: tuple[str, ...] = ()
    """Roles whose seats all hold every document that was dealt to nobody, also seats invited later. None: the seats of
    the first role take them in turn."""
    standing: str = ""
    """The id of its one session (parley.coordinator.protocols.STANDING). Moderators open it when something is first
    sent to it. It has no turns, windows or children, and is never cancelled. Empty: it is no standing protocol."""
    reads: tuple[str, ...] = ()
    """Standing sessions whose outcome enters the opening (`log.Opened.known`)."""
    beneath: Callable[[OpenSession, Any], OpenSession | None] = lambda request, settings: None
    """The session that one of its sessions may start, as far as the opening tells. A child that would be refused is
    then refused at the opening. None: there is none."""
    beneath_count: Callable[[Any], tuple[int, int]] = lambda settings: (0, 0)
    """How many of them it starts with these settings, as it usually goes and at most: estimates count them."""
    beneath_by: tuple[str, str] = ("", "")
    """The setting that asks for it, and the one that holds its settings."""
    experts: bool = False
    """Whether the announced experts enter the opening (`log.Opened.experts`)."""
    ends_round: Callable[[log.Say], str] = lambda post: ""
    """What the post that ends a round says of the round, in words (`score 72`); empty: the post ends none."""
    notes: Callable[[log.Entry], Iterable[LogLine]] = lambda entry: ()
    """Lines of a transition for the log of the moderator that took it."""
    counted: SessionCounts = SessionCounts()
    """What is counted of its sessions (parley.coordinator.outcomes), beside what is counted of every session."""
    awaited: Callable[[Session, str], Awaited] = lambda session, window: NOBODY
    """Whom an open window still waits for."""
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Kind of post -> kinds of earlier posts that it answers. These become links of its span, if turns show posts in
    their briefs."""
    trusts: str = ""
    """The role whose seats are weighed by their records (`log.Opened.learned`); empty: no record weighs, and none
    enters."""
    needs_model: tuple[str, ...] = ()
    """Roles that a language model plays or nobody: the extractive model has no method for their turns
    (parley.agents.turn_kinds.kit.Kit.extractive), and a session that would be given to it is refused."""
    may_close: Callable[[Any, View], bool] | None = None
    """Whether the step that is waited for could go on without the turns that are open: enough have answered. Seats that
    fail are then given a grace (parley.coordinator.signals.grace). None: it never could."""
    grace: Grace = DEFAULT_GRACE
    spares: tuple[str, ...] = ()
    """Roles that it goes on without: a turn of theirs is missed as soon as nobody serves its queue. Other turns wait
    for a worker until their deadline."""
    look_ups: Callable[[Any, str], int] = lambda settings, kind: 0
    """How many results of tools a reply of this kind may bring, which become documents of the session."""
    opens_without: tuple[str, ...] = ()
    """Roles that nobody needs to serve when a session opens."""
    joining: Callable[[log.Opened, Any, str, tuple[Announcement, ...]], Seat] | None = None
    """The seat of a member that a person adds to an open session (`add NAME`). Raises Inadmissible. None: who sits is
    fixed at the opening, but for whom the protocol itself invites."""
    chosen: Callable[[log.Opened], tuple[Any, ...]] = lambda opened: ()
    """Who sits, and why, where more could have sat."""

    def steps(self, version: int) -> bool:
        """Whether it steps sessions of this version."""
        return (self.version if self.oldest is None else self.oldest) <= version <= self.version

    def refused(self, reply: bytes) -> str | msgspec.UnsetType:
        """What a seat is shown of its refused reply; unset: there was none, or none is shown."""
        if not self.shows_refused or reply == b"null":
            return msgspec.UNSET
        return reply.decode(errors="replace")[:_REFUSED_CHARS]

    def unheard(self, session: Session) -> frozenset[str]:
        """Queues whose words its open windows still wait for."""
        return frozenset().union(*(part for name in session.windows for part in self.awaited(session, name)))

    def watched(self, session: Session) -> frozenset[str]:
        """Queues of open turns, without people's, of which it counts whether anybody serves them."""
        if not session.turns or not (self.spares or session.quorum_ns):
            return frozenset()
        asked_seats = {t.ask.seat for t in session.turns.values() if not (t.ask.queue or t.failing_ns or t.aside)}
        return frozenset(
            s.queue
            for s in session.opened.seats
            if s.seat in asked_seats and (session.quorum_ns or s.role in self.spares)
        )
