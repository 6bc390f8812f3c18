"""What became of a session's turns, folded from its log: who was missing and why, whose deadline passed, and with what
flags a reply came (`repaired`, `cut`, `injection` ...)."""

from collections.abc import Callable, Iterable

import msgspec

from schemas import log

Key = tuple[int, str]
"""(round, seat)."""


class Open(msgspec.Struct, frozen=True):
    """A turn that waits for its reply."""

    ask: log.Ask
    asked_ns: int

    def late(self) -> str:
        """That its deadline passed, in words."""
        return f"its deadline of {(self.ask.deadline_ns - self.asked_ns) / 1e9:.3g} s passed"


class Turns:
    """All turns so far."""

    def __init__(
        self, entries: Iterable[log.Entry] = (), may_see: Callable[[str], bool] = lambda channel: True
    ) -> None:
        """`may_see`: whether what came of turns whose reply belongs on this channel may be told."""
        self.why: dict[Key, str] = {}
        """The last thing that went wrong for a seat in a round."""
        self.flags: dict[Key, list[tuple[str, ...]]] = {}
        """Flags of the good replies of a seat in a round, in their order."""
        self.failures: list[dict[str, object]] = []
        """What went wrong, as JSON values: transition, seat, round, why; turn, where one failed."""
        self._open: dict[str, Open] = {}
        self._may_see = may_see
        self._hidden: set[str] = set()
        for entry in entries:
            self.take(entry)

    def take(self, entry: log.Entry) -> None:
        """Fold one entry."""
        event = entry.event
        if isinstance(event, log.Replied | log.Redelivered) and event.turn in self._hidden:
            pass
        elif isinstance(event, log.Replied):
            self._replied(entry.n, event)
        elif isinstance(event, log.TimerFired):
            self._passed(entry)
        elif isinstance(event, log.Redelivered):
            turn = self._open.get(event.turn)
            why = "handed out again: what the worker that had it before may have used is unaccounted"
            self._failed(entry.n, turn, why, event.turn)
        for index, command in enumerate(entry.commands):
            if isinstance(command, log.Ask) and command.channel and not self._may_see(command.channel):
                self._hidden.add(f"{entry.n}-{index}")
            elif isinstance(command, log.Ask):
                self._open[f"{entry.n}-{index}"] = Open(command, entry.at_ns)

    def _replied(self, n: int, event: log.Replied) -> None:
        turn = self._open.pop(event.turn, None)
        if event.error:
            self._failed(n, turn, event.error, event.turn)
        elif turn is not None:
            self.flags.setdefault((turn.ask.round, turn.ask.seat), []).append(event.flags)

    def _passed(self, entry: log.Entry) -> None:
        late = [(name, turn) for name, turn in self._open.items() if turn.ask.deadline_ns <= entry.at_ns]
        for name, turn in late:
            del self._open[name]
            self._failed(entry.n, turn, turn.late(), name)

    def _failed(self, n: int, turn: Open | None, why: str, name: str) -> None:
        found: dict[str, object] = {"transition": n, "turn": name, "why": why}
        if turn is not None:
            found |= {"seat": turn.ask.seat, "round": turn.ask.round}
            self.why[turn.ask.round, turn.ask.seat] = why
        self.failures.append(found)
