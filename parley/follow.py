"""Follows a session until it is closed, shows it, and leaves it running or ends it as the user decides."""

import asyncio

from parley.bus.errors import BusError, EnvironmentFault, NoModerator
from parley.client.api import Parley
from parley.client.errors import BadInput, ParleyError, Refusal, Unreachable
from parley.client.following import Following
from parley.client.opened_session import leave
from parley.client.view.fold import Fold
from parley.schemas.result import Result
from parley.schemas.stops import stop_row
from parley.show.drafts import ask_drafts
from parley.show.interrupts import Interrupts
from parley.show.view import TerminalView

_CANCEL_S = 3.0


class LeftRunning(Exception):
    """The user left the session running."""

    def __init__(self, sid: str) -> None:
        self.sid = sid
        super().__init__(sid)


class SessionSilent(Unreachable):
    """Nobody tells of a session any more, which has not ended by that."""

    def __init__(self, sid: str, why: str, options: str = "") -> None:
        self.sid = sid
        self.what = why
        super().__init__(
            f"{why}; session {sid} goes on once the servers and a moderator are there: "
            f"parley sessions watch {sid}{options}"
        )


class EndedByUser(Exception):
    """The user ended it. `result`: what it came to, if it closed in time. `unsure`: a session that may run."""

    def __init__(self, why: str, result: Result | None = None, unsure: str = "") -> None:
        self.why = why
        self.result = result
        self.unsure = unsure
        super().__init__(why)


async def follow(
    parley: Parley, sid: str, view: TerminalView, *, can_leave: bool, owns: bool = True, everything: bool = False
) -> Result:
    """Show a session until it is closed. `owns`: ending it cancels it. `everything`: every channel, from its log.

    Raises
    ------
    LeftRunning, EndedByUser, SessionSilent, UnknownSession
    BadInput
        `everything` with credentials that are no owner's.
    """
    check_everything(parley, everything)
    choice = Interrupts(view)
    choice.follows(can_leave=can_leave, owns=owns)
    return await follow_opened(parley, Fold(sid, everything=everything), view, choice)


async def follow_opened(
    parley: Parley, fold: Fold, view: TerminalView, choice: Interrupts, *, person: bool = False
) -> Result:
    """Show a session that is open until it is closed. `person`: whoever sits at the terminal is asked about its drafts.
    Raises LeftRunning, EndedByUser, SessionSilent."""
    sid = fold.sid
    view.begins(fold)
    showing = asyncio.ensure_future(_shown(parley, fold, view))
    choosing = asyncio.ensure_future(choice.wait())
    asking = [asyncio.ensure_future(ask_drafts(parley.client, sid, view))] if person else []
    try:
        await asyncio.wait((showing, choosing), return_when=asyncio.FIRST_COMPLETED)
        if not showing.done() and choosing.result() == "now":
            choosing = asyncio.ensure_future(choice.again())
            if not await answer_now(parley, sid):
                view.note("nobody has said whether the session ends now; it goes on meanwhile")
            await asyncio.wait((showing, choosing), return_when=asyncio.FIRST_COMPLETED)
        if showing.done():
            try:
                result = showing.result()
            except (EnvironmentFault, NoModerator, Unreachable) as error:
                gone = parley.client.connection.nc.hopeless()
                raise SessionSilent(sid, gone or getattr(error, "plain", str(error))) from error
            view.result(result)
            return result
        if choosing.result() == "leave":
            raise LeftRunning(sid)
        if not choice.owns:
            raise EndedByUser(f"session {sid} goes on")
        view.note("cancelling the session")
        if not await leave(parley.client, sid, "interrupted") and not showing.done():
            raise EndedByUser(f"nobody has said whether session {sid} was cancelled: it may still run", unsure=sid)
        await asyncio.wait((showing,), timeout=_CANCEL_S)
        closed = showing.done() and showing.exception() is None
        if closed and showing.result().status != "cancelled":
            view.note(f"session {sid} had ended before it could be cancelled")
            view.result(showing.result())
            return showing.result()
        raise EndedByUser(f"session {sid} is cancelled", showing.result() if closed else None)
    finally:
        choice.close()
        for task in (showing, choosing, *asking):
            task.cancel()
        await asyncio.gather(showing, choosing, *asking, return_exceptions=True)
        view.close()


async def _shown(parley: Parley, fold: Fold, view: TerminalView) -> Result:
    await Following(fold, view).to_the_end(parley.client)
    assert fold.result is not None, "a session's posts end with its closing"
    return fold.result


def check_everything(parley: Parley, everything: bool) -> None:
    """Raise BadInput where every channel is wanted with credentials that are no owner's."""
    if everything and not parley.client.owner:
        raise BadInput("all", "only an owner's credentials see every channel of a session")


async def answer_now(parley: Parley, sid: str) -> bool:
    """End a session with what it has come to by now; whether that is known to be taken, or it had ended."""
    try:
        async with asyncio.timeout(_CANCEL_S):
            await parley.client.answer_now(sid)
    except Refusal:  # it had ended
        return True
    except (ParleyError, BusError, TimeoutError):
        return False
    return True


def exit_code(result: Result) -> int:
    """The exit status that the table of stop reasons gives."""
    return stop_row(result.stop.reason).exit_status(result.stop.converged)
