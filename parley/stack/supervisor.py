"""The supervisor of an embedded stack: one process that starts all others, and starts again what dies.

It is synchronous and has no thread: it loads what the services need once, then forks each of them before any event loop
exists, so that they share that memory and a restart takes milliseconds. What is forked closes every descriptor that is
not meant for it, above all the pipe by which nats-server's guardian notices that this process is gone.

    python -m parley.stack.supervisor < order.json
"""

import contextlib
import errno
import fcntl
import gc
import importlib
import logging
import os
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from parley.bus import accounts
from parley.bus.errors import BusError, WrongCredentials, WrongPartitions
from parley.client.errors import BadInput
from parley.client.show.printing import warn
from parley.stack import keys
from parley.stack.child_environment import NATS_SERVER, matching, take
from parley.stack.lease import (
    METRICS,
    OTHER,
    OWNER,
    REMEMBERED,
    STOPS,
    UNSUITED,
    Order,
    Running,
    Service,
    moderators_of,
)
from parley.stack.rows import AgentRow
from parley.stack.servers import Servers, check_partitions, check_replicas

if TYPE_CHECKING:
    from parley.agents.specs import AgentSpec
    from parley.stack.services import Report

_USERS_S = 0.25
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0
_STABLE_S = 10.0
_GRACE_S = 4.0
_DRAIN_S = 1.5
_REFUSED = 77
"""Exit status of a service that would meet the same again: credentials or an allow list that are not taken."""


class _Child:
    """One service and its process."""

    def __init__(self, name: str, user: str, serve: Callable[[], int]) -> None:
        self.name = name
        self.user = user
        self.serve = serve
        self.pid = 0
        self.started = 0.0
        self.starts = 0
        self.pause = _FIRST_PAUSE_S
        self.due = 0.0
        self.ready = False
        self.metrics = ""
        self.refused = False
        """It is started no more: the bus does not take its credentials, or its allow list of tools cannot be used."""


