"""The embedded stack as its users see it: described, started by the first user, shared, and ended with the last one.

A state directory holds one stack at most. Its supervisor (parley.stack.supervisor) is a process of its own; those who
use it hold a shared lock on `users.lock`, which the kernel takes back however they die. The supervisor ends when it
can have that lock for itself. If the supervisor dies, its services and nats-server go with it, and the next user, or
one still there, starts another; the sessions lie on disk and go on.

| file | what |
|---|---|
| `users.lock` | shared by users; exclusive while a stack ends |
| `stack.lock` | exclusive by the supervisor |
| `stack.json` | url, credentials files, process ids (mode 600), while the supervisor lives |
| `last-stack.json` | what ran here last |
| `keys/` | one credentials file a user, and the moderators' key (mode 600) |
| `bus/` | nats-server's configuration, log and store |
| `cluster/` | in its place, of several servers, a folder each |
| `logs/` | one file a service |
"""

import asyncio
import contextlib
import fcntl
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import msgspec

from parley.client.errors import BadInput, StackFailed
from parley.client.text import few
from parley.stack import child_environment, disk_watch
from parley.stack.agent_identity import Served, differences, served
from parley.stack.rows import Stack as Stack  # whoever starts one finds it here
from parley.stack.rows import names_models, together

_POLL_S = 0.005
_START_S = 30.0
_WATCH_S = 0.2
_FAILED_S = 5.0
"""A stack that could not be started again for so long is waited for no longer."""
OWNER, METRICS = "owner", "metrics"
"""Users that every stack has."""
REMEMBERED = "last-stack.json"
STOPS = (signal.SIGTERM, signal.SIGINT)
"""Signals that end a stack in the foreground."""


