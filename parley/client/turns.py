"""Folds from a session's log what became of its turns: which failed and why, and the flags of replies (`repaired`,
`cut`, `injection` ...).

That a reply was not taken for what it says (a belief that sums to 0.7) stands in the log as the next attempt's error.
Of the last attempt it stands nowhere, and is recomputed: the machine is stepped through the same events.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from parley.client.protocols import show_of
from parley.client.show.control import Seated, Withdrawn, seating
from parley.client.show.words import REASON
from parley.client.text import line
from parley.coordinator.budget import OVERSTATED, booked
from parley.coordinator.machine import Session, begin, step
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Cell, Missed, Protocol
from parley.schemas import log
from parley.schemas.session import Seat
from parley.schemas.text import BY_ENCODER

if TYPE_CHECKING:
    from parley.client.show.show import Show

Key = tuple[int, str]
"""(round, seat)."""


class Open(msgspec.Struct, frozen=True):
    """A turn that waits for its reply."""

    ask: log.Ask
    asked_ns: int

    def late(self) -> str:
        """The words that say that its deadline passed."""
        return f"its deadline of {(self.ask.deadline_ns - self.asked_ns) / 1e9:.3g} s passed"


class Flagged(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that was taken, and what its worker noticed."""

    transition: int
    seat: str
    kind: str
    round: int
    flags: tuple[str, ...]
    model: str = ""
    """That replied; empty: not known."""


