"""The embedded stack as its users see it: started by the first of them, shared, and ended with the last one.

A state directory holds one stack at most. Its supervisor (parley.stack.supervisor) is a process of its own, to which
each user is connected (parley.stack.queues.joining). It ends with its last user. If it dies, its services and
nats-server go with it, and the next user, or one still there, starts another; the sessions lie on disk and go on.

| file | what |
|---|---|
| `stack.lock` | exclusive by the supervisor |
| `stack.sock` | where it hears its users (mode 600) |
| `stack.json` | url, credentials files, process ids (mode 600), while the supervisor lives |
| `last-stack.json` | what ran here last: the bus and the moderators |
| `agents/` | what the agents of each queue are made of, without keys of the environment (mode 600) |
| `keys/` | one credentials file a user, and the moderators' key (mode 600) |
| `bus/` | nats-server's configuration, log and store |
| `logs/` | one file a service |
| `builds/` | stacks of other builds of Parley that were used while one ran here |
"""

import asyncio
import contextlib
import importlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Self

import msgspec

from parley.client.errors import StackFailed, bad_input
from parley.schemas.session import human_queue
from parley.stack import disk_watch, keys
from parley.stack.beginning import OTHER, Order, build_of, is_locked, last_words, start_supervisor
from parley.stack.queues import joining, making
from parley.stack.queues.joining import Need, Ready, Taken
from parley.stack.queues.making import Made
from parley.stack.rows import AgentRow
from parley.stack.rows import Stack as Stack  # whoever starts one finds it here
from parley.stack.usable_models import check_models, check_tools

replace = msgspec.structs.replace
_POLL_S = 0.005
_START_S = 30.0
_ENDS_S = 1.0
READY_S = 60.0
"""So long a stack may take to start on a busy machine."""
_WATCH_S = 0.2
_FAILED_S = 5.0
"""A stack that could not be started again for so long is waited for no longer."""
_GONE_S = 15.0
OWNER, METRICS = "owner", "metrics"
"""Users that every stack has."""
REMEMBERED = "last-stack.json"
AGENTS = "agents"


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
    """`parley up` keeps it."""
    ready: bool = False
    """Every service has said that it can take work."""


def default_state() -> Path:
    """$PARLEY_STATE, or `parley` in $XDG_STATE_HOME, or `~/.local/state/parley`."""
    folder = os.environ.get("PARLEY_STATE")
    if folder:
        return Path(folder)
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "parley"


def read_running(state: Path) -> Running | None:
    """The stack that runs in a state directory; None if none does, or it is not up yet."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        if is_locked(state / "stack.lock"):
            return msgspec.json.decode((state / "stack.json").read_bytes(), type=Running)
    return None


def last_run(state: Path) -> Order | None:
    """What ran in a state directory last; None if nothing ever did."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((state / REMEMBERED).read_bytes(), type=Order)
    return None


