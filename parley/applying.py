"""Applies a task's change once the task has ended: writes it into the folder, puts it on a new branch, or leaves it.
It also names the one next step.
"""

import asyncio
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from parley.bus.errors import BusError
from parley.client import task_folder
from parley.client.api import Parley
from parley.client.errors import BadInput
from parley.client.git import branch as git_branch
from parley.client.protocols import setup_of
from parley.client.records import Altered, opening, record_of, result_of
from parley.client.task_folder import AppliedAlready, Change, NotApplied, SentFolder
from parley.client.text import line
from parley.client.view.fold import of_result
from parley.coordinator.protocols import PROTOCOLS
from parley.planned.access import bus_options, last_stack, run
from parley.schemas import log
from parley.schemas.result import Result
from parley.schemas.stops import stop_row
from parley.sessions import NoSession
from parley.settings import Settings
from parley.show.view import TerminalView, choose

_NAMED = 5
"""Files that one line names."""
_SUBJECT = 72
"""Characters of a commit's first line."""
_ROW = 300
"""Of what it says was done."""


@dataclass(frozen=True, kw_only=True)
class Into:
    """Where a change goes that was approved; nowhere by default."""

    apply: bool = False
    """Into the folder."""
    branch: str = ""
    """Onto a new branch of its repository."""
    unapproved: bool = False
    """Also one that nobody approved."""

    def __bool__(self) -> bool:
        return self.apply or bool(self.branch)

    def check(self, folder: Path | None) -> None:
        """Raise BadInput where that cannot be."""
        if self.apply and self.branch:
            raise BadInput("branch", "--branch leaves your files as they are, --apply writes them: give one of them")
        if self and folder is None:
            named = "--branch commits the result beside" if self.branch else "--apply writes the result into"
            raise BadInput("branch" if self.branch else "apply", f"{named} --folder, and no folder is named")
        if self.branch and folder is not None:
            git_branch.check(folder, self.branch)


NOWHERE = Into()


class Put(NamedTuple):
    """What was done with a change."""

    paths: tuple[str, ...]
    """Files that were written or removed."""
    commit: git_branch.Committed | None = None
    already: bool = False
    """It was there before."""

    def document(self) -> dict[str, Any]:
        """The result as JSON values."""
        if self.already:
            return {"paths": [], "already": True}
        at = {"branch": self.commit.branch, "commit": self.commit.id} if self.commit is not None else {}
        return {"paths": list(self.paths), **at}


class Hints(NamedTuple):
    """What commands that are shown need to find the session again."""

    options: str = ""
    """Those that name the bus."""
    kept: bool = True
    """The session can be looked at later."""


async def put(
    parley: Parley, result: Result, sent: SentFolder, into: Into, view: TerminalView, question: str = ""
) -> Put:
    """Put a task's change where it goes, and say so. Raises NotApplied; so it does where no work was
    done."""
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
        if into.branch:
            compared = await asyncio.to_thread(task_folder.compared, sent, data, show, diff, stands=False)
            message = _message(result, question)
            done = await asyncio.to_thread(git_branch.commit, sent, compared, into.branch, message)
            paths = (*compared.change.changed, *compared.change.removed)
            view.note(f"parley: {done.words(len(paths))}")
            return Put(paths, done)
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


def _message(result: Result, question: str) -> str:
    """A commit's: the task, how it ended, the check, the session."""
    subject = line(question, _SUBJECT) or f"The change of session {result.session}"
    lead, check = result.outcome.get("lead"), result.outcome.get("check") or {}
    rows = [f"Task: {question}" if question and question != subject else "", f"Lead: {lead}" if lead else ""]
    card = of_result(result)
    rows += [text for part in card.parts if part.name == "revisions" for text in part.lines] or _last(result)
    rows += [f"Check: {check['command']}" if check.get("ok") else "", f"Ended: {card.stop} ({card.reason})"]
    return "\n".join([subject, "", *(row for row in rows if row), f"Session: {result.session}", ""])


def _last(result: Result) -> list[str]:
    """What was done, where that was one step."""
    answer = line(of_result(result).text, _ROW)
    return [f"Done: {answer}"] if answer else []


