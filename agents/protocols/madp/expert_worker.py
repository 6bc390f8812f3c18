"""An expert's half of a turn of MADP: its specification, what belongs to the task laid beside the posts, and the work
in the task's folder with the operator's tools.

A turn of work that a killed worker leaves is done again by another: each begins with a fresh copy of the folder as it
was accepted last, and hands in what it is afterwards, so that there is one result.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import msgspec

from parley.agents.artifacts import ArtifactAccess, told_of_folder
from parley.agents.context import Other, Shown, laid_beside
from parley.agents.equipment import Equipment, Hands
from parley.agents.model.base import Completion, Emit
from parley.agents.protocols.madp import check_output
from parley.agents.protocols.madp.check_worker import run_check
from parley.agents.protocols.madp.hands_turn import as_reply, by_hands
from parley.agents.protocols.madp.kinds import STEPS
from parley.agents.protocols.madp.read_first import near, read_first
from parley.agents.protocols.madp.reply_diff import diff_in
from parley.agents.tools import patch
from parley.agents.tools.allow import AllowList
from parley.agents.tools.client import Toolbox
from parley.agents.tools.folder import TaskFolder, archive
from parley.agents.tools.loop import Loop, TurnEnd
from parley.schemas.artifact import Artifact
from parley.schemas.folders.request_kind import wanted
from parley.schemas.protocols.madp.work import (
    MOST_RECORDED,
    Checked,
    Review,
    ReviewBrief,
    Support,
    SupportBrief,
    Supported,
    Work,
    WorkBrief,
)
from parley.schemas.session import Document
from parley.schemas.tools import CUT, ToolCall
from parley.schemas.turn import MAX_BODY
from parley.schemas.wire import encode

MOST_BODY = MAX_BODY - 6_000
"""Bytes of a reply's body that are aimed at."""
_AROUND, _WHOLE = 60, 100_000
"""Lines around each change that a reviewer is shown: with tools, which read the rest, and without."""
Done = TypeVar("Done", bound=Work | Support)
Brief = WorkBrief | SupportBrief | ReviewBrief


async def serve(worker: Equipment, shown: Shown, emit: Emit, artifacts: ArtifactAccess) -> Completion:
    """Answer one turn of MADP with what a worker has (parley.agents.turn_kinds.kit.Kit.serve). Raises ModelError: as
    the model's; ModelRefused: the folder after the work is none that can be handed in; ModelUnavailable: its archive
    cannot be had or stored."""
    if shown.kind == "match":
        return await worker.model.reply(shown, emit)
    if shown.kind == "check":
        return await run_check(shown, artifacts)
    shown = msgspec.structs.replace(shown, expert=worker.spec)
    if shown.kind in STEPS and (worker.words or shown.kind != "review"):
        return await _worked(worker, shown, emit, artifacts)
    return await worker.model.reply(laid_out(shown) if worker.words else shown, emit)


async def _worked(worker: Equipment, shown: Shown, emit: Emit, artifacts: ArtifactAccess) -> Completion:
    brief: Brief = shown.brief
    with told_of_folder():
        data = await artifacts.get(brief.folder) if brief.folder else b""
        base = None
        if not isinstance(brief, SupportBrief) and brief.base != brief.folder:
            base = await artifacts.get(brief.base) if brief.base else b""
        with TaskFolder(data, base) as folder:
            return await _in_folder(worker, shown, emit, artifacts, folder)


async def _in_folder(
    worker: Equipment, shown: Shown, emit: Emit, artifacts: ArtifactAccess, folder: TaskFolder
) -> Completion:
    brief: Brief = shown.brief
    if worker.hands is not None and not isinstance(brief, ReviewBrief):
        return await _by_hands(worker.hands, shown, emit, artifacts, folder)
    if not worker.words:
        completion = await worker.model.reply(_with_files(worker, shown, folder, False), emit)
        diff = folder.diff()
        if diff and isinstance(completion.body, Work):
            completion = _with(completion, fitting(msgspec.structs.replace(completion.body, diff=diff, performed=True)))
        return completion
    budget: dict[str, Any] = {"tool_calls": brief.tool_calls, "steps": brief.model_calls}
    allowed = _allowed(worker, brief)
    async with AsyncExitStack() as stack:
        box = None if allowed is None else await stack.enter_async_context(Toolbox(allowed, folder, _check(brief)))
        given, tools = {d.name for d in shown.documents}, box is not None and bool(box.offered)
        with_files = _with_files(worker, shown, folder, tools)
        told = [d.name for d in with_files.documents if d.name not in given]
        if isinstance(brief, ReviewBrief):
            told += folder.changed_files()
            diff = folder.diff(_AROUND if tools else _WHOLE) or brief.diff
            with_files = msgspec.structs.replace(with_files, brief=msgspec.structs.replace(brief, diff=diff))
        saw: dict[str, Any] = {
            "shown": tuple(told)[:MOST_RECORDED],
            "offered": tuple(f"{o.server}.{o.tool}"[:200] for o in box.offered)[:MOST_RECORDED] if box else (),
        }
        shown = laid_out(with_files)
        ended = await Loop(worker.model, shown, emit, STEPS[shown.kind], box, **budget).run()
    with told_of_folder(ended.usage):
        body = await _body(worker, brief, ended, folder, artifacts)
    return Completion(
        body=msgspec.structs.replace(body, calls=tuple(_counted(c, ended) for c in body.calls), **saw),
        usage=ended.usage,
        flags=ended.flags,
    )


