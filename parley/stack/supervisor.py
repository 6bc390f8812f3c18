"""The supervisor of an embedded stack: one process that starts all others, and starts again what dies.

It is synchronous and has no thread, because it forks (parley.stack.processes). It begins with a bus and moderators.
Agents are started when a user says over the stack's socket that it needs them (parley.stack.queues.joining), and end
when nobody does any more. It ends with its last user.

    python -m parley.stack.supervisor < order.json
"""

import contextlib
import errno
import fcntl
import gc
import importlib
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from parley.bus import accounts
from parley.bus.errors import BusError
from parley.client.errors import BadInput
from parley.schemas.expert import expert_of
from parley.schemas.session import is_variant
from parley.stack import keys
from parley.stack.beginning import OTHER, Order, moderators_of
from parley.stack.child_environment import NATS_SERVER, anonymous, matching
from parley.stack.lease import AGENTS, METRICS, OWNER, REMEMBERED, Running, Service
from parley.stack.processes import Child, Processes, say
from parley.stack.queues import joining
from parley.stack.queues.joining import Need, QueueMember, Ready, Taken, Unit, User
from parley.stack.queues.making import Making, kept, taken
from parley.stack.queues.served_queues import MOST_PROCESSES, Queues, TooMany
from parley.stack.rows import Counting
from parley.stack.server import WatchedServer, started

_TURN_S = 0.25
_FIRST_USER_S = 5.0
"""So long whoever started the stack may take to say what it needs."""
_DRAIN_S = 1.5
_LOOK = "look"
"""The process that looks which queues open sessions need."""


