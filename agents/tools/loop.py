"""A language model's steps inside one turn: it asks for calls of tools, sees what came back, and ends with the reply.

How it asks for them, as an endpoint's own calls or in a structured reply, is the model's matter
(agents/openai/ladder.py); here a step is the same either way. What it said and what tools returned goes into the next
prompt behind all that stood in the last one (agents/prompts/dialogue.py). The last step is without tools: when the
calls, the steps, the model calls or the time run out."""

import re
import secrets
import time
from typing import Any

import msgspec

from parley.agents.context import CallResult, PastStep, RawReply, Shown, ToolLoop, Tools
from parley.agents.model.base import Emit, Model, ModelError, ModelRefused, tell_called
from parley.agents.tools.client import Called, Toolbox
from parley.agents.tools.folder import FolderError
from parley.agents.tools.steps import Call, ToolStep
from parley.schemas.tools import ToolCall, call_words, ended_words
from parley.schemas.turn import Caps, Usage

_LAST_SHARE = 0.2
"""Of a turn's time: what is kept for the last step."""
_GROWS = 1.25
"""Times the tokens of a step: what the next one may take, whose prompt is longer."""
_SHOWN_ARGUMENTS = 1_000
MOST_RESULTS = 3_000_000
"""Characters of whole results that a turn keeps."""
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What the steps came to."""

    reply: Any
    """Of the type `ToolStep.ENDS_WITH`."""
    calls: tuple[ToolCall, ...]
    usage: Usage
    flags: tuple[str, ...]
    results: dict[str, str] = {}
    """Whole results of calls that their records hold a part of, by the name of a file."""


class Loop:
    """The steps of one turn.

    Parameters
    ----------
    asks
        What the model is asked for with tools; without, for what that ends with.
    box
        None: there are no tools, so there is one step.
    tool_calls
        How many calls of tools are allowed together.
    steps
        How many steps, the last one included; `shown.caps.calls` holds for the model calls of all of them.
    """

    def __init__(
        self,
        model: Model,
        shown: Shown,
        emit: Emit,
        asks: type[ToolStep],
        box: Toolbox | None,
        *,
        tool_calls: int,
        steps: int,
    ) -> None:
        self._asks = asks
        self._model = model
        if box is not None and not shown.boundary:
            shown = msgspec.structs.replace(shown, boundary=secrets.token_hex(8))  # one for all steps
        self._shown = shown
        self._emit = emit
        self._box = box
        self._calls_left = tool_calls
        self._steps = steps
        self._begun_ns = time.time_ns()
        self._past: ToolLoop | None = None
        self._calls: list[ToolCall] = []
        self._results: dict[str, str] = {}
        self._usage = Usage()
        self._step_tokens = 0
        self._flags: dict[str, None] = {}

    def _begin(self) -> None:
        """Record and tell what of the tools is not there, before anything is paid."""
        missing = () if self._box is None else self._box.missing
        for record in missing:
            self._calls.append(record)
            tell_called(self._emit, call_words(record))
        if missing:
            self._shown = msgspec.structs.replace(self._shown, missing=tuple(r.server for r in missing))

    async def run(self) -> TurnEnd:
        """Until the model ends the turn. Raises ModelError, with the usage of all steps."""
        self._begin()
        step = 0
        while True:
            step += 1
            end = await self._step(step)
            if end is not None:
                return TurnEnd(
                    reply=end,
                    calls=tuple(self._calls),
                    usage=self._usage,
                    flags=tuple(self._flags),
                    results=self._results,
                )

    async def _step(self, number: int) -> Any:
        """The reply that ends the turn; None: there were calls instead."""
        tools = self._tools(number)
        shown = msgspec.structs.replace(
            self._shown,
            reply=self._asks.ENDS_WITH if tools is None else self._asks,
            tools=tools,
            steps=self._so_far(tools),
            step=number,
            caps=self._caps(last=tools is None),
        )
        try:
            completion = await self._model.reply(shown, self._emit)
        except ModelError as error:
            error.usage = self._usage + error.usage
            raise
        self._usage += completion.usage
        self._step_tokens = completion.usage.input_tokens + completion.usage.output_tokens
        self._flags |= dict.fromkeys(completion.flags)
        if not isinstance(completion.body, self._asks):
            return completion.body
        step: ToolStep = completion.body
        end = step.end()
        if end is None:
            await self._call(number, step, completion.raw)
        return end

    def _caps(self, *, last: bool) -> Caps:
        """Caps of a step: what is left of the turn's, and before the last step also what that is likely to take."""
        caps = self._shown.caps
        caps = msgspec.structs.replace(caps, calls=max(1, caps.calls - self._usage.calls))
        left = self._tokens_left()
        if left is None:
            return caps
        kept = 0 if last else int(self._step_tokens * _GROWS) or left // 2
        return msgspec.structs.replace(caps, tokens=max(0, left - kept))

    def _tokens_left(self) -> int | None:
        """Of the turn's; None: only its calls are limited."""
        tokens = self._shown.caps.tokens
        return None if tokens is msgspec.UNSET else tokens - self._usage.input_tokens - self._usage.output_tokens

    def _so_far(self, tools: Tools | None) -> ToolLoop | None:
        """What the prompt grows by: the last step is told what may be called now."""
        if self._past is None:
            if tools is not None:
                self._past = ToolLoop(step=self._asks, end=self._asks.ENDS_WITH, tools=tools)
            return self._past
        *before, last = self._past.did
        last = msgspec.structs.replace(last, tools_after=tools)
        self._past = msgspec.structs.replace(self._past, did=(*before, last))
        return self._past

    def _tools(self, number: int) -> Tools | None:
        """What may be called in this step; None: nothing, it is the last one."""
        steps = min(self._steps - number, self._shown.caps.calls - self._usage.calls - 1)
        if self._box is None or not self._box.offered or self._calls_left < 1 or steps < 1 or self._late():
            return None
        left = self._tokens_left()
        if left is not None and left < 2 * _GROWS * self._step_tokens:
            return None  # one more with tools would leave nothing for the last one
        return Tools(offered=self._box.offered, calls_left=self._calls_left, steps_left=steps, runs=self._box.runs)

    def _late(self) -> bool:
        deadline = self._shown.deadline_ns
        return bool(deadline) and self._seconds_left() < _LAST_SHARE * (deadline - self._begun_ns) / 1e9

    def _seconds_left(self) -> float:
        return (self._shown.deadline_ns - time.time_ns()) / 1e9 if self._shown.deadline_ns else 3_600.0

    async def _call(self, number: int, step: ToolStep, raw: RawReply | None) -> None:
        """Make the calls of one step, in their order, as far as the budget goes."""
        assert self._box is not None and self._past is not None, "without tools there is no such step"
        returned = []
        for n, call in enumerate(step.calls, 1):
            request = f"server {call.server}, tool {call.tool}: {call.arguments[:_SHOWN_ARGUMENTS]}"
            ended, text = "failed", "not made: no calls are left"
            if self._calls_left >= 1:
                self._calls_left -= 1
                called = await self._make_call(call)
                ended, text = ended_words(called.record), called.text
            returned.append(CallResult(label=f"Step {number}, call {n}", request=request, ended=ended, text=text))
        did = PastStep(reply=step, raw=raw, returned=tuple(returned))
        self._past = msgspec.structs.replace(self._past, did=(*self._past.did, did))

    async def _make_call(self, call: Call) -> Called:
        """What became of a call, which is told as it happens, in one line."""
        assert self._box is not None
        try:
            called = await self._box.call(call, self._seconds_left())
        except FolderError as error:
            raise ModelRefused(str(error), self._usage) from None
        self._calls.append(self._recorded(called))
        tell_called(self._emit, call_words(called.record))
        return called

    def _recorded(self, called: Called) -> ToolCall:
        """The record; it names the file of the whole result where it holds a part, as far as there is room."""
        room = MOST_RESULTS - sum(map(len, self._results.values()))
        if not called.full_text or len(called.full_text) > room:
            return called.record
        of = _NO_NAME.sub("-", f"{called.record.server[:40]}.{called.record.tool[:40]}")
        name = f"{len(self._calls) + 1:03d}-{of}.txt"
        self._results[name] = called.full_text
        return msgspec.structs.replace(called.record, whole=name)
