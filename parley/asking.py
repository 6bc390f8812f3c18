"""`parley ask`: one session from question to exit status, with a view, Ctrl-C and a stack of its own if none is
named."""

import asyncio
import contextlib
import itertools
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bus.errors import BusError
from coordinator.estimate import Estimate
from parley import estimating, panel
from parley.api import CONNECT_S, Parley, Session, connect, connected, known_protocol, request
from parley.errors import BadInput, Interrupted, ParleyError, Unanswered, Unreachable
from parley.settings import Settings
from parley.stack import OWNER, Lease, Stack, default_state
from parley.view import View, choose
from schemas.post import Post
from schemas.result import Result
from schemas.session import SESSION_ID, OpenSession
from schemas.stops import STOPS

replace = msgspec.structs.replace
T = TypeVar("T")
INTERRUPTED = 130
_LOG_S = 0.4
_WORKERS_EVERY = 3
"""Looks at the log between two at who is there."""
_HEARD_S = 2.0
"""A moderator that has listened for less may not have heard everybody."""
_CANCEL_S = 3.0
_WITHDRAW_S = 5.0
"""So long an interrupted opening's fate is waited for."""


class Left(Exception):
    """The user left the session running."""

    def __init__(self, sid: str) -> None:
        self.sid = sid
        super().__init__(sid)


class Ended(Exception):
    """The user ended it. `result`: what it came to, if it closed in time."""

    def __init__(self, why: str, result: Result | None = None) -> None:
        self.why = why
        self.result = result
        super().__init__(why)


def request_of(settings: Settings, question: str, evidence: Path | None) -> OpenSession:
    """The session that the settings describe, checked. Raises BadInput."""
    found = panel.of(settings)
    protocol = found.protocol if found else settings.protocol
    known_protocol(protocol)
    given = dict(getattr(settings, protocol, {}))
    if found and protocol == "consensus":
        given.setdefault("panel", sum(s.role == "panelist" for s in found.seats))
    return request(
        question,
        protocol=protocol,
        evidence=evidence,
        settings=given,
        seats=found.seats if found else (),
        budget=settings.budget.model_dump(),
        seed=settings.seed,
        turn_timeout_s=settings.turn_timeout_s,
    )


def stack_of(settings: Settings) -> Stack:
    """The embedded stack that the settings describe."""
    section = settings.stack
    return Stack(
        agents=panel.rows(settings), moderators=section.moderators, ack_wait_s=section.ack_wait_s,
        log_max_age_s=settings.retention.log_days * 86_400,
    )  # fmt: skip


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


def expected(settings: Settings, opening: OpenSession) -> Estimate | None:
    """What the session may come to on the embedded stack, before anything starts; None on a bus that runs elsewhere.

    Raises
    ------
    BadInput
        It could not be opened on that stack; a model cannot be made.
    """
    if settings.nats.url:
        return None
    return estimating.of(opening, panel.announced(panel.rows(settings)))


async def _expected_there(parley: Parley, opening: OpenSession) -> Estimate:
    """What it may come to with the workers that are alive. Raises BadInput, Unreachable."""
    if not parley.client.owner:
        raise BadInput("creds", "an estimate asks who is there, which takes an owner's credentials")
    return estimating.of(opening, (await parley.client.workers()).workers)


def dry_run(settings: Settings, question: str, evidence: Path | None) -> Estimate:
    """What the session may come to; nothing is started, and on a bus that runs elsewhere nothing is opened.

    Raises
    ------
    BadInput
        It could not be opened, and why.
    Unreachable
        The bus is not there.
    """
    opening = request_of(settings, question, evidence)

    async def there() -> Estimate:
        async with front(settings) as parley:
            return await _expected_there(parley, opening)

    return expected(settings, opening) or run(there())


async def ask(
    settings: Settings, opening: OpenSession, view: View, *, ephemeral: bool = False, continues: str = ""
) -> Result:
    """Run one session to its end. `continues`: a finished session whose result is context.

    Raises
    ------
    Left
        The user left it running.
    Ended
        The user ended it: it was cancelled, or what became of it is said.
    OSError
        Nobody reads what is shown: it was cancelled.
    ParleyError
        It could not be opened, or its result could not be had.
    """
    choice = _Interrupts(view)
    try:
        return await _ask(settings, opening, view, choice, ephemeral=ephemeral, continues=continues)
    except asyncio.CancelledError:
        choice.heard()
        raise Ended("nothing was opened") from None
    finally:
        choice.close()


