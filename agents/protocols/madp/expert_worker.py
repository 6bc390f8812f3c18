"""An expert's half of a turn of MADP: its specification, what belongs to the task laid beside the posts, and the work
in the task's folder with the operator's tools.

A turn of work that a killed worker leaves is done again by another: each begins with a fresh copy of the folder as it
was accepted last, and hands in what it is afterwards, so that there is one result.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from agents.artifacts import ArtifactAccess, ArtifactError
from agents.context import Other, Shown, laid_beside
from agents.equipment import Equipment
from agents.models.base import Completion, Emit, Model, ModelError, ModelRefused, ModelUnavailable
from agents.protocols.madp.kinds import ASKED, STEPS, ChallengesReply, ClaimReply
from agents.protocols.madp.reply_diff import diff_in
from agents.task_texts import task_texts
from agents.tools.client import Toolbox
from agents.tools.folder import FolderError, TaskFolder
from agents.tools.loop import Loop
from schemas.protocols.madp.messages import ChallengeBrief, ClaimBrief
from schemas.protocols.madp.work import ReviewBrief, Support, SupportBrief, Supported, Work, WorkBrief
from schemas.tools import CUT, ToolCall
from schemas.turn import MAX_BODY
from schemas.wire import InvalidValue, encode

MOST_BODY = MAX_BODY - 6_000
"""Bytes of a reply's body that are aimed at."""
Done = TypeVar("Done", Work, Support)


async def serve(worker: Equipment, shown: Shown, emit: Emit, artifacts: ArtifactAccess) -> Completion:
    """Answer one turn of MADP with what a worker has (agents.protocols.kit.Kit.serve).

    Raises
    ------
    ModelError
        As the model's; ModelMisconfigured: a server of the allow list cannot be used; ModelRefused: the folder after
        the work is none that can be handed in; ModelUnavailable: its archive cannot be had or stored.
    """
    if shown.kind == "match":
        return await worker.model.reply(shown, emit)
    shown = msgspec.structs.replace(shown, expert=worker.spec)
    if shown.kind in STEPS:
        return await _worked(worker, shown, emit, artifacts)
    return await _said(worker.model, shown, emit) if worker.words else await worker.model.reply(shown, emit)


async def _said(model: Model, shown: Shown, emit: Emit) -> Completion:
    """A claim, challenges or a review in the model's words; who says it is not the model's to say."""
    brief = shown.brief
    asked = msgspec.structs.replace(laid_out(shown), reply=ASKED.get(shown.kind, shown.reply))
    done = await model.reply(asked, emit)
    try:
        match done.body:
            case ClaimReply() as claim:
                assert isinstance(brief, ClaimBrief)
                return _with(done, claim.of(brief.expert, brief.declared.confidence))
            case ChallengesReply() as challenges:
                assert isinstance(brief, ChallengeBrief)
                return _with(done, challenges.of(brief.expert))
    except InvalidValue as error:
        raise ModelRefused(f"{model.name}: {error}", done.usage) from None
    return done


async def _worked(worker: Equipment, shown: Shown, emit: Emit, artifacts: ArtifactAccess) -> Completion:
    brief: WorkBrief | SupportBrief = shown.brief
    try:
        data = await artifacts.get(brief.folder) if brief.folder else b""
        base = None
        if isinstance(brief, WorkBrief) and brief.base != brief.folder:
            base = await artifacts.get(brief.base) if brief.base else b""
        with TaskFolder(data, base) as folder:
            return await _in_folder(worker, shown, emit, artifacts, folder)
    except FolderError as error:
        raise ModelRefused(str(error)) from None
    except ArtifactError as error:
        raise ModelUnavailable(str(error)) from None


