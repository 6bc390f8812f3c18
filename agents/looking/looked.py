"""A seat looks things up before it answers: calls of the operator's tools, whose results are documents of the session.

It is a turn in two parts. First the model calls tools (parley.agents.tools.loop), until it has what it needs or the
calls, the steps or the time run out. Then it is asked as always, with what was found beside its documents. A turn that
is asked again finds the documents of the first try in the session, and looks up nothing.
"""

import asyncio
from collections.abc import Iterable
from typing import Literal

import msgspec

from parley.agents.context import Shown, with_found
from parley.agents.equipment import Equipment
from parley.agents.model.base import Completion, Emit, ModelError
from parley.agents.tools.client import Called, Toolbox
from parley.agents.tools.folder import FolderError, TaskFolder, archive
from parley.agents.tools.loop import Loop, TurnEnd
from parley.agents.tools.steps import Call, ToolStep
from parley.schemas.session import Document
from parley.schemas.tools import MOST_ARGUMENTS, MOST_FOUND, LookUpResult, is_found
from parley.schemas.turn import Usage
from parley.schemas.wire import InvalidValue

LOOK_UP = "look_up"
"""The kind of turn of the first part: its prompt, and no turn of a moderator's."""
_ANSWER_CALLS = 2
"""Model calls that are kept for the answer."""


class LookUpsDone(msgspec.Struct, frozen=True, kw_only=True):
    """What a model says when it looks up no more."""

    summary: str = ""


class LookStep(ToolStep, frozen=True, kw_only=True):
    """One step of looking things up."""

    ENDS_WITH = LookUpsDone
    outcome: Literal["use_tools", "done"]


class _Keeping(Toolbox):
    """Tools whose results are kept."""

    found: tuple[LookUpResult, ...] = ()

    async def call(self, call: Call, left_s: float) -> Called:
        """As a toolbox does; what a call returned is kept, once."""
        called = await super().call(call, left_s)
        record = called.record
        if record.passed and called.text.strip():
            try:
                one = LookUpResult(
                    server=record.server,
                    tool=record.tool,
                    arguments=record.arguments[:MOST_ARGUMENTS],
                    text=called.text[:MOST_FOUND],
                )
            except InvalidValue:
                return called
            if one.id not in (f.id for f in self.found):
                self.found += (one,)
        return called


async def answer(worker: Equipment, shown: Shown, emit: Emit, look_ups: int) -> Completion:
    """Answer a turn, after at most so many calls of tools. Raises ModelError, with the usage of both parts."""
    ended, found = await _look_up(worker, shown, emit, look_ups)
    used = Usage() if ended is None else ended.usage
    caps = shown.caps
    if ended is not None:
        tokens = caps.tokens
        if tokens is not msgspec.UNSET:
            tokens = max(0, tokens - used.input_tokens - used.output_tokens)
        caps = msgspec.structs.replace(caps, calls=max(1, caps.calls - used.calls), tokens=tokens)
    try:
        done = await worker.model.reply(msgspec.structs.replace(with_found(shown, found), caps=caps), emit)
    except ModelError as error:
        error.usage = used + error.usage
        raise
    flags = tuple(dict.fromkeys((*done.flags, *(ended.flags if ended else ()))))
    return msgspec.structs.replace(done, usage=used + done.usage, flags=flags, found=found)


async def _look_up(
    worker: Equipment, shown: Shown, emit: Emit, look_ups: int
) -> tuple[TurnEnd | None, tuple[LookUpResult, ...]]:
    """What the calls came to, and what they returned; None: none could be made."""
    calls = min(look_ups + 1, shown.caps.calls - _ANSWER_CALLS)
    if worker.tools is None or worker.tools.folder_only or calls < 2 or shown.attempt > 1:
        return None, ()
    caps = msgspec.structs.replace(shown.caps, calls=calls)
    if caps.tokens is not msgspec.UNSET:
        caps = msgspec.structs.replace(caps, tokens=caps.tokens // 2)
    tools = worker.tools.reading()
    files = [d for d in shown.documents if not is_found(d.id, d.name)]
    if not files:
        tools = tools.where(lambda server: not server.of_folder)
    asked = msgspec.structs.replace(shown, kind=LOOK_UP, reply=LookUpsDone, caps=caps, stream=False)
    with await asyncio.to_thread(_folder, files) as folder:
        box = _Keeping(tools, folder)
        async with box:
            if not box.offered:
                return None, ()
            ended = await Loop(worker.model, asked, emit, LookStep, box, tool_calls=look_ups, steps=calls).run()
            return ended, box.found


def _folder(documents: Iterable[Document]) -> TaskFolder:
    """A folder with the texts of documents; an empty one where their names are no paths."""
    try:
        return TaskFolder(archive({d.name: (d.text.encode("utf-8", "replace"), False) for d in documents}))
    except FolderError:
        return TaskFolder()