async def _ask(
    settings: Settings, opening: OpenSession, view: View, choice: "_Interrupts", *, ephemeral: bool, continues: str
) -> Result:
    async with front(settings, ephemeral=ephemeral) as parley:
        if continues:
            previous = await parley.previous(continues)
            opening = replace(opening, documents=(*opening.documents, previous), continues=continues)
        if parley.lease is None and parley.client.owner:
            with contextlib.suppress(BadInput):  # a moderator refuses it, for the record
                _announce(await _expected_there(parley, opening), view)
        sid = await _open(parley, opening, choice)
        choice.follows(can_leave=parley.lease is None or parley.lease.running().permanent, owns=True)
        try:
            if parley.lease is not None and parley.lease.began:
                await _tell_earlier(parley, sid, view)
            view.opened(sid, opening.protocol, opening.question, opening.continues)
            return await _follow(parley, sid, view, choice)
        except OSError as error:
            if not isinstance(error, TimeoutError):
                await _cancel(parley, sid, "nobody reads what it says")
            raise


async def _open(parley: Parley, opening: OpenSession, choice: "_Interrupts") -> str:
    """Open it; an interrupt meanwhile takes it back. Raises Ended, and as Client.open."""
    from parley.client import new_sid

    sid = new_sid()
    taking = asyncio.ensure_future(parley.client.open(opening, sid))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        choice.heard()
    with contextlib.suppress(asyncio.CancelledError):  # interrupted again: waited for no longer
        await asyncio.wait((taking,), timeout=_WITHDRAW_S)
    choice.heard()
    if not taking.done():
        taking.cancel()
        await asyncio.wait((taking,))
    failed = None if taking.cancelled() else taking.exception()
    if isinstance(failed, Unanswered):
        raise Ended(str(failed)) from failed
    if failed is not None:
        raise Ended(f"nothing was opened: {failed}") from failed
    if not taking.cancelled() and await _cancel(parley, sid, "interrupted"):
        raise Ended(f"session {sid} is cancelled")
    raise Ended(f"nobody has said what became of session {sid}; it may still run")


async def _cancel(parley: Parley, sid: str, reason: str) -> bool:
    """Whether it is known to be cancelled."""
    with contextlib.suppress(ParleyError, BusError, TimeoutError):
        async with asyncio.timeout(_CANCEL_S):
            await parley.client.cancel(sid, reason)
            return True
    return False


async def _tell_earlier(parley: Parley, sid: str, view: View) -> None:
    """Sessions of an earlier stack in this directory go on with this one."""
    with contextlib.suppress(ParleyError, BusError):
        text = earlier_words([r.session for r in await parley.client.sessions(200) if r.is_open and r.session != sid])
        if text:
            view.note(text)


def earlier_words(sids: Sequence[str]) -> str:
    """One line on sessions that go on; empty for none."""
    if not sids:
        return ""
    which = f"{len(sids)} earlier sessions go on" if len(sids) > 1 else "1 earlier session goes on"
    return f"{which}: {', '.join(sids)}; parley sessions cancel {sids[0]}"


def where(settings: Settings) -> str:
    """The options that name the same bus again, for a command that is shown."""
    named = {"--nats": settings.nats.url, "--creds": settings.nats.creds} if settings.nats.url else {}
    return "".join(f" {name} {shlex.quote(str(value))}" for name, value in (named or {"--state": settings.state}).items() if value)


def _announce(found: Estimate, view: View) -> None:
    """Say what models that count tokens may come to."""
    if estimating.costs(found):
        for text in estimating.words(found):
            view.note(text)


async def watch(parley: Parley, sid: str, view: View) -> Result:
    """Show a session that somebody else opened until it is closed. Raises Ended, UnknownSession."""
    choice = _Interrupts(view)
    choice.follows(can_leave=True, owns=False)
    return await _follow(parley, sid, view, choice)


