"""`parley ask`: one session from question to exit status, with a view, Ctrl-C and a stack of its own if none is
named."""

import asyncio
import contextlib
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from bus.errors import BusError
from client import estimate as estimating
from client import task_folder
from client.api import CONNECT_S, Parley, Session, connect, connected, known_protocol, request, whole_settings
from client.errors import BadInput, Interrupted, ParleyError, Unanswered, Unreachable
from client.live_feed import View, show, watch_log
from client.task_folder import NotApplied, Sent
from client.text import line
from coordinator.estimate import Estimate
from parley.cli.process import INTERRUPTED
from parley.local_stack import LocalParley, lease_of
from parley.settings import Settings, has_tools, tools_of
from parley.show.interrupts import Interrupts
from parley.show.view import choose
from parley.stack import model_servers as reaching
from parley.stack import panel_file as panel
from parley.stack.earlier_sessions import earlier_words, open_sessions
from parley.stack.lease import OWNER, Lease, Stack, default_state, read_running
from parley.stack.rows import CROWDS
from parley.stack.wait_served import unserved, when_served, with_people
from schemas import log
from schemas.result import Result
from schemas.session import SESSION_ID, OpenSession
from schemas.stops import STOPS
from schemas.wire import decode

if TYPE_CHECKING:
    pass

replace = msgspec.structs.replace
T = TypeVar("T")

_CANCEL_S = 3.0
_NAMED = 5
"""Sessions that one line names."""
_WITHDRAW_S = 5.0
"""So long an interrupted opening's fate is waited for."""


class Left(Exception):
    """The user left the session running."""

    def __init__(self, sid: str) -> None:
        self.sid = sid
        super().__init__(sid)


class Ended(Exception):
    """The user ended it. `result`: what it came to, if it closed in time. `unsure`: the session that may still run."""

    def __init__(self, why: str, result: Result | None = None, unsure: str = "") -> None:
        self.why = why
        self.result = result
        self.unsure = unsure
        super().__init__(why)


def request_of(settings: Settings, question: str, evidence: Path | None) -> OpenSession:
    """The session that the settings describe, checked. Raises BadInput."""
    found = panel.of(settings)
    protocol = found.protocol if found else settings.protocol
    known_protocol(protocol)
    given = dict(getattr(settings, protocol, {}))
    if found and protocol in CROWDS:
        crowd = CROWDS[protocol]
        given.setdefault(crowd.setting, sum(s.role == crowd.role for s in found.seats))
    opening = request(
        question,
        protocol=protocol,
        evidence=evidence,
        settings=given,
        seats=found.seats if found else (),
        budget=settings.budget.model_dump(),
        seed=settings.seed,
        turn_timeout_s=settings.turn_timeout_s,
    )
    return with_people(opening, settings.stack)


def check_settings(settings: Settings) -> None:
    """Raise BadInput where the settings' protocol does not exist, or one of its own settings cannot be right."""
    from coordinator.admission import build_settings
    from coordinator.machine import Inadmissible

    protocol = known_protocol(panel.protocol_of(settings))
    try:
        build_settings(protocol, whole_settings(protocol.name, getattr(settings, protocol.name, {})))
    except Inadmissible as error:
        raise BadInput(error.field, str(error)) from error


def stack_of(settings: Settings) -> Stack:
    """The embedded stack that the settings describe."""
    section = settings.stack
    rows = panel.rows(settings)
    humans = {}
    if section.humans:
        from parley import human_seat as sitting  # a worker of its own, which few commands need

        humans = sitting.people(section.humans, panel.roles(settings, rows))
    return Stack(
        agents=rows, humans=humans, moderators=section.moderators, ack_wait_s=section.ack_wait_s,
        log_max_age_s=settings.retention.log_days * 86_400, notify_url=settings.notify.webhook, env=tools_of(settings),
    )  # fmt: skip


