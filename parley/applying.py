"""Applies a task's change once the task has ended: writes it into the folder, or leaves it. It also names the one next
step.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from parley.bus.errors import BusError
from parley.client import task_folder
from parley.client.api import Parley
from parley.client.errors import BadInput
from parley.client.protocols import setup_of
from parley.client.records import Altered, opening, record_of, result_of
from parley.client.task_folder import AppliedAlready, Change, FolderChanged, NotApplied, SentFolder
from parley.client.text import line
from parley.coordinator.protocols import PROTOCOLS
from parley.planned.access import bus_options, on_last_stack
from parley.schemas import log
from parley.schemas.result import Result
from parley.schemas.stops import stop_row
from parley.sessions import NoSession
from parley.settings import Settings
from parley.show.view import TerminalView, choose

_NAMED = 5
"""Files that one line names."""


@dataclass(frozen=True, kw_only=True)
class Into:
    """Where a change goes that was approved; nowhere by default."""

    apply: bool = False
    """Into the folder."""
    unapproved: bool = False
    """Also one that nobody approved."""

    def __bool__(self) -> bool:
        return self.apply

    def check(self, folder: Path | None) -> None:
        """Raise BadInput where that cannot be."""
        if self and folder is None:
            raise BadInput("apply", "--apply writes the result into --folder, and no folder is named")


NOWHERE = Into()


class Put(NamedTuple):
    """What was done with a change."""

    paths: tuple[str, ...]
    """Files that were written or removed."""
    already: bool = False
    """It was there before."""

    def document(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {"paths": [], "already": True} if self.already else {"paths": list(self.paths)}


class Hints(NamedTuple):
    """What commands that are shown need to find the session again."""

    options: str = ""
    """Those that name the bus."""
    kept: bool = True
    """The session can be looked at later."""


async def put(parley: Parley, result: Result, sent: SentFolder, into: Into, view: TerminalView) -> Put:
    """Write a task's change into its folder, and say so. Raises NotApplied; so it does where no work was done."""
    diff = task_folder.told_diff(result)

    def show(change: Change) -> None:
        for text in change.words(diff):
            view.note(text if text.startswith("  ") else f"parley: {text}")

    data = await task_folder.accepted(parley.client, result, unapproved=into.unapproved)
    if data is None:
        if stop_row(result.stop.reason).exit_status(result.stop.converged):
            raise NotApplied(_no_work(result, sent))
        view.note(f"parley: {_same(sent)}")
        return Put(())
    try:
        written = tuple(task_folder.write(sent, data, show, diff))
    except AppliedAlready as error:
        view.note(f"parley: {error}")
        return Put((), already=True)
    names = ", ".join(line(path) for path in written[:_NAMED]) + (" ..." if len(written) > _NAMED else "")
    view.note(f"parley: {len(written)} changed in {sent.folder}: {names}" if written else f"parley: {_same(sent)}")
    return Put(written)


def _same(sent: SentFolder) -> str:
    return f"nothing to change in {sent.folder}"


def _no_work(result: Result, sent: SentFolder) -> str:
    proposal = "; the diff is a proposal" if task_folder.told_diff(result) else ""
    return f"nothing is written to {sent.folder}: no work was done{proposal}"


def next_step(result: Result, sent: SentFolder, into: Into, done: Put | None, hints: Hints, other: str = "") -> str:
    """The one thing to do after a task on a folder, as a command or in words.

    Parameters
    ----------
    done
        What was done with the change; None: nothing was, or it could not be.
    other
        What is to be done before the change can be written, where it could not be.
    """
    folder = sent.folder
    at = shlex.quote(str(folder))
    repository = next((p for p in (folder.resolve(), *folder.resolve().parents) if (p / ".git").exists()), None)
    if done is not None and (done.paths or done.already):
        return f"git -C {at} diff" if repository is not None else "run your own tests: the change is in the folder"
    setup = setup_of(result.protocol)
    has_change = setup.result_folder(result.outcome) not in ("", sent.id)
    if not hints.kept:
        return "ask again with --apply: of this session nothing is kept" if has_change else "ask again"
    sid, where = line(result.session), hints.options
    approved = result.stop.reason in setup.applied
    if other:
        return other
    proven = result.stop.reason != "unproven"  # nobody should be sent to put in what a check speaks against
    if has_change and proven and not (into and approved):
        return f"parley sessions apply {sid} --folder {at}{'' if approved else ' --unapproved'}{where}"
    return f"parley explain {sid}{where}"