async def _follow(parley: Parley, sid: str, view: View, choice: "_Interrupts") -> Result:
    session = Session(parley.client, sid)
    showing = asyncio.ensure_future(_show(session, view))
    watching = asyncio.ensure_future(_watch_log(parley, sid, view))
    choosing = asyncio.ensure_future(choice.wait())
    try:
        await asyncio.wait((showing, choosing), return_when=asyncio.FIRST_COMPLETED)
        if showing.done():
            result = showing.result()
            view.result(result)
            return result
        if choosing.result() == "leave":
            raise Left(sid)
        if not choice.owns:
            raise Ended(f"session {sid} goes on")
        view.note("cancelling the session")
        if not await _cancel(parley, sid, "interrupted"):
            raise Ended(f"nobody has said what became of session {sid}; it may still run")
        await asyncio.wait((showing,), timeout=_CANCEL_S)
        closed = showing.done() and showing.exception() is None
        raise Ended(f"session {sid} is cancelled", showing.result() if closed else None)
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
    if not view.wants_log or not parley.client.owner:
        return
    read = 0
    with contextlib.suppress(ParleyError, BusError):
        for look in itertools.count():
            entries = await parley.client.log(sid, read)
            for entry in entries:
                view.entry(entry)
            read += len(entries)
            if look % _WORKERS_EVERY == 0:
                there = await parley.client.workers()
                if there.listening_s > _HEARD_S:
                    view.workers(frozenset(w.queue for w in there.workers))
            await asyncio.sleep(_LOG_S)


class _Interrupts:
    """Ctrl-C: before a session is there it cancels the running task; then once it asks what is to become of the
    session, twice it ends it. SIGTERM, and the terminal's end, end it."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._can_leave = False
        self.owns = True
        """Whether ending cancels the session."""
        self._following = False
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[str] = self._loop.create_future()
        self._asking = False
        self._reading = False
        self._old = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if self._old[number] != signal.SIG_IGN:
                self._loop.add_signal_handler(number, self._on_interrupt if number == signal.SIGINT else self._end)

    def follows(self, *, can_leave: bool, owns: bool) -> None:
        """From now on there is a session to choose for."""
        self._following, self._can_leave, self.owns = True, can_leave, owns

    def heard(self) -> None:
        """The cancellation of the task was ours, and is dealt with."""
        while self._task is not None and self._task.cancelling():
            self._task.uncancel()

    async def wait(self) -> str:
        """`leave` or `end`, once the user says so."""
        return await self._answer

    def close(self) -> None:
        """Signals and keys do again what they did."""
        self._stop_reading()
        for number, old in self._old.items():
            if self._loop.remove_signal_handler(number):
                signal.signal(number, old)

    def _end(self) -> None:
        if not self._following:
            assert self._task is not None, "made inside one"
            self._task.cancel()
        elif not self._answer.done():
            self._answer.set_result("end")

    def _on_interrupt(self) -> None:
        if self._asking or not self.owns or not self._following:
            self._end()
            return
        self._asking = True
        interactive = sys.stdin.isatty() and sys.stderr.isatty()
        leave = ", l leaves it running" if self._can_leave and interactive else ""
        keys = f"c cancels it{leave}, Enter goes on, " if interactive else ""
        if interactive:
            self._view.pause()
        with contextlib.suppress(OSError):
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
    settings: Settings,
    question: str,
    evidence: Path | None,
    *,
    json: bool,
    quiet: bool,
    plain: bool,
    ephemeral: bool,
    continues: str = "",
) -> tuple[int, Result | None]:
    """The whole command: (exit status, result). Checks everything that can be checked before anything is started."""
    opening = request_of(settings, question, evidence)
    if continues and ephemeral:
        raise BadInput("continue", f"--ephemeral keeps nothing, so there is no session {continues} to go on from")
    if continues and not SESSION_ID.fullmatch(continues):
        raise BadInput("continue", f"{continues!r} is no session's id")
    found = expected(settings, opening)
    if found:
        estimating.refuse(found)
    view = choose(json=json, quiet=quiet, plain=plain)
    try:
        if found:
            _announce(found, view)
        result = run(ask(settings, opening, view, ephemeral=ephemeral, continues=continues))
    except Left as left:
        print(f"left running; parley sessions watch {left.sid}{where(settings)}", file=sys.stderr)
        return 0, None
    except Unanswered as error:
        raise Unreachable(f"{error}; parley sessions cancel {error.sid}{where(settings)}") from error
    except Ended as ended:
        if ended.result is None or not json:
            raise Interrupted(ended.why + cancel_hint) from ended
        return INTERRUPTED, ended.result
    except KeyboardInterrupt:
        raise Interrupted("") from None
    finally:
        view.close()
    return exit_code(result), result