class Lease:
    """The use of a state directory's stack, started if need be: a context manager, or an async one.

    The async one also watches: a supervisor that died is replaced, at the same address and by what ran there, so that
    what is under way goes on.

    Parameters
    ----------
    stack
        Its agents have the plain names of their queues where nobody else has them; its bus and moderators are those
        of a stack that is started here.
    state
        The state directory; None: a temporary folder, removed at the end.
    wait_ready
        Wait until the agents can take work, not only until the bus is there.
    kept
        It serves everybody who names no model (`parley up`).
    looks
        It is used for its sessions alone, whichever build of Parley runs it.
    tell
        Called with a sentence on what is otherwise than was asked for, where that is no error.

    Raises
    ------
    BadInput
        The state directory cannot be used; a model cannot be made.
    StackFailed
        The stack did not come up, or cannot serve what is needed.
    """

    def __init__(
        self,
        stack: Stack,
        state: Path | None = None,
        *,
        wait_ready: bool = False,
        kept: bool = False,
        looks: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._stack = stack
        self._kept, self._looks = kept, looks
        self._tell = tell
        self.failed = ""
        """Why the stack went and does not come back, in words; empty: it is there, or may come back."""
        self.queues: Mapping[str, str] = {}
        """Of the stack's agents: queue -> the queue that serves it."""
        self._ephemeral = state is None
        self._wait_ready = wait_ready
        self._environ = {**os.environ, **stack.env}
        self._needed: dict[str, Made] = {}
        """What was needed since, by what its queues are."""
        self._connection: socket.socket | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._joining = threading.Lock()
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

    def need(self, rows: Sequence[AgentRow], people: Mapping[str, str] | None = None) -> dict[str, str]:
        """Have these agents served, each with the model that it has here; queue -> the queue that serves it, once they
        all do. Beside them stand experts who were enrolled with the stack and serve by themselves. `people`: queue ->
        role of people who may take seats.

        Raises
        ------
        BadInput
            A model cannot be made.
        StackFailed
            One cannot be served, and why.
        """
        self._check(rows)
        units = self._made(rows)
        taken = self._served(Need(units=tuple(u.unit for u in units), people=dict(people or {})), units)
        for made in _as_they_are(units, taken.queues):
            self._needed[str([(m.queue, m.identity) for m in made.unit.members])] = made
        making.keep(self.state / AGENTS, units, taken.queues)
        self._tell_kept(taken)
        return taken.queues

    def need_again(self, queues: Sequence[str], seats: Mapping[str, str]) -> tuple[str, ...]:
        """Have these queues served again, by what served them before and with what of this environment is for them;
        those that cannot be, since another model is set here. `seats`: seat -> role; those that a person might take, a
        person may take again. Raises as `need`."""
        secret = making.secret_of(self.state)
        units = {queue: making.again(self.state / AGENTS, queue, self._environ, secret) for queue in queues}
        there = tuple(unit for unit in units.values() if unit is not None)
        had = {human_queue(seat): role for seat, role in seats.items()}
        people = {queue: role for queue, role in had.items() if keys.file(self.state / "keys", queue).exists()}
        if there or people:
            self._served(Need(units=tuple(u.unit for u in there), people=people), there)
        return tuple(queue for queue, unit in units.items() if unit is None)

    def _served(self, need: Need, units: Sequence[Made]) -> Taken:
        deadline = time.monotonic() + READY_S
        while True:
            try:
                taken, connection = self._ask(need, units)
                with connection:
                    self._ready(connection)
                return taken
            except (EOFError, OSError) as error:  # a supervisor that died is replaced
                if self.failed or time.monotonic() > deadline:
                    raise StackFailed(self.failed or f"the stack in {self.state} does not answer") from error
            time.sleep(_WATCH_S)

    # -- life
    def __enter__(self) -> Self:
        self._check(self._stack.agents)
        self._make_state()
        try:
            try:
                self._join()
            except _OtherBuild as other:
                self._step_aside(str(other))
        except BaseException:
            self.close()
            raise
        return self

    def _step_aside(self, other: str) -> None:
        shared, mine = self.state, blake2b(build_of().encode(), digest_size=4).hexdigest()
        self._state = shared / "builds" / mine
        self._make_state()
        if self._tell is not None:
            self._tell(
                f"another build of Parley ({other}) runs a stack in {shared}, so this one has its own in {self.state};"
                f" its sessions are found there: --state {self.state}"
            )
        self._join()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        entering = asyncio.ensure_future(asyncio.to_thread(self.__enter__))
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
        """Leave it; the last user waits until all of it is gone. Closing twice is fine."""
        last = self._connection is None  # it did not come up
        with self._joining:
            connection, self._connection = self._connection, None
            if connection is not None:
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(_GONE_S)
                    connection.shutdown(socket.SHUT_WR)
                    while said := connection.recv(4096):
                        last = said.endswith(joining.LAST)
        if self._child is not None and last:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_GONE_S)
        if self._ephemeral and self._state is not None:
            shutil.rmtree(self._state, ignore_errors=True)

    def _make_state(self) -> None:
        if self._state is None:
            self._state = Path(tempfile.mkdtemp(prefix="parley-"))
        with bad_input("state", OSError, what=f"cannot use {self._state}"):
            self._state.mkdir(parents=True, exist_ok=True, mode=0o700)
            (self._state / "logs").mkdir(exist_ok=True, mode=0o700)
            self._state = self._state.resolve()

    def _check(self, rows: Sequence[AgentRow]) -> None:
        check_models(tuple(row for row in rows if row.copies), self._environ)
        check_tools(rows, self._environ)

    def _made(self, rows: Sequence[AgentRow]) -> tuple[Made, ...]:
        try:
            made = making.make_units(rows, self._environ, making.secret_of(self.state))
        except ValueError as error:
            raise StackFailed(str(error)) from error
        if len(made) > joining.MOST_FILES:
            raise StackFailed(f"{len(made)} kinds of processes are needed, at most {joining.MOST_FILES} may be at once")
        return made

    # -- joining
    def _join(self) -> None:
        own = _as_they_are(self._made(self._stack.agents), self.queues)
        s = self._stack
        need = Need(
            units=tuple(u.unit for u in own),
            people=s.humans,
            counting=s.counting,
            own=True,
            kept=self._kept,
            build="" if self._looks else build_of(),
        )
        while True:
            taken, self._connection = self._answered(need, own)
            self._url, self.queues = taken.url, taken.queues
            making.keep(self.state / AGENTS, own, taken.queues)
            if not self._wait_ready:
                break
            try:
                self._ready(self._connection)
                break
            except (EOFError, ConnectionError):  # it died before all was ready
                self._connection.close()
        self._tell_kept(taken)

    def _answered(self, need: Need, units: Sequence[Made]) -> tuple[Taken, socket.socket]:
        """As `_ask`, of a stack that is started if none is there."""
        deadline = time.monotonic() + _START_S
        if self._child is not None:  # it died, or is about to
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_ENDS_S)
        self._child = None
        while True:
            try:
                return self._ask(need, units)
            except (EOFError, OSError):
                if self._child is not None and self._child.poll() not in (None, 0, OTHER):
                    raise StackFailed(f"the stack did not start: {last_words(self.state)}") from None
                idle = self._child is None or self._child.poll() is not None
                if idle and not is_locked(self.state / "stack.lock"):
                    self._spawn()
            if time.monotonic() > deadline:
                raise StackFailed(
                    f"the stack in {self.state} did not start within {_START_S:g} s: {last_words(self.state)}"
                )
            time.sleep(_POLL_S)

    def _ask(self, need: Need, units: Sequence[Made]) -> tuple[Taken, socket.socket]:
        """Say what is needed; the answer, and the connection while which lasts it is held. Raises EOFError, OSError
        where nobody answers."""
        connection = joining.connect(self.state)
        if connection is None:
            raise EOFError
        try:
            with making.in_files(units) as files:
                joining.send(connection, need, files)
            taken, _ = joining.receive(connection, Taken, _START_S)
            if taken.error:
                raise StackFailed(taken.error)
            if taken.other:
                raise _OtherBuild(taken.other)
            return taken, connection
        except BaseException:
            connection.close()
            raise

    def _ready(self, connection: socket.socket) -> None:
        """Wait until all that was needed can take work. Raises StackFailed; EOFError, OSError where it died."""
        try:
            ready, _ = joining.receive(connection, Ready, READY_S)
        except TimeoutError:
            raise StackFailed(f"the stack in {self.state} was not ready within {READY_S:g} s") from None
        if ready.error:
            raise StackFailed(ready.error)

    def _tell_kept(self, taken: Taken) -> None:
        if taken.kept and self._tell is not None:
            self._tell(
                f"the stack that runs in {self.state} has other models or settings, and is used; to use yours, name"
                " them, or end it (parley up) and ask again"
            )

    def _spawn(self) -> None:
        disk_watch.check(self.state, ephemeral=self._ephemeral)
        there = last_run(self.state)
        stack = there.stack if self._url and there is not None else self._stack  # what died was perhaps another's
        self._child = start_supervisor(stack, self.state, self._environ, ephemeral=self._ephemeral)

    async def _watch(self) -> None:
        """Replace a supervisor that died."""
        since = None
        while True:
            await asyncio.sleep(_WATCH_S)
            if self._connection is not None and not joining.is_gone(self._connection):
                continue
            try:
                await asyncio.to_thread(self._rejoin)
                self.failed, since = "", None
            except (StackFailed, OSError) as error:  # it is tried again, and whoever waits is told after a while
                since = since or time.monotonic()
                if time.monotonic() - since > _FAILED_S:
                    self.failed = str(error)

    def _rejoin(self) -> None:
        """Start again what died, with all that was needed there: the same queues by the same names."""
        with self._joining:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._join()
        again = tuple(self._needed.values())
        if again:
            with contextlib.suppress(EOFError, OSError):  # it died once more
                self._ask(Need(units=tuple(m.unit for m in again)), again)[1].close()


class _OtherBuild(Exception):
    """Another build of Parley runs a stack there."""


def _as_they_are(units: Sequence[Made], queues: Mapping[str, str]) -> tuple[Made, ...]:
    """The units, each of whose queues keeps the name that it has."""
    return tuple(
        replace(u, unit=replace(u.unit, members=tuple(replace(m, had=queues.get(m.queue, "")) for m in u.unit.members)))
        for u in units
    )