def next_step(result: Result, sent: SentFolder, into: Into, done: Put | None, hints: Hints, other: str = "") -> str:
    """The one thing to do after a task on a folder, as a command or in words.

    Parameters
    ----------
    done
        What was done with the change; None: nothing was, or it could not be.
    other
        What puts the change somewhere, where it could not be put as it was wanted.
    """
    folder = sent.folder
    at = shlex.quote(str(folder))
    if done is not None and done.commit is not None:
        return f"git -C {at} diff HEAD...{shlex.quote(done.commit.branch)}"
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
    if result.stop.reason == "unproven":  # nobody should be sent to put in what a check speaks against
        if repository is None or not has_change:
            return f"parley explain {sid}{where}"
        # Beside the files, where it can be looked at and its check be run.
        return f"parley sessions apply {sid} --folder {at} --branch unproven-{sid[:8]} --unapproved{where}"
    if has_change and not (into and approved):
        return f"parley sessions apply {sid} --folder {at}{'' if approved else ' --unapproved'}{where}"
    return f"parley explain {sid}{where}"


async def finish(
    parley: Parley, result: Result, sent: SentFolder, into: Into, view: TerminalView, hints: Hints, question: str
) -> dict[str, Any]:
    """What follows a task on a folder, said and as JSON values: `put`, what was done with its change; `why` it was not
    applied though that was wanted; `next`."""
    done = None
    report: dict[str, Any] = {}
    other = ""
    if into:
        try:
            done = await put(parley, result, sent, into, view, question)
            report["put"] = done.document()
        except NotApplied as error:
            view.note(f"parley: {error}")
            report["why"] = str(error)
            other = await _other_way(parley, result, sent, into, hints)
    report["next"] = next_step(result, sent, into, done, hints, other)
    view.next_step(report["next"])
    return report


async def _other_way(parley: Parley, result: Result, sent: SentFolder, into: Into, hints: Hints) -> str:
    """The command that puts a change somewhere else, after it could not be put where it was to go; empty: there is
    none, or it was not put there because nobody approved it."""
    approved = result.stop.reason in setup_of(result.protocol).applied
    if not (approved or into.unapproved):
        return ""
    try:
        data = await task_folder.accepted(parley.client, result, unapproved=True)
        if data is None:
            return ""
        diff = task_folder.told_diff(result)
        compared = await asyncio.to_thread(task_folder.compared, sent, data, None, diff, stands=False)
    except NotApplied:
        return ""
    sid, folder = line(result.session), shlex.quote(str(sent.folder))
    command = f"parley sessions apply {sid} --folder {folder}"
    more = f"{'' if approved else ' --unapproved'}{hints.options}"
    branch = f"parley-{sid[:8]}"
    try:
        if into.branch:
            await asyncio.to_thread(task_folder.compared, sent, data, None, diff)
            return f"{command}{more}"
        await asyncio.to_thread(git_branch.check, sent.folder, branch)
        if await asyncio.to_thread(git_branch.is_possible, sent, compared):
            return f"{command} --branch {branch}{more}"
    except (NotApplied, AppliedAlready, BadInput):
        pass
    return f"bring {folder} back to what was sent, then {command}{more}"


def apply_session(settings: Settings, sid: str, folder: Path, into: Into, *, json: bool) -> tuple[int, dict[str, Any]]:
    """A task's change that was not applied when it ended: (exit status, as `finish` returns it).

    Raises
    ------
    BadInput
        There is no such session, it still runs, or it had no folder; or the folder or the branch cannot be used.
    """
    into.check(folder)

    async def main() -> dict[str, Any]:
        async with last_stack(settings) as parley:
            if parley is None:
                raise NoSession(sid, settings)
            first, result = _ended(sid, await _log(parley, settings, sid), bus_options(settings))
            try:
                sent = task_folder.sent_as(folder, await parley.client.get(sid, str(first.settings["folder"])))
            except BusError as error:
                raise BadInput("session", f"the folder of session {sid} cannot be had: {error.plain}") from error
            view = choose(json=json, quiet=False, plain=True)
            return await finish(parley, result, sent, into, view, Hints(bus_options(settings)), first.question)

    report = run(main())
    return int("why" in report), report


def _ended(sid: str, entries: list[str], options: str) -> tuple[log.Opened, Result]:
    """How a session that worked on a folder began, and what it came to, as its log has it: a moderator cannot read a
    session that another version of the protocol left.

    Raises
    ------
    BadInput
        It cannot be read here, worked on no folder, or has no result.
    """
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


async def _log(parley: Parley, settings: Settings, sid: str) -> list[str]:
    entries = await parley.client.log(sid)
    if not entries:
        raise NoSession(sid, settings)
    return list(entries)