class Supervisor:
    """One stack in one state directory."""

    def __init__(self, order: Order, on_ready: Callable[[Running], None] | None = None) -> None:
        self.order = order
        self._on_ready = on_ready
        self.state = Path(order.state)
        self._children: list[_Child] = []
        self._ending = self._enrolling = False
        self._code = 0
        self._said = b""
        self._unpublished = False
        """What runs could not be written, for want of room."""

    def run(self) -> int:
        """Start everything, keep it running, end it; the exit status. OTHER: another stack has the directory."""
        if not self._lock():
            return OTHER
        self._signals()
        try:
            check_replicas(self.state, self.order.stack.servers, self.order.stack.replicas)
            check_partitions(self.state, self.order.stack.partitions)
            self._remember()
            self._start_bus()
            self._publish()
            self._load_once()
            for child in self._children:
                self._fork(child)
            self._publish()
            while not self._ending:
                self._turn()
            if self.order.shown is not None and not self._code:
                _say("Parley ends. Sessions that are open go on when it starts again.")
            return self._code
        except (BusError, BadInput, OSError, ValueError) as error:
            _say(f"{type(error).__name__}: {error}" if isinstance(error, OSError) else error)
            return 1
        finally:
            self._end()

    # -- setting up
    def _lock(self) -> bool:
        """Have the directory for ourselves. Others only look at the lock for an instant, so a few tries are enough."""
        self._stack_lock = os.open(self.state / "stack.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._users_lock = os.open(self.state / "users.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for _ in range(50):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._stack_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (self.state / "stack.json").unlink(missing_ok=True)
                return True
            time.sleep(0.01)
        return False

    def _remember(self) -> None:
        """What runs here, for those who later only look at its sessions."""
        order = msgspec.structs.replace(self.order, own={}, served=(), shown=None)
        accounts.write_private(self.state / REMEMBERED, msgspec.json.encode(order))

    def _signals(self) -> None:
        """Wake-ups by pipe: one for signals, one by which services report, one that closes when this process dies."""
        self._wake_r, wake_w = os.pipe()
        os.set_blocking(self._wake_r, False)
        os.set_blocking(wake_w, False)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        for number in (signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, _ignore)
        signal.signal(signal.SIGHUP, self._on_enrolled)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)  # held back since `up`
        self._lifeline_r, self._lifeline_w = os.pipe()
        self._report_r, self._report_w = os.pipe()
        os.set_blocking(self._report_r, False)

    def _on_stop(self, *_: object) -> None:
        self._ending = True

    def _on_enrolled(self, *_: object) -> None:
        self._enrolling = True

    def _start_bus(self) -> None:
        stack = self.order.stack
        specs = {a.queue: _spec(a) for a in stack.agents}
        roles = {queue: spec.roles[0] for queue, spec in specs.items()} | stack.humans
        pins = {queue: spec.pin for queue, spec in specs.items()}
        self._table = accounts.table(
            roles, moderators=moderators_of(stack), clients=stack.clients, owners=(OWNER,), pins=pins,
            observers=(METRICS,),
        )  # fmt: skip
        self._own, self._token_key = keys.ensure(self.state / "keys", self._table)
        users = self._admitted()
        self._server = Servers(
            self.state, users, accounts.publics(self._credentials), matching(NATS_SERVER, os.environ), stack.servers,
            stack.reached_at,
        )  # fmt: skip
        self._server.start(self._load_once)

    def _load_once(self) -> None:
        if not self._children:
            self._load()

    def _admitted(self) -> tuple[accounts.User, ...]:
        """Everybody whom the bus lets in: who belongs to the stack, and who was enrolled."""
        enrolled = keys.enrolled(self.state / "keys")
        self._credentials = {**self._own, **enrolled}
        return tuple(({u.name: u for u in self._table} | {name: c.row for name, c in enrolled.items()}).values())

    def _enrol(self) -> None:
        """Let in who was enrolled since; `parley experts enroll` tells of it by SIGHUP."""
        self._enrolling = False
        try:
            self._server.reload(self._admitted(), accounts.publics(self._credentials))
        except (BusError, OSError) as error:
            _say(f"nobody was enrolled: {error}")

    def _load(self) -> None:
        """Import what the services need, once, and describe them."""
        from parley.agents.specs import SpecError
        from parley.stack import services

        stack = self.order.stack
        for name in stack.imports:
            importlib.import_module(name)
        checkpoint = _attribute(stack.checkpoint) if stack.checkpoint else None
        for name in moderators_of(stack):
            make = services.moderator(
                token_key=self._token_key, ack_wait_s=stack.ack_wait_s, turns_per_message=stack.turns_per_message,
                log_max_age_s=stack.log_max_age_s, unreadable_s=stack.unreadable_s, notify_url=stack.notify_url,
                partitions=stack.partitions, checkpoint=checkpoint, replicas=stack.replicas,
            )  # fmt: skip
            self._children.append(_Child(name, name, self._serve(services, name, [(name, partial(_same, make))])))
        if stack.counting is not None:
            count = services.counting(tenant=stack.counting.tenant, budget_usd=stack.counting.budget_usd)
            self._children.append(_Child(METRICS, METRICS, self._serve(services, METRICS, [(METRICS, lambda: count)])))
        if any(s.facts.get("model") == "openai" for s in self.order.served):
            importlib.import_module("parley.agents.openai.model").load_once()  # once, not in each process
        together: dict[str, list[tuple[str, Callable[[], Any]]]] = {}
        for row in stack.agents:
            try:
                spec = services.spec_of(row)
            except SpecError as error:
                raise ValueError(str(error)) from error

            def make_agent(spec: Any = spec) -> Any:
                return services.agent(
                    spec, ack_wait_s=stack.ack_wait_s, drain_s=_DRAIN_S, environ=os.environ, checkpoint=checkpoint
                )

            for copy in range(1, row.copies + 1):
                together.setdefault(f"{row.process or row.queue}-{copy}", []).append((row.queue, make_agent))
        for name, seats in together.items():
            self._children.append(_Child(name, seats[0][0], self._serve(services, name, seats)))
        services.load_once()
        kits = services.kits()
        if any(row.model in ("", "extractive") for row in stack.agents):
            with contextlib.suppress(ImportError):
                importlib.import_module("parley.agents.models.extractive")
                for kit in kits:
                    kit.methods()
        gc.collect()
        gc.freeze()

    def _serve(self, services: ModuleType, name: str, served: list[tuple[str, Callable[[], Any]]]) -> Callable[[], int]:
        """What the forked process does: it serves these users, each over a connection of its own."""

        def report(ready: "Report") -> None:
            os.write(self._report_w, msgspec.json.encode(ready) + b"\n")

        def serve() -> int:
            code: int = services.run(
                name, *[services.Part(make(), self._credentials[user]) for user, make in served],
                url=self._server.url, log_level=self.order.stack.log_level,
                log_stream=services.CappedFile(self.state / "logs" / f"{name}.jsonl"), lifeline=self._lifeline_r,
                report=report, wait_for_bus=True,
            )  # fmt: skip
            return code

        return serve

    # -- running
    def _fork(self, child: _Child) -> None:
        _say()
        child.ready = False
        child.starts += 1
        child.started = time.monotonic()
        pid = os.fork()
        if pid:
            child.pid = pid
            return
        from parley.agents.specs import NotEnrolled
        from parley.agents.tools.allow import ToolsError

        code = 70
        try:
            self._become_service(self.order.own.get(child.user))
            code = child.serve()
        except WrongPartitions as error:
            code = UNSUITED
            _say(f"the stack ends, since no moderator can serve its store: {error}")
        except (WrongCredentials, NotEnrolled, ToolsError) as error:
            code = _REFUSED
            _say(f"{child.name}: {error}; it is not started again")
        except (BusError, OSError) as error:
            _say(f"{child.name}: {error}")
        except BaseException as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            _say(f"{child.name}: {type(error).__name__}: {error} ({at.filename}:{at.lineno})")
            if logging.getLogger().handlers:  # its log has all of it
                logging.getLogger(__name__).critical("it ends by an error", exc_info=error)
        finally:
            os._exit(code)

    def _become_service(self, own: int | None) -> None:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        kept = {0, 1, 2, self._lifeline_r, self._report_w, own}
        for name in os.listdir("/dev/fd"):
            if int(name) not in kept:
                with contextlib.suppress(OSError):
                    os.close(int(name))
        if own is not None:
            take(own)
            os.close(own)

    def _turn(self) -> None:
        """Wait for something to happen, then see to everything."""
        now = time.monotonic()
        due = [c.due for c in self._children if not (c.pid or c.refused)] + self._server.due
        wait = max(0.0, min([now + _USERS_S, *due]) - now)
        readable, _, _ = select.select([self._wake_r, self._report_r], [], [], wait)
        if self._wake_r in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_r, 4096)
        changed = self._hear() if self._report_r in readable else False
        changed |= self._server.see_to(_say)
        if self._enrolling and self._server.running:
            self._enrol()
            changed = True
        changed |= self._see_to_children()
        if changed or self._unpublished:
            self._publish()
        if not self.order.permanent and self._nobody_left():
            self._ending = True

    def _hear(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            self._said += os.read(self._report_r, 65_536)
        *lines, self._said = self._said.split(b"\n")
        for line in lines:
            said = msgspec.json.decode(line)
            for child in self._children:
                if child.name == said["service"] and child.pid == said["pid"]:
                    child.ready, child.metrics = True, said["metrics"]
                    if child.starts > 1:
                        _say(f"{child.name} serves again, pid {child.pid}")
        return bool(lines)

    def _see_to_children(self) -> bool:
        changed = False
        now = time.monotonic()
        for child in self._children:
            if child.pid and (status := _reap(child.pid)) is not None:
                code = os.waitstatus_to_exitcode(status)
                if code == UNSUITED:  # it has said why
                    self._ending, self._code = True, UNSUITED if self.order.shown is None else 1
                child.refused = code == _REFUSED
                if not (child.refused or self._ending):
                    _say(f"{child.name} ended ({_how(code)}); it is started again")
                if now - child.started > _STABLE_S:
                    child.pause = _FIRST_PAUSE_S
                child.pid, child.ready, child.due = 0, False, now + child.pause
                child.pause = min(_LONGEST_PAUSE_S, 2 * child.pause)
                changed = True
            if not (child.pid or child.refused or self._ending) and now >= child.due:
                self._fork(child)
                changed = True
        return changed

    def _nobody_left(self) -> bool:
        """Whether no user is there; if so the lock stays ours, so that newcomers wait until all is gone."""
        try:
            fcntl.flock(self._users_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _publish(self) -> None:
        services = {
            c.name: Service(pid=c.pid, ready=c.ready, metrics=c.metrics, starts=c.starts)
            for c in self._children
            if c.pid
        }
        for name, (pid, starts) in self._server.pids().items():
            services[name] = Service(pid=pid, ready=True, starts=starts)
        running = Running(
            supervisor=os.getpid(),
            url=self._server.url,
            credentials={name: str(keys.file(self.state / "keys", name)) for name in self._credentials},
            services=services,
            queues=tuple(a.queue for a in self.order.stack.agents),
            free=tuple(a.queue for a in self.order.stack.agents if not a.copies),
            permanent=self.order.permanent,
            ready=bool(self._children) and all(c.ready or c.refused for c in self._children),
            served=self.order.served,
        )
        said = msgspec.json.format(msgspec.json.encode(running), indent=2) + b"\n"
        try:
            accounts.write_private(self.state / "stack.json", said)
            self._unpublished = False
        except OSError as error:
            self._unpublished = True
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            return  # it is written once there is room
        if running.ready and self._on_ready is not None:
            self._on_ready(running)
            self._on_ready = None

    # -- ending
    def _end(self) -> None:
        """Drain the services, then the bus; whatever does not go within the grace is killed."""
        self._ending = True
        with contextlib.suppress(FileNotFoundError):
            (self.state / "stack.json").unlink()
        for number in (signal.SIGTERM, signal.SIGKILL):
            self._signal_all(number)
            deadline = time.monotonic() + _GRACE_S
            while any(c.pid for c in self._children) and time.monotonic() < deadline:
                select.select([self._wake_r], [], [], 0.05)
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_r, 4096)
                for child in self._children:
                    if child.pid and _reap(child.pid) is not None:
                        child.pid = 0
        if hasattr(self, "_server"):
            self._server.stop()
        if self.order.ephemeral:
            shutil.rmtree(self.state, ignore_errors=True)

    def _signal_all(self, number: int) -> None:
        for child in self._children:
            if child.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, number)