async def _by_hands(
    hands: Hands, shown: Shown, emit: Emit, artifacts: ArtifactAccess, folder: TaskFolder
) -> Completion:
    """The turn as an agent of others does it. It changed the folder or it did nothing, whatever it says."""
    end = await by_hands(hands, shown, (*shown.others, *_beside(shown.brief)), emit, folder)
    with told_of_folder(end.usage):
        changes = await _handed_in(folder, artifacts, True)
        results = await _results(end.results, artifacts)
    reply = as_reply(end, hands.name, isinstance(shown.brief, SupportBrief))
    if isinstance(reply, Work):
        changes["performed"] = bool(changes["diff"])
    reply = fitting(msgspec.structs.replace(reply, results=results, **changes))
    return Completion(body=reply, usage=end.usage, flags=("estimated",) if end.usage.estimated else ())


def _counted(call: ToolCall, ended: TurnEnd) -> ToolCall:
    """The record of a call; of a command, with what its output counts."""
    if not isinstance(call.ended, str):
        return call
    whole = ended.results.get(call.whole, "") if isinstance(call.whole, str) else ""
    found = check_output.parse(whole or call.result)
    counts = [f"{found.passed} passed"] if found.passed is not None else []
    counts += [f"{found.missed} failed"] if found.missed else []
    return msgspec.structs.replace(call, tests=", ".join(counts)) if counts else call


def _allowed(worker: Equipment, brief: Brief) -> AllowList | None:
    """The tools of this turn; None: there are none. A reviewer's only read, and an expert's are those that it names."""
    folder_id = brief.folder or (brief.base if not isinstance(brief, SupportBrief) else "")
    if worker.tools is None or not worker.uses_tools or (worker.tools.folder_only and not folder_id):
        return None
    if not brief.tool_calls or brief.model_calls < 2:
        return None
    allowed = worker.tools.reading() if isinstance(brief, ReviewBrief) else worker.tools
    if worker.spec is not None and worker.spec.tools is not None:
        allowed = allowed.only(worker.spec.tools)
    return allowed if allowed.servers else None


def _check(brief: Brief) -> str:
    """The command by which the task is checked; empty: there is none, or the brief does not say it."""
    runs = brief.checks if not isinstance(brief, SupportBrief) else ()
    return runs[0].command if runs else ""


def _with_files(worker: Equipment, shown: Shown, folder: TaskFolder, tools: bool) -> Shown:
    """The turn with files of its folder; `tools`: one can read more of them."""
    spoken = (*shown.brief.task.files_mentioned, *folder.changed_files())
    first = read_first(worker.spec, folder, shown.brief.task.prompt, spoken)
    files = (f for f in _files(shown.brief, folder, tools) if f not in first)
    return msgspec.structs.replace(shown, documents=(*first, *shown.documents, *files))


def _files(brief: Brief, folder: TaskFolder, tools: bool) -> tuple[Document, ...]:
    """The files that a turn is shown: all of them where no tool can read more; else those that a lead has read before,
    or that a reviewer would look at, beside what its diff shows."""
    mentioned = brief.task.files_mentioned
    if isinstance(brief, ReviewBrief):
        found = (*folder.files(mentioned), *(near(folder, brief.checks) if tools else ()))
        changed = folder.changed_files()
        return tuple(d for n, d in enumerate(found) if d.name not in changed and d not in found[:n])
    if tools:
        read_before = brief.seen if isinstance(brief, WorkBrief) else ()
        return folder.files(read_before)
    return folder.documents(brief.task.prompt, mentioned)


