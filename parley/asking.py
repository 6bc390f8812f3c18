"""`parley ask`: one session from question to exit status, with a view, Ctrl-C and a stack of its own if none is
named."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bus.errors import BusError
from parley.api import CONNECT_S, Parley, Session, connect, connected, known_protocol, request
from parley.errors import BadInput, ParleyError
from parley.settings import Settings
from parley.stack import OWNER, AgentRow, Lease, Stack, default_state, rows_of
from parley.view import View, choose
from schemas.post import Post
from schemas.result import Result
from schemas.session import OpenSession
from schemas.stops import STOPS

T = TypeVar("T")
INTERRUPTED = 130
_LOG_S = 0.4
_CANCEL_S = 3.0


class Left(Exception):
    """The user left the session running."""

    def __init__(self, sid: str) -> None:
        self.sid = sid
        super().__init__(sid)


class Ended(Exception):
    """The user ended it."""


def request_of(settings: Settings, question: str, evidence: Path | None) -> OpenSession:
    """The session that the settings describe, checked. Raises BadInput."""
    known_protocol(settings.protocol)
    return request(
        question,
        protocol=settings.protocol,
        evidence=evidence,
        settings=getattr(settings, settings.protocol, {}),
        budget=settings.budget.model_dump(),
        seed=settings.seed,
        turn_timeout_s=settings.turn_timeout_s,
    )


def stack_of(settings: Settings) -> Stack:
    """The embedded stack that the settings describe."""
    section = settings.stack
    if section.agents:
        rows = tuple(AgentRow(queue=a.queue, spec=a.spec, copies=a.copies) for a in section.agents)
    else:
        size = getattr(settings, settings.protocol, {}).get("panel", 3)
        rows = rows_of(settings.protocol, size, copies=section.copies)
    return Stack(agents=rows, moderators=section.moderators, ack_wait_s=section.ack_wait_s)


@asynccontextmanager
async def front(settings: Settings, *, ephemeral: bool = False, patience_s: float = 30.0) -> AsyncIterator[Parley]:
    """The bus that the settings name, or the embedded stack of the state directory.

    Raises
    ------
    BadInput
        A URL without credentials, or a state directory that cannot be used.
    Unreachable, StackFailed
        It is not there.
    """
    if settings.nats.url:
        if settings.nats.creds is None:
            raise BadInput("nats.creds", "a bus at --nats needs a credentials file, --creds FILE")
        async with connect(settings.nats.url, settings.nats.creds, patience_s=min(patience_s, 2 * CONNECT_S)) as parley:
            yield parley
        return
    state = None if ephemeral else settings.state or default_state()
    async with Lease(stack_of(settings), state) as lease:
        async with connected(lease.url, lease.credentials(OWNER), patience_s) as client:
            yield Parley(client, lease)


async def ask(settings: Settings, opening: OpenSession, view: View, *, ephemeral: bool = False) -> Result:
    """Run one session to its end.

    Raises
    ------
    Left
        The user left it running.
    Ended
        The user ended it: it was cancelled.
    ParleyError
        It could not be opened, or its result could not be had.
    """
    async with front(settings, ephemeral=ephemeral) as parley:
        sid = await parley.client.open(opening)
        view.opened(sid, opening.protocol, opening.question)
        remote = parley.lease is None or parley.lease.running().permanent
        return await follow(parley, sid, view, can_leave=remote)


async def follow(parley: Parley, sid: str, view: View, *, can_leave: bool, owns: bool = True) -> Result:
    """Show a session until it is closed. `owns`: ending it cancels it. Raises as `ask`."""
    session = Session(parley.client, sid)
    showing = asyncio.ensure_future(_show(session, view))
    watching = asyncio.ensure_future(_watch_log(parley, sid, view))
    choice = _Interrupts(view, can_leave=can_leave, owns=owns)
    choosing = asyncio.ensure_future(choice.wait())
    try:
        await asyncio.wait((showing, choosing), return_when=asyncio.FIRST_COMPLETED)
        if showing.done():
            result = showing.result()
            view.result(result)
            return result
        if choosing.result() == "leave":
            raise Left(sid)
        if owns:
            view.note("cancelling the session")
            with contextlib.suppress(ParleyError, BusError, TimeoutError):
                async with asyncio.timeout(_CANCEL_S):
                    await session.cancel("interrupted")
        raise Ended
    finally:
        choice.close()
        for task in (showing, watching, choosing):
            task.cancel()
        await asyncio.gather(showing, watching, choosing, return_exceptions=True)
        view.close()


async def _show(session: Session, view: View) -> Result:
    closed: Post | None = None
    async for post in session.posts(on_live=view.live):
        view.post(post)
        closed = post
    assert closed is not None, "a session's posts end with its closing"
    return msgspec.json.decode(closed.body, type=Result)


async def _watch_log(parley: Parley, sid: str, view: View) -> None:
    """Who was asked and what was used, where the credential may read the log."""
    if not view.wants_log:
        return
    read = 0
    with contextlib.suppress(ParleyError, BusError):
        while True:
            entries = await parley.client.log(sid, read)
            for entry in entries:
                view.entry(entry)
            read += len(entries)
            await asyncio.sleep(_LOG_S)


class _Interrupts:
    """Ctrl-C: once asks what is to become of the session, twice ends it. SIGTERM ends it."""

    def __init__(self, view: View, *, can_leave: bool, owns: bool) -> None:
        self._view = view
        self._can_leave = can_leave
        self._owns = owns
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[str] = self._loop.create_future()
        self._asking = False
        self._reading = False
        self._old = signal.getsignal(signal.SIGINT)
        self._loop.add_signal_handler(signal.SIGINT, self._on_interrupt)
        self._loop.add_signal_handler(signal.SIGTERM, self._end)

    async def wait(self) -> str:
        """`leave` or `end`, once the user says so."""
        return await self._answer

    def close(self) -> None:
        """Signals and keys do again what they did."""
        self._stop_reading()
        self._loop.remove_signal_handler(signal.SIGINT)
        self._loop.remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGINT, self._old)

    def _end(self) -> None:
        if not self._answer.done():
            self._answer.set_result("end")

    def _on_interrupt(self) -> None:
        if self._asking or not self._owns:
            self._end()
            return
        self._asking = True
        interactive = sys.stdin.isatty() and sys.stderr.isatty()
        leave = ", l leaves it running" if self._can_leave and interactive else ""
        keys = f"c cancels it{leave}, Enter goes on, " if interactive else ""
        if interactive:
            self._view.pause()
        print(f"\nThe session is running: {keys}Ctrl-C again cancels it and ends.", file=sys.stderr, flush=True)
        if interactive:
            self._reading = True
            self._loop.add_reader(sys.stdin.fileno(), self._on_key)

    def _on_key(self) -> None:
        said = os.read(sys.stdin.fileno(), 1024).decode(errors="replace").strip().lower()
        self._stop_reading()
        if said.startswith("c"):
            self._end()
        elif said.startswith("l") and self._can_leave:
            if not self._answer.done():
                self._answer.set_result("leave")
        else:
            self._asking = False
            self._view.resume()

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(sys.stdin.fileno())


def exit_code(result: Result) -> int:
    """As the table of stop reasons says."""
    return STOPS[result.stop.reason].exit_code


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run one command's coroutine to its end."""
    with asyncio.Runner() as runner:
        return runner.run(main)


def ask_command(
    settings: Settings, question: str, evidence: Path | None, *, json: bool, quiet: bool, plain: bool, ephemeral: bool
) -> tuple[int, Result | None]:
    """The whole command: (exit status, result). Checks everything that can be checked before anything is started."""
    opening = request_of(settings, question, evidence)
    view = choose(json=json, quiet=quiet, plain=plain)
    try:
        result = run(ask(settings, opening, view, ephemeral=ephemeral))
    except Left as left:
        print(f"left running; parley sessions watch {left.sid}", file=sys.stderr)
        return 0, None
    except (Ended, KeyboardInterrupt):
        return INTERRUPTED, None
    finally:
        view.close()
    return exit_code(result), result