@asynccontextmanager
async def front(
    settings: Settings,
    *,
    ephemeral: bool = False,
    patience_s: float = 30.0,
    tell: Callable[[str], None] | None = None,
) -> AsyncIterator[Parley]:
    """The bus that the settings name, or the embedded stack of the state directory. `tell`: as Lease takes it.

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
    async with Lease(stack_of(settings), state, tell=tell) as lease:
        async with connected(lease.url, lease.credentials(OWNER), patience_s) as client:
            yield LocalParley(client, lease)


def expected(settings: Settings, opening: OpenSession) -> Estimate | None:
    """What the session may come to on a stack that is still to start; None where one runs: its workers say so.

    Raises
    ------
    BadInput
        It could not be opened on that stack; a model cannot be made.
    """
    if settings.nats.url or read_running(settings.state or default_state()) is not None:
        return None
    return estimating.of(opening, panel.announced(panel.rows(settings), tools=has_tools(settings)))


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
    settings: Settings,
    opening: OpenSession,
    view: View,
    *,
    ephemeral: bool = False,
    continues: str = "",
    everything: bool = False,
    sent: Sent | None = None,
    apply: bool = False,
) -> Result:
    """Run one session to its end. `continues`: a finished session whose result is context. `everything`: show every
    channel, which takes an owner's credentials. `sent`: the folder that a task begins with; `apply`: what it comes to
    is written back there.

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
    from client.client import new_sid

    choice = Interrupts(view)
    try:
        async with front(settings, ephemeral=ephemeral, tell=view.note) as parley:
            _check_everything(parley, everything)
            sid = new_sid()
            if sent is not None:
                opening = await _with_folder(parley, sid, opening, sent, view)
            asked = (settings, opening, view, choice, parley, sid)
            result = await _ask(*asked, continues=continues, everything=everything)
            if sent is not None and apply:
                await _apply(parley, result, sent, view)
            return result
    except asyncio.CancelledError:
        choice.heard()
        raise Ended("nothing was opened") from None
    finally:
        choice.close()


async def _with_folder(parley: Parley, sid: str, opening: OpenSession, sent: Sent, view: View) -> OpenSession:
    """The session with the folder as its first artifact."""
    for text in sent.words():
        view.note(f"parley: {text}")
    await task_folder.send(parley.client, sid, sent)
    return replace(opening, settings={**opening.settings, "folder": sent.id})


async def _apply(parley: Parley, result: Result, sent: Sent, view: View) -> None:
    try:
        written = await task_folder.apply(parley.client, result, sent)
    except NotApplied as error:
        error.result = result
        raise
    names = ", ".join(line(path) for path in written[:_NAMED]) + (" ..." if len(written) > _NAMED else "")
    told = f"{len(written)} changed in {sent.folder}: {names}" if written else f"nothing to change in {sent.folder}"
    view.note(f"parley: {told}")


async def _ask(
    settings: Settings,
    opening: OpenSession,
    view: View,
    choice: Interrupts,
    parley: Parley,
    sid: str,
    *,
    continues: str,
    everything: bool,
) -> Result:
    if continues:
        previous = await parley.previous(continues)
        opening = replace(opening, documents=(*opening.documents, previous), continues=continues)
    lease = lease_of(parley)
    if lease is None and parley.client.owner:
        try:
            _announce(await _expected_there(parley, opening), view)
            if missing := unserved(opening, (await parley.client.workers()).workers):
                view.note(missing)
        except BadInput:
            pass  # a moderator refuses it, for the record
        except Unreachable as error:
            raise Unreachable(f"{error}; nothing was opened") from error
    late = await parley.gathered(opening.protocol)
    if late:
        view.note(f"parley: not there yet, and so no candidates: {', '.join(late)}")
    await when_served(lease, lambda: _open(parley, opening, choice, sid))
    choice.follows(can_leave=lease is None or lease.running().permanent, owns=True)
    try:
        if lease is not None and lease.began:
            await _tell_earlier(parley, sid, view, settings)
        view.runs(opening.protocol, opening.settings)
        view.located(where(settings))
        view.opened(sid, opening.protocol, opening.question, opening.continues)
        _tell_seats(parley, sid, view, settings)
        return await _follow(parley, sid, view, choice, everything=everything)
    except OSError as error:
        if not isinstance(error, TimeoutError):
            await _cancel(parley, sid, "nobody reads what it says")
        raise


async def _open(parley: Parley, opening: OpenSession, choice: Interrupts, sid: str) -> str:
    """Open it; an interrupt meanwhile takes it back. Raises Ended, and as Client.open."""
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
        raise Ended(str(failed), unsure=sid) from failed
    if failed is not None:
        raise Ended(f"nothing was opened: {failed}") from failed
    choice.follows(can_leave=False, owns=True)
    if not taking.cancelled() and await _cancel(parley, sid, "interrupted"):
        raise Ended(f"session {sid} is cancelled")
    raise _unsure(sid)


def _unsure(sid: str) -> Ended:
    return Ended(f"nobody has said what became of session {sid}: it may still run", unsure=sid)


async def _cancel(parley: Parley, sid: str, reason: str) -> bool:
    """Whether it is known to be cancelled."""
    with contextlib.suppress(ParleyError, BusError, TimeoutError):
        async with asyncio.timeout(_CANCEL_S):
            await parley.client.cancel(sid, reason)
            return True
    return False


