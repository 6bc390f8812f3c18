"""The queues that a stack serves and the processes that serve them, as its supervisor keeps them. No process is started
here: what is due is decided.

A queue lives as long as somebody holds it: a user who is connected, or a session that is open. What nobody holds for
a while ends, and comes back when it is needed.
"""

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from parley.bus import accounts
from parley.bus.errors import BadTable
from parley.stack.queues.joining import Need, QueueMember, Unit

MOST_PROCESSES = 128
"""Of agents, in one stack."""


class TooMany(ValueError):
    """The stack would have more processes than it may."""

    def __init__(self, have: int, more: int) -> None:
        super().__init__(
            f"{have} processes of agents run, {more} more are needed, and at most {MOST_PROCESSES} may run in one"
            " stack; wait until sessions end, or name another folder with --state"
        )


class Start(NamedTuple):
    """Processes that are to be started."""

    number: int
    """Of the unit."""
    unit: Unit
    names: dict[str, str]
    """Queues of it -> what its rows call them."""
    copies: int


class Queue:
    """One queue that is served."""

    def __init__(self, member: QueueMember, user: accounts.User, *, kept: bool) -> None:
        self.identity = member.identity
        self.user = user
        self.copies = 0
        """Processes that serve it; 0: somebody else does."""
        self.kept = kept
        """`parley up` has it."""
        self.held = time.monotonic()
        """When somebody last held it."""


class Queues:
    """What is served, by queue."""

    def __init__(self, idle_s: float) -> None:
        self.all: dict[str, Queue] = {}
        self._idle_s = idle_s

    def taken(self, need: Need) -> tuple[dict[str, str], list[Start]]:
        """Who serves what a user needs, by the queue as a session names it; and what is to be started for that."""
        named: dict[str, str] = {}
        starts = []
        for number, unit in enumerate(need.units):
            fresh: dict[int, dict[str, str]] = {}
            for member in unit.members:
                name = self._name(member, need)
                named[member.queue] = name
                queue = self.all.get(name)
                if queue is None or (need.kept and queue.identity != member.identity):
                    queue = self.all[name] = Queue(member, _user_of(name, member), kept=need.kept)
                queue.kept |= need.kept
                queue.held = time.monotonic()
                if queue.copies < unit.copies:
                    fresh.setdefault(queue.copies, {})[name] = member.queue
            starts += [Start(number, unit, names, unit.copies - have) for have, names in fresh.items()]
        return named, starts

    def _name(self, member: QueueMember, need: Need) -> str:
        """A default agent has the queue's plain name, and so has whatever the stack was started with, or is to keep.
        All others have a variant."""
        if member.had and self._free(member.had, member):
            return member.had
        holder = self.all.get(member.queue)
        if holder is None:
            return member.queue if need.own or not member.identity else member.variant
        uses_kept = holder.kept and not (member.identity and holder.copies)
        if need.kept or uses_kept or self._free(member.queue, member):
            return member.queue
        return member.variant

    def _free(self, name: str, member: QueueMember) -> bool:
        return name not in self.all or self.all[name].identity == member.identity

    def hold(self, queues: Iterable[str]) -> None:
        """Somebody holds these."""
        now = time.monotonic()
        for name in queues:
            if name in self.all:
                self.all[name].held = now

    def idle(self) -> frozenset[str]:
        """Queues that nobody has held for so long."""
        late = time.monotonic() - self._idle_s
        return frozenset(name for name, queue in self.all.items() if queue.held < late and queue.copies)

    def kept(self, named: Mapping[str, str], need: Need) -> tuple[str, ...]:
        """Of what a user got: the queues that have the models of `parley up`, where it names none."""
        if need.kept:
            return ()
        identity = {m.queue: m.identity for unit in need.units for m in unit.members}
        return tuple(q for q, name in named.items() if self.all[name].identity != identity[q] and self.all[name].copies)

    def drop(self, names: Iterable[str]) -> None:
        """They are served no more."""
        for name in list(names):
            self.all.pop(name, None)

    @property
    def free(self) -> tuple[str, ...]:
        """Those that somebody else serves."""
        return tuple(name for name, queue in self.all.items() if not queue.copies)


def _user_of(name: str, member: QueueMember) -> accounts.User:
    """The user that a queue's worker is. Raises ValueError where no agent has such a name."""
    from parley.agents.specs import SpecError, load

    role, pin = member.role, member.pin
    try:
        if not role:
            spec = load(member.queue)
            role, pin = spec.roles[0], spec.pin
        return accounts.table({name: role}, moderators=(), clients=(), owners=(), pins={name: pin})[1]
    except (SpecError, BadTable) as error:
        raise ValueError(str(error)) from error