async def finish(
    parley: Parley, result: Result, sent: SentFolder, into: Into, view: TerminalView, hints: Hints
) -> dict[str, Any]:
    """What follows a task on a folder, said and as JSON values: `put`, what was done with its change; `why` it was not
    applied though that was wanted; `next`."""
    done = None
    report: dict[str, Any] = {}
    other = ""
    if into:
        try:
            done = await put(parley, result, sent, into, view)
            report["put"] = done.document()
        except NotApplied as error:
            view.note(f"parley: {error}")
            report["why"] = str(error)
            if isinstance(error, FolderChanged):
                other = _again(result, sent, into, hints)
    report["next"] = next_step(result, sent, into, done, hints, other)
    view.next_step(report["next"])
    return report


def _again(result: Result, sent: SentFolder, into: Into, hints: Hints) -> str:
    """How a change can still be written, after the folder was not as it was sent."""
    folder = shlex.quote(str(sent.folder))
    more = f"{' --unapproved' if into.unapproved else ''}{hints.options}"
    command = f"parley sessions apply {line(result.session)} --folder {folder}{more}"
    return f"bring {folder} back to what was sent, then {command}"


def apply_session(settings: Settings, sid: str, folder: Path, into: Into, *, json: bool) -> tuple[int, dict[str, Any]]:
    """A task's change that was not applied when it ended: (exit status, as `finish` returns it). Raises BadInput: there
    is no such session, it still runs, or it had no folder; or the folder cannot be used."""
    into.check(folder)

    async def main(parley: Parley) -> dict[str, Any]:
        entries = await parley.client.log(sid)
        if not entries:
            raise NoSession(sid, settings)
        first, result = _ended(sid, entries, bus_options(settings))
        try:
            sent = task_folder.sent_as(folder, await parley.client.get(sid, str(first.settings["folder"])))
        except BusError as error:
            raise BadInput("session", f"the folder of session {sid} cannot be had: {error.plain}") from error
        view = choose(json=json, quiet=False, plain=True)
        return await finish(parley, result, sent, into, view, Hints(bus_options(settings)))

    report = on_last_stack(settings, main, NoSession(sid, settings))
    return int("why" in report), report


def _ended(sid: str, entries: Sequence[str], options: str) -> tuple[log.Opened, Result]:
    """How a session that worked on a folder began, and what it came to, as its log has it: a moderator cannot read a
    session that another version of the protocol left. Raises BadInput: it cannot be read here, worked on no folder, or
    has no result."""
    try:
        record = record_of(sid, entries)
        first, result = opening(record), result_of(record)
    except Altered as error:
        what = f"session {sid} cannot be read here: another release of Parley wrote it, or it was altered"
        raise BadInput("session", f"{what}; apply it with the release that ran it") from error
    if not first.settings.get("folder"):
        raise BadInput("session", f"session {sid} worked on no folder")
    if result is not None:
        return first, result
    known = PROTOCOLS.get(first.protocol)
    if known is None or not known.steps(first.version):
        what = f"session {sid} was not finished: it is of another version of {first.protocol} ({first.version})"
        again = f"go on with the release that began it, or end it (parley sessions cancel {sid}{options}) and ask again"
        raise BadInput("session", f"{what}, which this release does not run; {again}")
    raise BadInput("session", f"session {sid} has no result yet; parley sessions watch {sid}{options}")
