"""An expert's half of a turn of MADP: its specification, what belongs to the task laid beside the posts, and the work
in the task's folder with the operator's tools.

A turn of work that a killed worker leaves is done again by another: each begins with a fresh copy of the folder as it
was accepted last, and hands in what it is afterwards, so that there is one result.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from agents.artifacts import ArtifactError, Artifacts, NoArtifacts
from agents.context import Other, Shown
from agents.models.base import Completion, Emit, Model, ModelError, ModelRefused, ModelUnavailable
from agents.protocols.madp.kinds import ASKED, ChallengesReply, ClaimReply
from agents.tools.allow import AllowList
from agents.tools.folder import FolderError, TaskFolder
from schemas.expert import ExpertSpec
from schemas.protocols.madp.messages import ChallengeBrief, ClaimBrief
from schemas.protocols.madp.work import ReviewBrief, Support, SupportBrief, Supported, Work, WorkBrief
from schemas.routing import Task
from schemas.tools import CUT
from schemas.turn import MAX_BODY
from schemas.wire import InvalidValue, encode

PROTOCOL = "madp"
MOST_BODY = MAX_BODY - 6_000
"""Bytes of a reply's body that are aimed at."""
Done = TypeVar("Done", Work, Support)
_NO_ARTIFACTS = NoArtifacts()


class Expert:
    """A model, and around it what an expert is. Turns of other protocols go straight to the model.

    Parameters
    ----------
    spec
        None: the worker is no expert.
    tools
        The operator's allow list; None: no tools.
    """

    def __init__(self, model: Model, spec: ExpertSpec | None = None, tools: AllowList | None = None) -> None:
        self._model = model
        self._spec = spec
        self._tools = tools
        self._steps = bool(getattr(model, "steps", False))
        self.tools = self._steps and tools is not None and bool(tools.servers)
        """Whether its turns of work may take more steps than one."""
        self._words = self._steps or bool(getattr(model, "words", False))
        self.name = model.name
        self.family = model.family
        self.metered = model.metered
        self.usd_per_million_input = model.usd_per_million_input
        self.usd_per_million_output = model.usd_per_million_output

    async def reply(self, shown: Shown, emit: Emit, artifacts: Artifacts = _NO_ARTIFACTS) -> Completion:
        """Answer one turn.

        Raises
        ------
        ModelError
            As the model's; ModelMisconfigured: a server of the allow list cannot be used; ModelRefused: the folder
            after the work is none that can be handed in; ModelUnavailable: its archive cannot be had or stored.
        """
        if shown.protocol != PROTOCOL or shown.kind == "match":
            return await self._model.reply(shown, emit)
        shown = msgspec.structs.replace(shown, expert=self._spec)
        if shown.kind in ("work", "support"):
            return await self._worked(shown, emit, artifacts)
        return await self._said(shown, emit) if self._words else await self._model.reply(shown, emit)

    async def _said(self, shown: Shown, emit: Emit) -> Completion:
        """A claim, challenges or a review in the model's words; who says it is not the model's to say."""
        brief = shown.brief
        asked = msgspec.structs.replace(laid_out(shown), reply=ASKED.get(shown.kind, shown.reply))
        done = await self._model.reply(asked, emit)
        try:
            match done.body:
                case ClaimReply() as claim:
                    assert isinstance(brief, ClaimBrief)
                    return _with(done, claim.of(brief.expert, brief.declared.confidence))
                case ChallengesReply() as challenges:
                    assert isinstance(brief, ChallengeBrief)
                    return _with(done, challenges.of(brief.expert))
        except InvalidValue as error:
            raise ModelRefused(f"{self._model.name}: {error}", done.usage) from None
        return done

    async def _worked(self, shown: Shown, emit: Emit, artifacts: Artifacts) -> Completion:
        brief: WorkBrief | SupportBrief = shown.brief
        try:
            data = await artifacts.get(brief.folder) if brief.folder else b""
            base = None
            if isinstance(brief, WorkBrief) and brief.base != brief.folder:
                base = await artifacts.get(brief.base) if brief.base else b""
            with TaskFolder(data, base) as folder:
                return await self._in_folder(shown, brief, emit, artifacts, folder)
        except FolderError as error:
            raise ModelRefused(str(error)) from None
        except ArtifactError as error:
            raise ModelUnavailable(str(error)) from None

    async def _in_folder(
        self, shown: Shown, brief: WorkBrief | SupportBrief, emit: Emit, artifacts: Artifacts, folder: TaskFolder
    ) -> Completion:
        allowed = self._tools
        if not (self.tools and brief.tool_calls and brief.model_calls > 1):
            shown = msgspec.structs.replace(shown, documents=(*shown.documents, *folder.documents()))
            allowed = None
        if not self._words:
            done = await self._model.reply(shown, emit)
            diff = folder.diff()
            if diff and isinstance(done.body, Work):
                done = _with(done, fitting(msgspec.structs.replace(done.body, diff=diff)))
            return done
        from agents.tools.client import Toolbox
        from agents.tools.loop import Loop

        budget: dict[str, Any] = {"tool_calls": brief.tool_calls, "steps": brief.model_calls}
        shown = laid_out(shown)
        if allowed is None:
            ended = await Loop(self._model, shown, emit, None, **budget).run()
        else:
            async with Toolbox(allowed, folder) as box:
                ended = await Loop(self._model, shown, emit, box, **budget).run()
        try:
            made = await _handed_in(folder, artifacts, bool(ended.calls))
        except (FolderError, ArtifactError) as error:
            raise _ours(error, ended.usage) from None
        work = ended.reply.work() if shown.kind == "work" else ended.reply.support()
        return Completion(
            body=fitting(msgspec.structs.replace(work, calls=ended.calls, **made)), usage=ended.usage,
            flags=ended.flags, first_token_s=ended.first_token_s,
        )  # fmt: skip

    async def aclose(self) -> None:
        """Close the model."""
        close = getattr(self._model, "aclose", None)
        if close is not None:
            await close()


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


async def _handed_in(folder: TaskFolder, artifacts: Artifacts, touched: bool) -> dict[str, Any]:
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
    task: Task = brief.task
    for n, text in enumerate(task.code_snippets, 1):
        yield _other(f"Code {n} of the task", text)
    for m in task.prior_conversation:
        yield _other("Earlier conversation", {"role": m.role, "text": m.text})
    match brief:
        case WorkBrief():
            if brief.previous:
                yield _other("Your work that was reviewed", brief.previous)
            for given in brief.supported:
                yield from _supported(given)
        case ReviewBrief():
            yield _other("The result", brief.output or "(empty)")
            if brief.diff:
                yield _other("The diff of the folder, as the lead told it", brief.diff)


def _supported(given: Supported) -> Iterator[Other]:
    told: dict[str, Any] = {"sub_task": given.sub_task, "summary": given.summary, "output": given.output}
    if given.artifacts:
        told["artifacts"] = msgspec.to_builtins(given.artifacts)
    yield _other(f"What {given.agent_id} gave back", told)
    if given.diff:
        yield _other(f"What {given.agent_id} changed in a copy of the folder, which is not in yours", given.diff)


def _other(label: str, body: Any) -> Other:
    return Other(label=label, post=-1, kind="task", round=0, body=body)