class Supervisor:
    """One stack in one state directory."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.state = Path(order.state)
        self._processes = Processes()
        self._queues = Queues(order.stack.idle_s)
        self._users: list[User] = []
        always = accounts.table({}, moderators=moderators_of(order.stack), owners=(OWNER,), observers=(METRICS,))
        self._table = {user.name: user for user in always}
        self._own: dict[str, accounts.Credentials] = {}
        """Of everybody in the table."""
        self._server: WatchedServer | None = None
        self._services: ModuleType | None = None
        """parley.stack.services, once it is loaded."""
        self._enrolling = self._unpublished = False
        """Somebody is to be let in; what runs could not be written, for want of room."""
        self._loads: set[str] = set()
        """Kinds of models that are to be loaded."""
        self._look_at = 0.0
        """When it may be looked again which queues open sessions need."""

    def run(self) -> int:
        """Start everything, keep it running, end it; the exit status. OTHER: another stack has the directory."""
        if not self._lock():
            return OTHER
        signal.signal(signal.SIGHUP, self._on_enrolled)
        try:
            self._listening = joining.listen(self.state)
            self._await_first()
            had = (self.state / REMEMBERED).exists()
            accounts.write_private(self.state / REMEMBERED, msgspec.json.encode(self.order))
            self._start_bus()
            self._publish()
            self._load_once()
            self._look_at = 0.0 if had else time.monotonic() + self.order.stack.idle_s
            while not self._processes.ending:
                self._turn()
            return 0
        except (BusError, BadInput, OSError, ValueError) as error:
            say(f"{type(error).__name__}: {error}" if isinstance(error, OSError) else error)
            return 1
        finally:
            self._end()

    # -- setting up
    def _lock(self) -> bool:
        """Have the directory for ourselves. Others only look at the lock for an instant, so a few tries are enough."""
        self._stack_lock = os.open(self.state / "stack.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for _ in range(50):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._stack_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (self.state / "stack.json").unlink(missing_ok=True)
                return True
            time.sleep(0.01)
        return False

    def _on_enrolled(self, *_: object) -> None:
        self._enrolling = True

    def _await_first(self) -> None:
        """Take what whoever started the stack needs, so that the bus begins with it."""
        deadline = time.monotonic() + _FIRST_USER_S
        while not (self._users or self._processes.ending) and time.monotonic() < deadline:
            watched: list[Any] = [self._listening, self._processes.wake_r]
            select.select(watched, [], [], _FIRST_USER_S)
            self._accept()

    def _start_bus(self) -> None:
        users, make = self._admitted(), _named(self.order.stack.bus) or started
        environ = matching(NATS_SERVER, os.environ)
        self._server = make(self.state, users, accounts.publics(self._credentials), environ, self._load_once)
        self._enrolling = False

    def _admitted(self) -> tuple[accounts.User, ...]:
        """Everybody whom the bus lets in: who belongs to the stack, and who was added to it."""
        folder = self.state / "keys"
        missing = [u for name, u in self._table.items() if name not in self._own]
        mine = keys.ensure(folder, [u for u in missing if not self._is_unseen(u.name)])
        self._own |= mine | accounts.mint(u for u in missing if self._is_unseen(u.name))
        added = keys.load_added_users(folder)
        self._credentials = {**self._own, **added}
        return tuple((self._table | {name: c.row for name, c in added.items()}).values())

    def _is_unseen(self, name: str) -> bool:
        """Whether nobody but the user's own process needs its key."""
        queue = self._queues.all.get(name)
        return is_variant(name) and (queue is None or bool(queue.copies))

    def _enrol(self) -> None:
        """Let in who is new: who was added (parley.bus_admin.users tells of it by SIGHUP), and who is needed."""
        assert self._server is not None
        self._enrolling = False
        try:
            self._server.reload(self._admitted(), accounts.publics(self._credentials))
        except (BusError, OSError) as error:
            say(f"nobody was enrolled: {error}")

    def _load_once(self) -> None:
        """Import what the services need, once, and describe the moderators."""
        if self._services is not None:
            return
        from parley.stack import services

        self._services = services
        stack = self.order.stack
        for name in stack.imports:
            importlib.import_module(name)
        make = services.moderator(
            token_key=self.state / "keys" / keys.TOKEN_KEY,
            ack_wait_s=stack.ack_wait_s,
            turns_per_message=stack.turns_per_message,
            log_max_age_s=stack.log_max_age_s,
            unreadable_s=stack.unreadable_s,
            checkpoint=_named(self.order.stack.checkpoint),
        )
        for name in reversed(moderators_of(stack)):
            serving = self._serving(name, partial(_moderates, name, make, self.order.own))
            self._processes.all.insert(0, Child(name, serving, own=self.order.own))
        services.load_once()
        services.kits()
        self._load_models()
        gc.collect()
        gc.freeze()

    def _load_models(self) -> None:
        loads, self._loads = self._loads, set()
        with contextlib.suppress(ImportError):
            if "openai" in loads:
                importlib.import_module("parley.agents.openai.model").load_once()
            if "extractive" in loads and self._services is not None:
                importlib.import_module("parley.agents.models.extractive")
                for kit in self._services.kits():
                    kit.methods()

    def _serving(self, name: str, made: Callable[[], Mapping[str, Any]]) -> Callable[[], int]:
        """What a forked process does: it serves these users, each over a connection of its own."""

        def serve() -> int:
            services = self._services
            assert services is not None and self._server is not None, "nothing is forked before"
            code: int = services.run(
                name,
                *[services.ServiceTask(make, self._credentials[user]) for user, make in made().items()],
                url=self._server.url,
                log_level=self.order.stack.log_level,
                log_stream=services.CappedFile(self.state / "logs" / f"{name}.jsonl"),
                lifeline=self._processes.lifeline_r,
                report=self._processes.report,
                wait_for_bus=True,
            )
            return code

        return serve

    # -- users
    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except BlockingIOError:
                return
            try:
                if not joining.is_owners(connection):
                    raise EOFError
                need, files = joining.receive(connection, Need)
            except (EOFError, OSError, msgspec.DecodeError):
                connection.close()
                continue
            self._take(User(connection), need, files)

    def _take(self, user: User, need: Need, files: list[int]) -> None:
        """Be a user's stack: name, describe and enrol whom it needs."""
        self._users.append(user)
        if need.build not in ("", self.order.build):
            user.answer = Taken(other=self.order.build)
        else:
            try:
                user.answer = self._needed(need, files)
                own = (member.queue for unit in need.units for member in unit.members)
                user.kept, user.queues, user.waits = need.kept, {q: user.answer.queues[q] for q in own}, True
            except (ValueError, OSError) as error:
                user.answer = Taken(error=str(error))
        used = {c.own for c in self._processes.all}
        for fd in files:
            if fd not in used:
                os.close(fd)

    def _needed(self, need: Need, files: Sequence[int]) -> Taken:
        queues, starts = self._queues.taken(need)
        have = sum(bool(c.queues) for c in self._processes.all)
        more = sum(start.copies for start in starts)
        if have + more > MOST_PROCESSES:
            self._queues.drop(name for start in starts for name in start.names if not self._queues.all[name].copies)
            raise TooMany(have, more)
        people = accounts.table(need.people, moderators=(), clients=(), owners=())[1:]
        wanted = {u.name: u for u in people} | {q: self._queues.all[q].user for q in queues.values()}
        self._enrolling |= not wanted.keys() <= self._table.keys()
        self._table = wanted | self._table
        if need.counting is not None and not any(c.name == METRICS for c in self._processes.all):
            counting = self._serving(METRICS, partial(self._counting, need.counting))
            self._processes.all.append(Child(METRICS, counting))
        for start in starts:
            self._start(start.unit, start.names, start.copies, files[start.number])
        if self._services is not None:
            self._load_models()
        others: dict[str, str] = {}
        if any(map(expert_of, queues)):
            others = {q: q for q in keys.load_enrolled_experts(self.state / "keys") if q not in self._queues.all}
        return Taken(queues={**others, **queues}, kept=self._queues.kept(queues, need))

    def _counting(self, counting: Counting) -> Mapping[str, Any]:
        assert self._services is not None
        return {METRICS: self._services.counting(tenant=counting.tenant, budget_usd=counting.budget_usd)}

    def _start(self, unit: Unit, names: dict[str, str], copies: int, making: int) -> None:
        """Have so many more processes serve these queues (by what they are called). One that serves one of them as
        another agent ends."""
        queues = [self._queues.all[name] for name in names]
        have = queues[0].copies
        for child in [c for c in self._processes.all if not have and not c.leaving and set(c.queues) & set(names)]:
            self._processes.retire(child)
        plain = all(name == called for name, called in names.items())
        label = unit.name if plain and len(unit.members) > 1 else next(iter(names))
        for copy in range(have + 1, have + copies + 1):
            name = f"{label}-{copy}"
            serving = self._serving(name, partial(self._agents, making, names))
            self._processes.all.append(Child(name, serving, queues=tuple(names), own=making))
        for queue in queues:
            queue.copies = have + copies
        self._loads.add(unit.loads)

    def _agents(self, making: int, names: Mapping[str, str]) -> Mapping[str, Any]:
        """In an agent's own process: its workers, by queue."""
        assert self._services is not None
        rows = taken(making).rows
        os.close(making)
        stack = self.order.stack
        made: Mapping[str, Any] = self._services.agents(
            rows, names, ack_wait_s=stack.ack_wait_s, drain_s=_DRAIN_S, checkpoint=_named(stack.checkpoint)
        )
        return made

    def _answer(self) -> None:
        """Tell users that they are taken, and that whom they need serves."""
        assert self._server is not None
        core = all(c.ready for c in self._processes.all if not c.queues and c.name != _LOOK)
        for user in list(self._users):
            if user.answer is not None:
                answer, user.answer = user.answer, None
                self._tell(user, msgspec.structs.replace(answer, url=self._server.url))
                if answer.error or answer.other:
                    self._leave(user)
                    continue
            if not (user.waits and core):
                continue
            mine = set(user.queues.values())
            serving = [c for c in self._processes.all if mine & set(c.queues) and not c.leaving]
            refused = ", ".join(c.name for c in serving if c.refused)
            if refused or all(c.ready for c in serving):
                user.waits = False
                log = self.state / "logs" / "supervisor.log"
                self._tell(user, Ready(error=f"{refused} cannot be started; {log} says why" if refused else ""))

    def _tell(self, user: User, what: Taken | Ready) -> None:
        with contextlib.suppress(OSError):
            joining.send(user.connection, what)

    def _leave(self, *gone: User) -> None:
        """Users are gone. Connections of the last ones stay open until all is gone, so that they can wait for that."""
        self._users = [user for user in self._users if user not in gone]
        for user in gone:
            self._queues.hold(user.queues.values())
            if self._users:
                user.connection.close()
            else:
                with contextlib.suppress(OSError):
                    user.connection.send(joining.LAST)
                user.connection.detach()  # the system closes it with this process
        self._processes.ending |= not self._users

    # -- running
    def _turn(self) -> None:
        assert self._server is not None
        now, processes = time.monotonic(), self._processes
        due = [c.due for c in processes.all if not (c.pid or c.refused)] + self._server.due
        wait = 0.0 if any(u.answer for u in self._users) else max(0.0, min([now + _TURN_S, *due]) - now)
        watched: list[Any] = [processes.wake_r, processes.report_r, self._listening]
        readable, _, _ = select.select([*watched, *(u.connection for u in self._users)], [], [], wait)
        told = processes.heard()
        for said in told:
            if "used" in said:
                self._used(said)
        if self._listening in readable:
            self._accept()
        gone = [u for u in self._users if u.connection in readable and joining.is_gone(u.connection)]
        if gone:
            self._leave(*gone)
        changed = bool(told or gone)
        changed |= self._server.see_to(say)
        if self._enrolling and self._server.running:
            self._enrol()
            changed = True
        changed |= processes.see_to()
        if changed or self._unpublished or any(u.answer for u in self._users):
            self._publish()
        self._answer()
        self._see_to_idle()

    def _see_to_idle(self) -> None:
        """Look which queues open sessions need, before those end that no user holds, and once at the beginning: a
        session of an earlier stack goes on."""
        for user in self._users:
            self._queues.hold(user.queues.values())
        now = time.monotonic()
        if now < self._look_at or not (self._queues.idle() or not self._look_at) or self._services is None:
            return
        if not all(c.ready for c in self._processes.all if not c.queues):
            return
        self._look_at = now + self.order.stack.idle_s
        assert self._server is not None
        owner, report = self._credentials[OWNER], self._processes.report
        look = Child(_LOOK, partial(self._services.look, self._server.url, owner, report))
        look.leaving = True
        self._processes.begin(look)

    def _used(self, said: Mapping[str, Any]) -> None:
        """A part of the queues that open sessions need, and their roles; after the last one, idle queues end."""
        for name, role in said["used"]:
            plain = not (is_variant(name) or kept(self.state / AGENTS, name).exists())
            if name not in self._queues.all and role and plain:  # who made it otherwise has to ask for it again
                unit = Unit(name=name, members=(QueueMember(queue=name, variant=name, role=role),))
                with (
                    contextlib.suppress(ValueError, OSError),
                    anonymous(msgspec.json.encode(Making(rows=()))) as making,
                ):
                    self._needed(Need(units=(unit,)), [os.dup(making)])
            self._queues.hold([name])
        if not said["last"]:
            return
        idle = self._queues.idle()
        for child in [c for c in self._processes.all if c.queues and not c.leaving and idle.issuperset(c.queues)]:
            self._processes.retire(child)
            self._queues.drop(child.queues)

    def _publish(self) -> None:
        assert self._server is not None
        children = self._processes.all
        services = {
            c.name: Service(pid=c.pid, ready=c.ready, metrics=c.metrics, starts=c.starts) for c in children if c.pid
        }
        for name, (pid, starts) in self._server.pids().items():
            services[name] = Service(pid=pid, ready=True, starts=starts)
        seen = [name for name in self._credentials if not self._is_unseen(name)]
        running = Running(
            supervisor=os.getpid(),
            url=self._server.url,
            credentials={name: str(keys.file(self.state / "keys", name)) for name in seen},
            services=services,
            queues=tuple(self._queues.all),
            free=self._queues.free,
            permanent=any(u.kept for u in self._users),
            ready=bool(children) and all(c.ready or c.refused for c in children if not c.leaving),
        )
        said = msgspec.json.format(msgspec.json.encode(running), indent=2) + b"\n"
        try:
            accounts.write_private(self.state / "stack.json", said)
            self._unpublished = False
        except OSError as error:
            self._unpublished = True
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise

    def _end(self) -> None:
        for name in ("stack.json", joining.SOCKET):
            (self.state / name).unlink(missing_ok=True)
        if hasattr(self, "_listening"):
            self._listening.close()
        self._processes.end()
        if self._server is not None:
            self._server.stop()
        if self.order.ephemeral:
            shutil.rmtree(self.state, ignore_errors=True)


def _named(path: str) -> Any:
    """What `module:attribute` names; None: nothing does."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name) if module else None


def _moderates(name: str, make: Any, own: int) -> Mapping[str, Any]:
    """In a moderator's own process: it takes what of the environment is for it."""
    os.environ.update(msgspec.json.decode(os.pread(own, os.fstat(own).st_size, 0), type=dict[str, str]))
    os.close(own)
    return {name: make}


def main() -> int:
    """Run the stack that standard input describes; the exit status. OTHER: another stack has the directory."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    os.set_inheritable(order.own, False)
    return Supervisor(order).run()


if __name__ == "__main__":
    sys.exit(main())