async def _in_folder(
    worker: Equipment, shown: Shown, emit: Emit, artifacts: ArtifactAccess, folder: TaskFolder
) -> Completion:
    brief: WorkBrief | SupportBrief = shown.brief
    allowed = worker.tools if worker.uses_tools and _may_act(worker, brief) else None
    if allowed is None:
        files = folder.documents(brief.task.prompt, brief.task.files_mentioned)
        shown = msgspec.structs.replace(shown, documents=(*shown.documents, *files))
    if not worker.words:
        done = await worker.model.reply(shown, emit)
        diff = folder.diff()
        if diff and isinstance(done.body, Work):
            done = _with(done, fitting(msgspec.structs.replace(done.body, diff=diff, performed=True)))
        return done
    budget: dict[str, Any] = {"tool_calls": brief.tool_calls, "steps": brief.model_calls}
    shown = laid_out(shown)
    if allowed is None:
        ended = await Loop(worker.model, shown, emit, STEPS[shown.kind], None, **budget).run()
    else:
        async with Toolbox(allowed, folder) as box:
            ended = await Loop(worker.model, shown, emit, STEPS[shown.kind], box, **budget).run()
    try:
        made = await _handed_in(folder, artifacts, bool(ended.calls))
    except (FolderError, ArtifactError) as error:
        raise _ours(error, ended.usage) from None
    if shown.kind == "work":
        body = fitting(_told(ended.reply.work(), worker, ended.calls, made))
    else:
        body = fitting(msgspec.structs.replace(ended.reply.support(), calls=ended.calls, **made))
    return Completion(
        body=body, usage=ended.usage,
        flags=ended.flags, first_token_s=ended.first_token_s,
    )  # fmt: skip


def _may_act(worker: Equipment, brief: WorkBrief | SupportBrief) -> bool:
    """Whether there are calls for it, and a folder to work on where its tools are for that alone."""
    begun = brief.folder or (brief.base if isinstance(brief, WorkBrief) else "")
    needs = worker.tools is not None and worker.tools.folder_only
    return bool(brief.tool_calls and brief.model_calls > 1 and (begun or not needs))


def _told(work: Work, worker: Equipment, calls: tuple[ToolCall, ...], made: dict[str, Any]) -> Work:
    """The reply with what was made. A model's word that it is done is none: without a change and a call it is a plan,
    with the diff that its text holds. A person may have done it where nobody sees it."""
    if worker.steps and not made["diff"] and not any(c.ok for c in calls):
        return msgspec.structs.replace(work, calls=calls, performed=False, **{**made, "diff": diff_in(work.output)})
    return msgspec.structs.replace(work, calls=calls, **made)


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
    made: dict[str, Any] = {"diff": await asyncio.to_thread(folder.diff)}
    if folder.changed:
        made["folder"] = await artifacts.put(await asyncio.to_thread(folder.pack))
    return made


def _ours(error: Exception, usage: Any) -> ModelError:
    kind = ModelRefused if isinstance(error, FolderError) else ModelUnavailable
    return kind(str(error), usage)


def _with(done: Completion, body: Any) -> Completion:
    return msgspec.structs.replace(done, body=body)


def laid_out(shown: Shown) -> Shown:
    """The turn with the long texts of its brief beside the posts, where a prompt can cut them."""
    return msgspec.structs.replace(shown, others=(*shown.others, *_beside(shown.brief)))


def _beside(brief: Any) -> Iterator[Other]:
    yield from task_texts(brief.task)
    match brief:
        case WorkBrief():
            if brief.previous:
                yield laid_beside("Your work that was reviewed", brief.previous, "task", passing=True)
            for given in brief.supported:
                yield from _supported(given)
        case ReviewBrief():
            yield laid_beside("The result", brief.output or "(empty)", "task", passing=True)
            if brief.diff:
                yield laid_beside("The diff of the folder, as the lead told it", brief.diff, "task", passing=True)


def _supported(given: Supported) -> Iterator[Other]:
    told: dict[str, Any] = {"sub_task": given.sub_task, "summary": given.summary, "output": given.output}
    if given.artifacts:
        told["artifacts"] = msgspec.to_builtins(given.artifacts)
    yield laid_beside(f"What {given.agent_id} gave back", told, "task", passing=True)
    if given.diff:
        label = f"What {given.agent_id} changed in a copy of the folder, which is not in yours"
        yield laid_beside(label, given.diff, "task", passing=True)