async def _body(
    worker: Equipment, brief: Brief, ended: TurnEnd, folder: TaskFolder, artifacts: ArtifactAccess
) -> Work | Support | Review:
    """The reply with what was made."""
    results = await _results(ended.results, artifacts)
    if isinstance(brief, ReviewBrief):
        review: Review = ended.reply.review()
        return msgspec.structs.replace(review, calls=ended.calls, results=results)
    if isinstance(brief, SupportBrief):
        changes = await _handed_in(folder, artifacts, bool(ended.calls)) | {"results": results}
        support: Support = ended.reply.support()
        return fitting(msgspec.structs.replace(support, calls=ended.calls, **changes))
    work: Work = ended.reply.work()
    changes_wanted = wanted(brief.task.prompt) in ("change", "statement")  # else a patch is a part of the text
    proposed = work.diff or (diff_in(work.output) if changes_wanted else "")
    applied = ""
    if proposed and not any(c.ok for c in ended.calls) and worker.steps and folder.began:
        applied = await asyncio.to_thread(patch.try_apply, folder, proposed)
    changes = await _handed_in(folder, artifacts, bool(ended.calls) or applied == patch.APPLIED)
    if worker.steps and not changes["diff"] and not any(c.ok for c in ended.calls):
        changes |= {"performed": False, "diff": proposed}
    return fitting(msgspec.structs.replace(work, calls=ended.calls, results=results, **changes))


async def _results(results: Mapping[str, str], artifacts: ArtifactAccess) -> Artifact | None:
    if not results:
        return None
    files = {name: (text.encode("utf-8", "replace"), False) for name, text in results.items()}
    return await artifacts.put(await asyncio.to_thread(archive, files))


def fitting(work: Done) -> Done:
    """The reply with its calls, and then its diff, cut shorter until it fits into one message."""
    for most in (800, 200, 40):
        if len(encode(work)) <= MOST_BODY:
            return work
        calls = tuple(
            msgspec.structs.replace(c, arguments=c.arguments[:most], result=c.result[:most]) for c in work.calls
        )
        work = msgspec.structs.replace(work, calls=calls)
    while len(encode(work)) > MOST_BODY and work.diff:
        short = work.diff[: len(work.diff) // 2]
        cut = short[: short.rfind("\n") + 1] + CUT if len(short) > 1_000 else ""
        work = msgspec.structs.replace(work, diff=cut)
    return work


async def _handed_in(folder: TaskFolder, artifacts: ArtifactAccess, touched: bool) -> dict[str, Any]:
    """What the reply says of the folder after the work: the whole change of the task, also where this turn, with no
    call of a tool, made none of it."""
    if touched:
        await asyncio.to_thread(folder.clean)
        await asyncio.to_thread(folder.look)
    changes: dict[str, Any] = {"diff": await asyncio.to_thread(folder.diff)}
    if folder.changed:
        changes["folder"] = await artifacts.put(await asyncio.to_thread(folder.pack))
    return changes


def _with(completion: Completion, body: Any) -> Completion:
    return msgspec.structs.replace(completion, body=body)


def laid_out(shown: Shown) -> Shown:
    """The turn with the long texts of its brief beside the posts, where a prompt can cut them."""
    return msgspec.structs.replace(shown, others=(*shown.others, *_beside(shown.brief)))


def _beside(brief: Any) -> Iterator[Other]:
    for n, text in enumerate(brief.task.code_snippets, 1):
        yield laid_beside(f"Code {n} of the task", text, "task")
    for m in brief.task.prior_conversation:
        yield laid_beside("Earlier conversation", {"role": m.role, "text": m.text}, "task")
    match brief:
        case WorkBrief():
            if brief.previous:
                yield laid_beside("Your work that was reviewed", brief.previous, "task", passing=True)
            for support in brief.supported:
                yield from _supported(support)
            if brief.diff:
                yield laid_beside("What has been changed in your folder so far", brief.diff, "task", passing=True)
            yield from _checks(brief.checks)
        case ReviewBrief():
            yield from _checks(brief.checks[-1:])  # what the record says of the one before is enough
            yield laid_beside("The result", brief.output or "(empty)", "task", passing=True)
            if brief.diff:
                yield laid_beside("The diff of the folder", brief.diff, "task", passing=True)


def _checks(checked: tuple[Checked, ...]) -> Iterator[Other]:
    """What the check printed: before the work, which stays so, and after it."""
    for run in checked:
        how = f"exit status {run.exit}, after {run.seconds:g} s" if run.exit is not None else run.ended
        text = f"$ {run.command}\n{how}\n\n{run.output}".rstrip()
        yield laid_beside(f"The check {run.when} the work", text, "task", passing=run.when == "after")


def _supported(support: Supported) -> Iterator[Other]:
    fields: dict[str, Any] = {"sub_task": support.sub_task, "summary": support.summary, "output": support.output}
    if support.artifacts:
        fields["artifacts"] = msgspec.to_builtins(support.artifacts)
    yield laid_beside(f"What {support.agent_id} gave back", fields, "task", passing=True)
    if support.diff:
        label = f"What {support.agent_id} changed in a copy of the folder, which is not in yours"
        yield laid_beside(label, support.diff, "task", passing=True)
