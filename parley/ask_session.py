"""One session from question to exit status, with a view, Ctrl-C, and its own stack if no bus is named."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import msgspec

from parley.applying import Hints, finish
from parley.client import estimate, task_folder
from parley.client.api import Parley
from parley.client.client import new_sid
from parley.client.errors import BadInput, Interrupted, Unanswered, Unreachable
from parley.client.learned import memory
from parley.client.opened_session import leave
from parley.client.show.printing import warn
from parley.client.task_folder import SentFolder
from parley.client.view.fold import Fold
from parley.coordinator.estimate import Estimate
from parley.cost import cost_of_own_agents, expected_there
from parley.follow import EndedByUser, LeftRunning, SessionSilent, check_everything, exit_code, follow_opened
from parley.observability import caller
from parley.observability.setup import setup_tracing
from parley.planned.access import bus_options, front, run
from parley.planned.local_stack import lease_of
from parley.planned.plan import Plan
from parley.process import INTERRUPTED
from parley.run import Run
from parley.schemas.presence import Announcement
from parley.schemas.result import Result
from parley.schemas.session import ForkSession, OpenSession, human_queue
from parley.settings import Settings
from parley.show.interrupts import Interrupts
from parley.show.view import TerminalView, choose
from parley.stack.announce import overridden_words, wishes_words
from parley.stack.disk_watch import telling
from parley.stack.lease import default_state
from parley.stack.usable_models import refuse_servers

if TYPE_CHECKING:
    from parley.serving.session_page import SessionPage

replace = msgspec.structs.replace
_WITHDRAW_S = 5.0
"""So long an interrupted opening's fate is waited for."""


def run_session(opening: OpenSession, how: Run) -> tuple[int, Any]:
    """The exit status, and the result with what became of its change, as a document; None: there is none. Checks
    everything that can be checked before anything is started."""
    expected_cost = cost_of_own_agents(how, opening)
    if expected_cost:
        estimate.refuse(expected_cost)
    if not how.plan.settings.nats.url:
        run(refuse_servers(how.plan.rows))
    view = choose(json=how.json, quiet=how.quiet, plain=how.plain, verbose=how.verbose)
    view.led = how.ephemeral or how.sent is not None
    options = bus_options(how.plan.settings)
    stop_tracing = setup_tracing("parley-ask")
    try:
        if expected_cost:
            for line in estimate.seating_lines(expected_cost):
                view.note(line)
            _announce(expected_cost, view)
        with caller.root("parley ask"):
            result, more = run(ask(opening, how, view))
    except LeftRunning as left:
        warn(f"left running; parley sessions watch {left.sid}{options}")
        return 0, None
    except SessionSilent as lost:
        if how.ephemeral:
            raise Unreachable(lost.what) from lost
        raise SessionSilent(lost.sid, lost.what, options) from lost
    except Unanswered as error:
        raise Unreachable(f"{error}; parley sessions cancel {error.sid}{options}") from error
    except EndedByUser as ended:
        if ended.result is None or not how.json:
            named = f"{ended.unsure}{options}"
            hint = f"; to look for it: parley sessions watch {named}; to end it: parley sessions cancel {named}"
            hint = hint if ended.unsure else ""
            raise Interrupted(f"interrupted: {ended.why}{hint}") from ended
        return INTERRUPTED, ended.result
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None
    finally:
        view.close()
        stop_tracing()
    code = exit_code(result) or int("why" in more)
    told = {**how.choice.told(), **view.told(), **more}
    if opening.left_out:
        told["left_out"] = opening.left_out
    return code, {**msgspec.to_builtins(result), **told} if told else result