def _odd(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Without the one that says that all is as it should be: an encoder measured."""
    return tuple(flag for flag in flags if flag != BY_ENCODER)


class SubmissionRefused(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, or an argument, that was not accepted."""

    seat: str = ""
    """Empty: its turn is not known."""
    round: int = 0
    kind: str = ""
    """What was asked, as the protocol calls it."""
    why: str
    attempt: int = 1
    last: bool = False
    """Nothing came of the turn."""
    transition: int = -1
    post: int | None = None
    """The post that says so; None: the log alone knows."""
    posted: bool = False
    """Some post says so too, with the reason."""


class Turns:
    """All turns so far."""

    def __init__(
        self, entries: Iterable[log.Entry] = (), may_see: Callable[[str], bool] = lambda channel: True, *, sid: str = ""
    ) -> None:
        """`may_see`: whether what came of turns whose reply belongs on this channel may be told. `sid`: the session's
        id, after which those that it starts are named."""
        self.nothing: list[SubmissionRefused] = []
        """Turns that came to nothing, in the order in which that was known."""
        self.flagged: list[Flagged] = []
        """Good replies in their order, those without flags too."""
        self.failures: list[SubmissionRefused] = []
        """Whatever went wrong, each attempt by itself."""
        self.asks: dict[int, tuple[log.Ask, ...]] = {}
        """Transition -> the turns that it asks for."""
        self._open: dict[str, Open] = {}
        self._may_see = may_see
        self._hidden: set[str] = set()
        self._begun: set[str] = set()
        self._seats: dict[str, Seat] = {}
        self._show: type[Show] | None = None
        self._again = _Again(sid)
        for entry in entries:
            self.take(entry)

    @property
    def why(self) -> dict[Key, str]:
        """The last reason for which a turn of a seat came to nothing in a round."""
        return {(n.round, n.seat): n.why for n in self.nothing}

    def take(self, entry: log.Entry) -> None:
        """Fold one entry."""
        event, missed = entry.event, self._again.missed(entry)
        if isinstance(event, log.Opened):
            self._seats = {s.seat: s for s in event.seats}
            self._show = show_of(event.protocol)
        self._given_back(entry)
        if isinstance(event, log.Replied | log.Begun) and event.turn in self._hidden:
            pass
        elif isinstance(event, log.Replied):
            self._replied(entry, event, missed.get(event.turn, ""))
        elif isinstance(event, log.TimerFired):
            for name, turn in [(n, t) for n, t in self._open.items() if t.ask.deadline_ns <= entry.at_ns]:
                self._failed(entry, name, turn.late(), last=_asked_again(turn.ask, entry) is None)
        elif isinstance(event, log.Forked):
            self._begun.clear()
        elif isinstance(event, log.Begun) and event.turn not in self._begun:
            self._begun.add(event.turn)
        elif isinstance(event, log.Begun) and event.turn not in missed:
            why = "handed out again: what the worker that had it before may have used is not known"
            self._failed(entry, event.turn, why, last=False)
        for name in missed:
            if name in self._open:
                self._failed(entry, name, missed[name], last=True)
        self._commands(entry)

    def _given_back(self, entry: log.Entry) -> None:
        """Turns of people who sit nowhere any more are the agents' now, and did not come to nothing."""
        told = (seating(c) for c in entry.commands if isinstance(c, log.Say))
        gone = {body.seat for body in told if isinstance(body, Seated) and not body.human}
        self._open = {n: t for n, t in self._open.items() if not (t.ask.queue and t.ask.seat in gone)}

    def _commands(self, entry: log.Entry) -> None:
        says = [c for c in entry.commands if isinstance(c, log.Say)]
        for body in map(seating, says):
            for name in body.turns if isinstance(body, Withdrawn) else ():
                self._open.pop(name, None)
        if any(c.kind == "stop" for c in says):
            self._open.clear()  # withdrawn
        asks = (c for c in entry.commands if isinstance(c, log.Ask))
        self.asks[entry.n] = tuple(a for a in asks if not a.channel or self._may_see(a.channel))
        for index, command in enumerate(entry.commands):
            if isinstance(command, log.Invite):
                self._seats[command.seat.seat] = command.seat
            elif isinstance(command, log.Ask) and command.channel and not self._may_see(command.channel):
                self._hidden.add(f"{entry.n}-{index}")
            elif isinstance(command, log.Ask):
                for name in [n for n, turn in self._open.items() if _same(turn.ask, command)]:
                    del self._open[name]  # given back by a person who left
                self._open[f"{entry.n}-{index}"] = Open(command, entry.at_ns)

    def _replied(self, entry: log.Entry, event: log.Replied, missed: str) -> None:
        turn = self._open.get(event.turn)
        again = _asked_again(turn.ask, entry) if turn else None
        error = missed or event.error or (again.error if again else "")
        if error:
            self._failed(entry, event.turn, error, last=again is None)
        elif turn is not None:
            a = self._open.pop(event.turn).ask
            seat = self._seats.get(a.seat)
            over = seat is not None and booked(seat, a.caps, event.usage, person=bool(a.queue)) != event.usage
            odd = _odd((*event.flags, *((OVERSTATED,) if over else ())))
            self.flagged.append(
                Flagged(transition=entry.n, seat=a.seat, kind=a.kind, round=a.round, flags=odd, model=event.model)
            )

    def _failed(self, entry: log.Entry, name: str, why: str, *, last: bool) -> None:
        failure = SubmissionRefused(transition=entry.n, why=why)
        turn = self._open.get(name)
        if turn is not None:
            a = turn.ask
            failure = SubmissionRefused(
                transition=entry.n, why=why, seat=a.seat, round=a.round, kind=a.kind, attempt=a.attempt, last=last,
                posted=last and a.seat in self._told(entry),
            )  # fmt: skip
            if last or not isinstance(entry.event, log.Begun):
                del self._open[name]
            if last:
                self.nothing.append(failure)
        self.failures.append(failure)

    def _told(self, entry: log.Entry) -> set[str]:
        """Seats of whose turn a post of this transition says that it came to nothing, and why."""
        says = (c for c in entry.commands if isinstance(c, log.Say))
        return {seat for say in says if (seat := self._show.tells_why(say))} if self._show is not None else set()


def _asked_again(a: log.Ask, entry: log.Entry) -> log.Ask | None:
    """The next attempt at a turn, where there is one."""
    asks = (c for c in entry.commands if isinstance(c, log.Ask) and _same(a, c))
    return next((c for c in asks if c.attempt > a.attempt or c.queue != a.queue), None)


def _same(a: log.Ask, b: log.Ask) -> bool:
    return (a.seat, a.kind, a.round) == (b.seat, b.kind, b.round)


class _Again:
    """The machine over the same events, to hear which turns it gives up; it falls silent where the record is of another
    version, or was altered."""

    def __init__(self, sid: str) -> None:
        self._sid = sid
        self._protocol: Protocol | None = None
        self._session: Session | None = None
        self._heard: dict[str, str] = {}

    def missed(self, entry: log.Entry) -> dict[str, str]:
        """Turns that came to nothing with this entry, and why."""
        self._heard.clear()
        try:
            if isinstance(entry.event, log.Opened):
                protocol = PROTOCOLS.get(entry.event.protocol)
                if protocol is None or not protocol.steps(entry.event.version):
                    return {}
                self._protocol = replace(protocol, table=self._listened(protocol))
                self._session, _ = begin(self._protocol, self._sid, entry.event, entry.at_ns)
            elif self._protocol is not None and self._session is not None:
                self._session, _ = step(self._protocol, self._session, entry.event, entry.at_ns)
        except Exception:  # an altered record may break anything
            self._session = None
        return dict(self._heard)

    def _listened(self, protocol: Protocol) -> dict[Any, dict[type, Cell]]:
        """The table, whose cells tell of what they miss."""
        return {
            phase: {event: self._cell(cell) if event is Missed else cell for event, cell in row.items()}
            for phase, row in protocol.table.items()
        }

    def _cell(self, cell: Cell) -> Cell:
        def handler(state: Any, event: Any, view: Any) -> Any:
            self._heard[event.turn] = event.why
            return cell.handler(state, event, view)

        return Cell(handler, cell.targets)


_UNPRICED = "unpriced"
_RECORDED = "recorded"
_PRICES = "LLM_USD_PER_MILLION_INPUT and LLM_USD_PER_MILLION_OUTPUT"
_HOW_IT_WAS_HAD = frozenset({"extracted", "repaired", "estimated"})
"""Flags that say nothing of the answer (docs/requests.md)."""
_IN_WORDS = {
    "extracted": "its reply was taken out of prose",
    "repaired": "its first reply could not be used",
    "estimated": "its tokens are an estimate",
    "cut": "not all that others said, or the documents hold, fitted what the model takes",
    "cut_documents": "not all that the documents hold fitted what the model takes",
    "summed_up": "its own summaries stood for what was said in earlier rounds",
    "rescaled": "its numbers came as percent",
    "reasoned": "its answer stood among its thoughts, and nothing after them",
    "quotes_dropped": "quotations that stand in no document were left out",
    "declined": "it declined, as its provider says, and counts as abstaining",
    "injection": "something that it read looks like instructions to a model",
    "overstated": "its worker reports more than the turn was allowed",
}


class FlagWords:
    """Tells flags; that no price of a model is known is said once, with what to set, and so is that replies are
    recorded."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._recorded = False

    def words(self, of: Flagged) -> Iterator[tuple[str, bool]]:
        """(text, whether one screen leaves it out) of each line."""
        flags = [flag for flag in of.flags if flag not in (_UNPRICED, _RECORDED)]
        if flags:
            told = "; ".join(_IN_WORDS.get(flag) or line(flag, REASON) for flag in flags)
            yield f"note: {told}", all(flag in _HOW_IT_WAS_HAD for flag in flags)
        if _RECORDED in of.flags and not self._recorded:
            self._recorded = True
            yield "note: replies are recorded: no model is asked for them", False
        if _UNPRICED in of.flags and of.model not in self._told:
            self._told.add(of.model)
            whose = f"the price of {line(of.model)}" if of.model else "the price of its model"
            yield f"{whose} is unknown, so its cost is not counted: set {_PRICES}", False
