"""The seats and figures of a running session as they are now, for every kind of view."""

from typing import Any

from parley.schemas import log
from parley.schemas.post import Live, Post
from parley.schemas.session import is_human
from parley.schemas.wire import Json, SchemaError, decode

WAITS = "waits for a person"
"""A seat whose turn is its person's, who is not at it yet as far as is known."""
_KEPT = 40_000
"""Characters of a text that is under way."""


class SeatState:
    """One seat as it is now."""

    def __init__(self) -> None:
        self.state = ""
        self.text = ""
        self.round = 0
        self.turn = ""
        self.answered = -1
        """The transition before which each turn that was asked is answered; what is heard of it later is late."""

    @property
    def asked(self) -> int:
        """The transition that asked its present turn; -1: none was."""
        return _asked(self.turn)

    def shown(self, served: bool = True, *, person: bool = False) -> str:
        """queued | no worker | waits for a person | thinking | retrying | answered | failed | idle"""
        waits = self.state in ("queued", "thinking", "retrying")
        if person and self.state in ("queued", "retrying"):
            return WAITS
        return "no worker" if waits and not served and not person else self.state or "idle"


class Scene:
    """The seats and figures of one session, from posts, live text, and, where the credential may read it, the log."""

    def __init__(self) -> None:
        self.seats: dict[str, SeatState] = {}
        self.round = 0
        self._turns: dict[str, log.Ask] = {}
        self._own: dict[str, str] = {}
        """Seat -> the queue that it has of its own."""
        self._queues: dict[str, str] = {}
        """Of each seat: who is asked now."""
        self._alive: frozenset[str] | None = None
        self._held: dict[str, str] = {}
        """Seat -> its answer that came and is not posted yet, since the others must not see it; untold so far."""

    def seat(self, name: str) -> SeatState:
        """The state of a seat, new if need be."""
        return self.seats.setdefault(name, SeatState())

    def workers(self, queues: frozenset[str]) -> None:
        """Note which queues a living worker serves."""
        self._alive = queues

    def shown(self, name: str) -> str:
        """A seat's state in a word. `no worker`: it waits, and nobody who is alive serves its queue."""
        queue = self._queues.get(name, name)
        return self.seat(name).shown(self._alive is None or queue in self._alive, person=is_human(queue))

    def post(self, post: Post) -> None:
        """Fold one post. A seat that was asked anew in the meantime, or with the post itself, is at its new turn."""
        self.round = max(self.round, post.round)
        seat = self.seat(post.seat) if post.seat else None
        if seat is not None and seat.asked < post.transition:
            seat.text, seat.state = "", "answered"
        if seat is not None:
            seat.answered = max(seat.answered, post.transition)

    def busy(self) -> dict[str, tuple[str, str]]:
        """Seats that are at something: state, and text so far."""
        names = sorted(
            name for name, seat in self.seats.items() if seat.state in ("queued", "thinking", "retrying", "text")
        )
        return {name: (self.shown(name), self.seats[name].text) for name in names}

    def asks(self) -> dict[str, log.Ask]:
        """The turns that the seats are at, as far as the log has been read: of another turn it says nothing, since each
        has a limit of its own."""
        return {name: self._turns[seat.turn] for name, seat in self.seats.items() if seat.turn in self._turns}

    def arrived(self) -> dict[str, str]:
        """Answers that came since this was asked last and are not posted yet: seat -> its answer, in short."""
        held, self._held = {seat: text for seat, text in self._held.items() if text}, {}
        return held

    def live(self, live: Live) -> None:
        """Fold one sign of life."""
        seat = self.seat(live.seat)
        if _asked(live.turn) < max(seat.asked, seat.answered):
            return
        if live.turn != seat.turn:
            seat.turn, seat.text = live.turn, ""
        if live.state == "text":
            seat.text = (seat.text + live.text)[-_KEPT:]
        elif live.state == "retrying":
            seat.state, seat.text = live.state, live.text
        elif live.state == "done":
            seat.state = "answered"
        elif live.state != "tool":
            seat.state = live.state

    def entry(self, entry: log.Entry) -> None:
        """Fold one log entry: who was asked, who answered, what was used."""
        if isinstance(entry.event, log.Opened):
            self._own = {s.seat: s.queue for s in entry.event.seats}
            self._queues = dict(self._own)
        if isinstance(entry.event, log.Replied):
            ask = self._turns.get(entry.event.turn)
            seat = ask.seat if ask else ""
            if seat and self.seat(seat).turn == entry.event.turn:
                self.seat(seat).state = "failed" if entry.event.error else "answered"
                self.seat(seat).text = "" if entry.event.error else answer_in(entry.event.body)
            if seat and not entry.event.error:
                self._held[seat] = answer_in(entry.event.body)
        for index, command in enumerate(entry.commands):
            if isinstance(command, log.Say | log.Ask) and self._held.pop(command.seat, ""):
                self.seat(command.seat).text = ""
            if isinstance(command, log.Invite):
                self._own[command.seat.seat] = command.seat.queue
            elif isinstance(command, log.Ask):
                turn = f"{entry.n}-{index}"
                self._turns[turn] = command
                self._queues[command.seat] = command.queue or self._own.get(command.seat, command.seat)
                self.round = max(self.round, command.round)
                seat_state = self.seat(command.seat)
                if seat_state.turn != turn and entry.n > seat_state.asked:
                    seat_state.turn, seat_state.text = turn, ""
                    seat_state.state = "retrying" if command.attempt > 1 else "queued"


def answer_in(body: Json) -> str:
    """The answer in a reply, whatever its protocol; empty: it has none."""
    try:
        found = decode(bytes(body), dict[str, Any]).get("answer")
    except SchemaError:
        return ""
    return found if isinstance(found, str) else ""


def _asked(turn: str) -> int:
    """The transition that asked a turn, as its id says; -1 where it says none."""
    n = turn.partition("-")[0]
    return int(n) if n.isdecimal() else -1