async def ask(opening: OpenSession, how: Run, view: TerminalView) -> tuple[Result, Mapping[str, Any]]:
    """Run one session to its end: (result, what became of its change, as JSON values).

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
    interrupts = Interrupts(view)
    sid, result, came = new_sid(), None, None
    try:
        async with front(how.plan, ephemeral=how.ephemeral, tell=view.note, outlasts=True) as parley:
            check_everything(parley, how.everything)
            if how.sent is not None:
                await _send(parley, sid, how, how.sent, view)
            lease = lease_of(parley)
            state = lease.state if lease is not None else None
            async with telling(state, view.note, lambda: parley.client.connection.nc.lacking):
                async with _page(how, parley) as page:
                    result = await _run(how, opening, view, interrupts, parley, sid, page)
            more: dict[str, Any] = {}
            if how.sent is not None:
                hints = Hints(bus_options(how.plan.settings), not how.ephemeral)
                more = await finish(parley, result, how.sent, how.into, view, hints)
            came = result, more
        return came
    except asyncio.CancelledError:
        interrupts.heard()
        if came is not None:  # all of it was shown: only the stack was still to be left
            return came
        if result is not None:
            raise EndedByUser(f"session {sid} is over, and its change was not written") from None
        if interrupts.following:  # interrupted again while it was being cancelled
            raise EndedByUser(f"it is not known whether session {sid} was cancelled", unsure=sid) from None
        raise EndedByUser("nothing was opened") from None
    finally:
        interrupts.close()


def _page(how: Run, parley: Parley) -> AbstractAsyncContextManager["SessionPage | None"]:
    if not how.page:
        return contextlib.nullcontext()
    from parley.serving.session_page import session_page  # takes a second to import

    return session_page(parley, how.plan)


async def _send(parley: Parley, sid: str, how: Run, sent: SentFolder, view: TerminalView) -> None:
    for text in sent.words(everything=how.verbose):
        view.note(f"parley: {text}")
    await task_folder.send(parley.client, sid, sent)


async def _run(
    how: Run,
    opening: OpenSession,
    view: TerminalView,
    interrupts: Interrupts,
    parley: Parley,
    sid: str,
    page: "SessionPage | None" = None,
) -> Result:
    """Open the session, say where it runs, and follow it."""
    await _tell_expected(parley, opening, view)
    for line in opening.left_out or ():
        view.note(f"parley: left out: {line}")
    there = await _there(parley, how.plan)
    if lease_of(parley) is not None:
        for told in filter(None, (wishes_words(how.plan.rows), overridden_words(how.plan.rows))):
            view.note(f"parley: {told}")
    if told := how.plan.setup.why_impossible(there, opening.settings, folder=how.sent is not None):
        view.note(f"parley: {told}")
    elif how.sent is not None:
        more, told = how.plan.setup.of_folder(how.sent.data, there, opening.settings)
        opening = replace(opening, settings={**opening.settings, **more})
        opening = await memory.recalled(parley.client, opening, how.sent)
        for note in filter(None, (told, memory.recalled_words(opening))):
            view.note(f"parley: {note}")
    lease = lease_of(parley)
    client = parley.client
    wanted = await (client.with_workers(how.fork) if how.fork else client.with_workers(opening))
    await _open(parley, wanted, interrupts, sid)
    interrupts.follows(can_leave=lease is None or lease.running().permanent, owns=True)
    options = bus_options(how.plan.settings)
    try:
        fold = Fold(sid, everything=how.everything)
        fold.runs(opening.protocol, opening.settings, opening.question, opening.continues)
        view.where = options
        view.begins(fold)
        view.opened()
        _tell_seats(parley, sid, view, how)
        if page is not None:
            page.shows(sid, view.note)
        result = await follow_opened(parley, fold, view, interrupts, person=how.person)
        if page is not None:
            await page.lasts()
        return result
    except OSError as error:
        if not isinstance(error, TimeoutError):
            await leave(parley.client, sid, "nobody reads what it says")
        raise


async def _tell_expected(parley: Parley, opening: OpenSession, view: TerminalView) -> None:
    """On a bus that runs elsewhere: what it may come to. Raises Unreachable."""
    if lease_of(parley) is not None or not parley.client.owner:
        return
    try:
        _announce(await expected_there(parley, opening), view)
    except BadInput:
        pass  # a moderator refuses it, for the record
    except Unreachable as error:
        raise Unreachable(f"{error}; nothing was opened") from error


async def _there(parley: Parley, plan: Plan) -> Sequence[Announcement]:
    """Whose turns it will be, as far as that may be known; nothing where people sit too: one may do what no worker
    can."""
    lease = lease_of(parley)
    if plan.settings.stack.humans or not (lease is not None or parley.client.owner):
        return ()
    if lease is not None and not (lease.running().permanent and plan.uses_kept()):
        return plan.announced
    return (await parley.client.workers()).workers


async def _open(parley: Parley, opening: OpenSession | ForkSession, interrupts: Interrupts, sid: str) -> str:
    """Open it; an interrupt meanwhile takes it back. Raises EndedByUser, and as Client.open."""
    client = parley.client
    taking = asyncio.ensure_future(
        client.fork(opening, sid) if isinstance(opening, ForkSession) else client.open(opening, sid)
    )
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        interrupts.heard()
    with contextlib.suppress(asyncio.CancelledError):  # interrupted again: waited for no longer
        await asyncio.wait((taking,), timeout=_WITHDRAW_S)
    interrupts.heard()
    if not taking.done():
        taking.cancel()
        await asyncio.wait((taking,))
    failed = None if taking.cancelled() else taking.exception()
    if isinstance(failed, Unanswered):
        raise EndedByUser(str(failed), unsure=sid) from failed
    if failed is not None:
        raise EndedByUser(f"nothing was opened: {failed}") from failed
    interrupts.follows(can_leave=False, owns=True)
    if not taking.cancelled() and await leave(parley.client, sid, "interrupted"):
        raise EndedByUser(f"session {sid} is cancelled")
    raise EndedByUser(f"it is not known whether session {sid} was opened", unsure=sid)


def _tell_seats(parley: Parley, sid: str, view: TerminalView, how: Run) -> None:
    settings, lease = how.plan.settings, lease_of(parley)
    state = str(lease.state) if lease is not None else ""
    for seat in settings.stack.humans:
        view.note(f"to sit on {seat}: {_how_to_sit(sid, seat, settings, state=state)}")


def _how_to_sit(sid: str, seat: str, settings: Settings, *, state: str = "") -> str:
    if settings.nats.url:
        return f"parley sit {sid} {seat} --nats {settings.nats.url} --creds {human_queue(seat)}.json"
    return f"parley sit {sid} {seat} --state {state or settings.state or default_state()}"


def _announce(expected_cost: Estimate, view: TerminalView) -> None:
    """Say what models that count tokens may come to."""
    if estimate.costs(expected_cost):
        for text in estimate.estimate_lines(expected_cost):
            view.note(text)