def _same(value: Any) -> Any:
    return value


def _say(what: object = "") -> None:
    """To standard error, which may be a file on a full disk: then it is not said."""
    with contextlib.suppress(OSError):
        if what:
            warn(str(what))
        sys.stderr.flush()


def _how(code: int) -> str:
    """How a process ended."""
    return f"exit status {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def _ignore(*_: object) -> None:
    """The wake-up pipe has it."""


def _reap(pid: int) -> int | None:
    """Exit status of a child that ended; None while it runs."""
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return 0
    return status if done else None


def _spec(row: AgentRow) -> "AgentSpec":
    from parley.agents.specs import AgentSpec, SpecError, load

    if row.roles:
        return AgentSpec(queue=row.queue, roles=row.roles)
    try:
        return load(row.spec or row.queue)
    except SpecError as error:
        raise ValueError(str(error)) from error


def _attribute(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def main() -> int:
    """Run the stack that standard input describes; the exit status. OTHER: another stack has the directory."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    for fd in order.own.values():
        os.set_inheritable(fd, False)
    if order.shown is None:
        return Supervisor(order).run()
    from parley.stack.announce_stack import supervise

    return supervise(order, order.shown, lambda on_ready: Supervisor(order, on_ready).run())


if __name__ == "__main__":
    sys.exit(main())