async def _tell_earlier(parley: Parley, sid: str, view: View, settings: Settings) -> None:
    """Sessions of an earlier stack in this directory go on with this one."""
    with contextlib.suppress(ParleyError, BusError):
        text = earlier_words(await open_sessions(parley.client, sid), where(settings))
        if text:
            view.note(text)


def _tell_seats(parley: Parley, sid: str, view: View, settings: Settings) -> None:
    """How people take the seats that are for them."""
    if settings.stack.humans:
        from parley import human_seat as sitting

        lease = lease_of(parley)
        state = str(lease.state) if lease is not None else ""
        for seat in settings.stack.humans:
            view.note(f"to sit on {seat}: {sitting.how(sid, seat, settings, state=state)}")


def where(settings: Settings) -> str:
    """The options that name the same bus again, for a command that is shown."""
    bus = settings.nats
    named = {"--nats": bus.url, "--creds": bus.creds} if bus.url else {"--state": settings.state}
    return "".join(f" {name} {shlex.quote(str(value))}" for name, value in named.items() if value)


def _announce(found: Estimate, view: View) -> None:
    """Say what models that count tokens may come to."""
    if estimating.costs(found):
        for text in estimating.words(found):
            view.note(text)


async def follow(
    parley: Parley, sid: str, view: View, *, can_leave: bool, owns: bool = True, everything: bool = False
) -> Result:
    """Show a session until it is closed. `owns`: ending it cancels it. `everything`: every channel, from its log.

    Raises
    ------
    Left, Ended, UnknownSession
    BadInput
        `everything` with credentials that are no owner's.
    """
    _check_everything(parley, everything)
    if parley.client.owner:
        entries = await parley.client.log(sid)
        opened = decode(entries[0].encode(), log.Entry).event if entries else None
        if isinstance(opened, log.Opened):
            view.runs(opened.protocol, opened.settings)
    choice = Interrupts(view)
    choice.follows(can_leave=can_leave, owns=owns)
    return await _follow(parley, sid, view, choice, everything=everything)


async def _follow(parley: Parley, sid: str, view: View, choice: Interrupts, *, everything: bool) -> Result:
    session = Session(parley.client, sid)
    showing = asyncio.ensure_future(show(session, view, parley.client, everything=everything))
    watching = asyncio.ensure_future(watch_log(parley, sid, view))
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
            raise _unsure(sid)
        await asyncio.wait((showing,), timeout=_CANCEL_S)
        closed = showing.done() and showing.exception() is None
        raise Ended(f"session {sid} is cancelled", showing.result() if closed else None)
    finally:
        choice.close()
        for task in (showing, watching, choosing):
            task.cancel()
        await asyncio.gather(showing, watching, choosing, return_exceptions=True)
        view.close()


def _check_everything(parley: Parley, everything: bool) -> None:
    """Raise BadInput where every channel is wanted with credentials that are no owner's."""
    if everything and not parley.client.owner:
        raise BadInput("all", "only an owner's credentials see every channel of a session")


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
    everything: bool = False,
    folder: Path | None = None,
    apply: bool = False,
) -> tuple[int, Result | None]:
    """The whole command: (exit status, result). Checks everything that can be checked before anything is started."""
    opening = request_of(settings, question, evidence)
    if continues and ephemeral:
        raise BadInput("continue", f"--ephemeral keeps nothing, so there is no session {continues} to go on from")
    if continues and not SESSION_ID.fullmatch(continues):
        raise BadInput("continue", f"{continues!r} is no session's id")
    if apply and folder is None:
        raise BadInput("apply", "--apply writes the result into --folder, and none is named")
    sent = task_folder.read(folder) if folder is not None else None
    found = expected(settings, opening)
    if found:
        estimating.refuse(found)
    reaching.refuse(settings, ephemeral=ephemeral)
    view = choose(json=json, quiet=quiet, plain=plain)
    try:
        if found:
            _announce(found, view)
        asked = ask(
            settings, opening, view, ephemeral=ephemeral, continues=continues, everything=everything, sent=sent,
            apply=apply,
        )  # fmt: skip
        result = run(asked)
    except Left as left:
        print(f"left running; parley sessions watch {left.sid}{where(settings)}", file=sys.stderr)
        return 0, None
    except Unanswered as error:
        raise Unreachable(f"{error}; parley sessions cancel {error.sid}{where(settings)}") from error
    except Ended as ended:
        if ended.result is None or not json:
            hint = f"; parley sessions cancel {ended.unsure}{where(settings)}" if ended.unsure else ""
            raise Interrupted(f"interrupted: {ended.why}{hint}") from ended
        return INTERRUPTED, ended.result
    except NotApplied as error:
        view.note(f"parley: {error}")
        return 1, error.result
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None
    finally:
        view.close()
    return exit_code(result), result