SUPERVISOR = (sys.executable, "-P", "-m", "parley.stack.supervisor")
OTHER = 75
"""The supervisor's exit status when another has the directory."""
UNSUITED = 78
"""That of a moderator that cannot serve the store as it was set up, and of the supervisor whose stack ends by that."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What a stack in the foreground says of itself, and how."""

    protocol: str
    """Empty: every one."""
    options: str
    """That name the same bus again."""
    json: bool = False
    before: bool = False
    """A stack ran here before."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """An order that the supervisor gets on its standard input."""

    stack: Stack
    state: str
    permanent: bool = False
    """Runs until it is signalled, whoever uses it."""
    ephemeral: bool = False
    """The folder is removed at the end."""
    own: dict[str, int] = {}
    """User -> descriptor of the file with what of the environment is for it (parley.stack.child_environment)."""
    served: tuple[Served, ...] = ()
    """What the agents come out as."""
    shown: Shown | None = None
    """Said on standard output once all is ready."""


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """One process of the stack."""

    pid: int
    ready: bool = False
    metrics: str = ""
    starts: int = 1


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """stack.json."""

    supervisor: int
    url: str
    credentials: dict[str, str]
    """User -> file."""
    services: dict[str, Service]
    queues: tuple[str, ...]
    free: tuple[str, ...] = ()
    """Queues for which the stack starts no agent."""
    permanent: bool
    ready: bool = False
    """Every service has said that it can take work."""
    served: tuple[Served, ...] | None = None
    """What the agents are; None: not looked up yet."""


def default_state() -> Path:
    """$PARLEY_STATE, or `parley` in $XDG_STATE_HOME, or `~/.local/state/parley`."""
    folder = os.environ.get("PARLEY_STATE")
    if folder:
        return Path(folder)
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "parley"


def read_running(state: Path) -> Running | None:
    """The stack that runs in a state directory; None if none does, or it is not up yet."""
    if not _is_locked(state / "stack.lock"):
        return None
    try:
        running = msgspec.json.decode((state / "stack.json").read_bytes(), type=Running)
    except (OSError, msgspec.DecodeError):
        return None
    return running if _is_alive(running.supervisor) else None


def remembered(state: Path) -> Order | None:
    """What ran in a state directory last, without its environment; None if nothing ever did."""
    try:
        return msgspec.json.decode((state / REMEMBERED).read_bytes(), type=Order)
    except (OSError, msgspec.DecodeError):
        return None


class Lease:
    """The use of a state directory's stack, started if need be: a context manager, or an async one.

    The async one also watches: a supervisor that died is replaced, at the same address and by what ran there, so that
    what is under way goes on.

    Parameters
    ----------
    state
        The state directory; None: a temporary folder, removed at the end.
    wait_ready
        Wait until every service can take work, not only until the bus is there.
    any_stack
        Take what runs there as it is: for those who only look at its sessions.
    tell
        Called with a sentence on what is otherwise than `stack` says, where that is no error: whoever names no model
        uses those of a stack that runs for everybody.

    Raises
    ------
    BadInput
        The state directory cannot be used, or its running stack lacks a queue, or has other models than `stack` wants.
    StackFailed
        The stack did not come up.
    """

    def __init__(
        self,
        stack: Stack,
        state: Path | None = None,
        *,
        wait_ready: bool = False,
        any_stack: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._stack = stack
        self._any_stack = any_stack
        self._tell = tell
        self.failed = ""
        """Why the stack went and does not come back, in words; empty: it is there, or may come back."""
        self.began = False
        """Whether it was started here, in a directory where one ran before."""
        self._ephemeral = state is None
        self._wait_ready = wait_ready
        self._lock: int | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._state = state
        self._url = ""

    # -- what it gives
    @property
    def state(self) -> Path:
        """The state directory."""
        assert self._state is not None, "entered"
        return self._state

    @property
    def url(self) -> str:
        """Address of the bus."""
        return self._url

    def running(self) -> Running:
        """The stack as it is now. Raises StackFailed if it is not there."""
        running = read_running(self.state)
        if running is None:
            raise StackFailed(f"the stack in {self.state} is not running")
        return running

    def credentials(self, user: str = OWNER) -> Path:
        """A user's credentials file."""
        return Path(self.running().credentials[user])

    def pids(self) -> dict[str, int]:
        """Service -> process id; `nats`, `supervisor`, `moderator-1`, `panelist_1-1` (queue and copy)."""
        running = self.running()
        return {"supervisor": running.supervisor, **{name: s.pid for name, s in running.services.items()}}

    def kill(self, service: str, number: int = signal.SIGKILL) -> int:
        """Signal one process of the stack; its pid."""
        pid = self.pids()[service]
        os.kill(pid, number)
        return pid

    # -- life
    def __enter__(self) -> Self:
        self._check()
        return self._enter()

    def _check(self) -> None:
        if not self._any_stack:
            from parley.stack.agent_identity import check_models, check_tools

            check_models(self._stack.agents)
            check_tools(self._stack.agents, self._stack.env)

    def _enter(self) -> Self:
        self._make_state()
        try:
            self._share()
            self._ensure()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._check()
        entering = asyncio.ensure_future(asyncio.to_thread(self._enter))
        await asyncio.sleep(0)
        importlib.import_module("parley.client.client")  # what is needed next is loaded while the stack starts
        try:
            await asyncio.shield(entering)
        except asyncio.CancelledError:
            await asyncio.wait((entering,))
            await asyncio.to_thread(self.close)
            raise
        self._watcher = asyncio.create_task(self._watch(), name="stack watcher")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher
            self._watcher = None
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Leave it; the last user ends it and waits until all of it is gone. Closing twice is fine."""
        lock, self._lock = self._lock, None
        if lock is not None:
            try:
                self._leave(lock)
            finally:
                os.close(lock)
        if self._child is not None and self._child.poll() is None and not _is_locked(self.state / "stack.lock"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(5)
        if self._ephemeral and self._state is not None and lock is not None:
            shutil.rmtree(self._state, ignore_errors=True)

    def _leave(self, lock: int) -> None:
        fcntl.flock(lock, fcntl.LOCK_UN)
        if _try(lock, fcntl.LOCK_EX):
            running = read_running(self.state)
            if running is not None and not running.permanent:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(running.supervisor, signal.SIGTERM)
            elif running is None and self._child is not None and self._child.poll() is None:
                self._child.terminate()  # not up yet
            if running is None or not running.permanent:
                self._wait_gone()
        elif not _try(lock, fcntl.LOCK_SH):
            self._wait_gone()  # it is ending already

    def _wait_gone(self) -> None:
        deadline = time.monotonic() + 15
        while _is_locked(self.state / "stack.lock") and time.monotonic() < deadline:
            self._reap()
            time.sleep(_POLL_S)
        self._reap()

    def _reap(self) -> None:
        if self._child is not None:
            self._child.poll()

    def _make_state(self) -> None:
        if self._state is None:
            self._state = Path(tempfile.mkdtemp(prefix="parley-"))
        try:
            self._state.mkdir(parents=True, exist_ok=True, mode=0o700)
            (self._state / "logs").mkdir(exist_ok=True, mode=0o700)
            self._state = self._state.resolve()
        except OSError as error:
            raise BadInput("state", f"cannot use {self._state}: {error.strerror}") from error

    def _share(self) -> None:
        """Become a user; waits while a stack ends."""
        lock = os.open(self.state / "users.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._lock = lock
        deadline = time.monotonic() + _START_S
        while not _try(lock, fcntl.LOCK_SH):
            if time.monotonic() > deadline:
                raise StackFailed(f"the stack in {self.state} is stopping, and did not stop within {_START_S:g} s")
            time.sleep(_POLL_S)

    def _ensure(self, replaced: Order | None = None) -> None:
        """Start the supervisor unless one is there, and wait until its bus is up. `replaced`: what died meanwhile."""
        deadline = time.monotonic() + _START_S
        started: subprocess.Popen[bytes] | None = None
        while True:
            running = read_running(self.state)
            mine = running is not None and started is not None and started.pid == running.supervisor
            as_is = mine or self._any_stack or replaced is not None
            if (
                running is not None
                and (running.ready or not self._wait_ready)
                and (as_is or running.served is not None)
            ):
                if not as_is:
                    self._fits(running)
                self._url = running.url
                return
            if started is not None and started.poll() not in (None, 0, OTHER):
                raise StackFailed(f"the stack did not start: {self._said()}")
            if (
                running is None
                and (started is None or started.poll() is not None)
                and not _is_locked(self.state / "stack.lock")
            ):
                started = self._spawn(replaced)
            if time.monotonic() > deadline:
                raise StackFailed(f"the stack in {self.state} did not start within {_START_S:g} s: {self._said()}")
            time.sleep(_POLL_S)

    def _spawn(self, replaced: Order | None) -> subprocess.Popen[bytes]:
        disk_watch.check(self.state, ephemeral=self._ephemeral)
        order = replaced or Order(stack=self._stack, state=str(self.state), ephemeral=self._ephemeral)
        self.began = self.began or (self.state / REMEMBERED).exists()
        with complete(order) as (order, environment), (self.state / "logs" / "supervisor.log").open("ab") as log:
            child = subprocess.Popen(
                SUPERVISOR, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log, env=environment,
                pass_fds=tuple(order.own.values()), start_new_session=True,
            )  # fmt: skip
        assert child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(msgspec.json.encode(order))
            child.stdin.close()
        self._child = child
        return child

    def _said(self) -> str:
        try:
            lines = (self.state / "logs" / "supervisor.log").read_text(errors="replace").strip().splitlines()
        except OSError:
            return "it left no log"
        return lines[-1] if lines else "it said nothing"

    def _fits(self, running: Running) -> None:
        missing = [a.queue for a in self._stack.agents if a.queue not in running.queues]
        if missing:
            raise BadInput(
                "state",
                f"the stack that runs in {self.state} serves {few(running.queues)}, not {few(missing)}; "
                "end it and start one for all of them: parley up; or name another folder with --state",
            )
        unknown = [queue for queue in self._stack.humans if queue not in running.credentials]
        if unknown:
            raise BadInput(
                "human",
                f"the stack that runs in {self.state} has no credentials for {', '.join(unknown)}; "
                "wait for it to end, or start it with --human",
            )
        environment = {**os.environ, **self._stack.env}
        found_there = differences(served(self._stack.agents, environment), running.served or ())
        if not found_there:
            return
        what = f"the stack that runs in {self.state} has other models or settings"
        if running.permanent and not names_models(self._stack.agents, environment) and self._tell is not None:
            self._tell(f"{what}, and is used; to use yours, end it (parley up) and ask again")
            return
        more = f" and {len(found_there) - 1} more" if len(found_there) > 1 else ""
        why = f"{what} ({found_there[0]}{more})"
        raise BadInput("state", f"{why}; wait for it to end, or name another folder with --state")

    def _died(self) -> Order:
        """What to start in place of a supervisor that is gone: what ran there, and for everybody if it was killed."""
        order = remembered(self.state)
        if order is None:
            return Order(stack=self._stack, state=str(self.state), ephemeral=self._ephemeral)
        killed = (self.state / "stack.json").exists()  # one that ends takes it away
        env = self._stack.env
        return msgspec.structs.replace(
            order, permanent=order.permanent and killed, stack=msgspec.structs.replace(order.stack, env=env)
        )

    async def _watch(self) -> None:
        """Replace a supervisor that died, unless it would meet the same again."""
        since = None
        while True:
            await asyncio.sleep(_WATCH_S)
            self._reap()
            if _is_locked(self.state / "stack.lock"):
                continue
            if self._child is not None and self._child.returncode == UNSUITED:
                self.failed = self._said()
                return
            try:
                await asyncio.to_thread(self._ensure, self._died())
                self.failed, since = "", None
            except StackFailed as error:  # it is tried again, and whoever waits is told after a while
                since = since or time.monotonic()
                if time.monotonic() - since > _FAILED_S:
                    self.failed = str(error)


@contextlib.contextmanager
def complete(order: Order) -> Iterator[tuple[Order, dict[str, str]]]:
    """The order as the supervisor gets it, and the supervisor's environment: no key is in either. The files with what
    is for one service are open while this lasts."""
    stack = order.stack
    environ = {**os.environ, **stack.env}
    own = child_environment.of_each(stack.agents, moderators_of(stack), environ, notifies=bool(stack.notify_url))
    stack = msgspec.structs.replace(stack, agents=together(stack.agents, own))
    with child_environment.in_files(own) as files:
        whole = msgspec.structs.replace(
            order, own=files, served=served(stack.agents, environ), stack=msgspec.structs.replace(stack, env={})
        )
        yield (
            whole,
            {
                **child_environment.of_supervisor(environ),
                **child_environment.matching(child_environment.SERVICE, stack.env),
            },
        )


def moderators_of(stack: Stack) -> tuple[str, ...]:
    """The users that moderators are."""
    return tuple(f"moderator-{i}" for i in range(1, stack.moderators + 1))


def _try(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_locked(path: Path) -> bool:
    """Whether a process holds this lock exclusively."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
