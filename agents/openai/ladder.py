"""One turn of the model `openai`: asks for a structured reply, step by step down the ladder.

Each reply goes down a ladder: a JSON schema that the server holds the model to; JSON mode with the schema in the
prompt; the reply taken out of prose; one repair with the error; failed. Where it begins is the provider's preset and
what was learned of the endpoint. A call counts when it may have been paid: a request that was turned away (408, 409,
429, 500 and above, no connection) does not, and is made again within the turn's deadline; one that broke after it was
sent does.

A step of a turn with tools is asked for calls in the field that chat completions have for them, and then for no form of
its text: few servers hold a model to a form that may also call tools. The reply that ends the turn is checked as any.
An endpoint that refuses the field, or ignores it, is asked for calls in a structured reply, down the same ladder.
"""

import asyncio
import logging
import time
from typing import Any

import msgspec

from parley.agents.context import RawReply, Shown
from parley.agents.endpoint.completion import ServerAnswer
from parley.agents.endpoint.endpoint import Broken, Rejected
from parley.agents.endpoint.limits import FAILURES, REJECTIONS, backoff_s
from parley.agents.model.base import (
    Completion,
    Emit,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
    tell_retrying,
)
from parley.agents.openai import refusals, reply_schema
from parley.agents.openai.connected_model import ConnectedModel
from parley.agents.openai.held_schema import schema_of
from parley.agents.openai.live_text import LiveText
from parley.agents.openai.probe import BOUNDS
from parley.agents.openai.providers import NAMES, Rung
from parley.agents.openai.refusals import Action
from parley.agents.openai.tool_calls import ToolNames, echoed
from parley.agents.openai.trials import TOOLS, RefusedRequest, Trials
from parley.agents.prompts import prompting
from parley.agents.protocols import kind_of
from parley.agents.secrets import scrub
from parley.agents.text.tokens import BYTES_PER_TOKEN, estimate
from parley.agents.tools.steps import asking
from parley.agents.turn_kinds.abstaining import abstention
from parley.observability import genai
from parley.schemas.turn import Usage

_LOGGER = logging.getLogger(__name__)
_USUAL, _NOTED = logging.DEBUG, logging.INFO
LEAST_ANSWER = 256
"""Tokens of output for which a call is worth its prompt."""
_HIDDEN = 256
"""Tokens beyond what a text can have, from which on the model is taken to think."""
_TELLS_S = 0.5
"""Seconds before the end of a turn in which no try begins any more, so that its reason still arrives."""
_MARGIN = 64
"""Tokens of a window that are left to what a server puts around a prompt."""
_AGAIN = frozenset({408, 409, 425, 429, 529})


def _setting(error: Rejected) -> str:
    """The setting that a refusal is nearest to."""
    actions = {action for action, _ in refusals.matching(error)}
    if Action.SHORTER in actions:
        return "LLM_REASONING_TOKENS and the size of the evidence"
    if Action.LESS_OUTPUT in actions:
        return "LLM_REASONING_TOKENS"
    return "LLM_STRUCTURED or options.extra" if error.status in (400, 413, 422) else "LLM_BASE_URL"


class _AskAgain(Exception):
    """The request is to be made otherwise: something was learned."""


class StructuredCall:
    """One turn on its way down the ladder."""

    def __init__(self, model: ConnectedModel, shown: Shown, emit: Emit) -> None:
        self._model = model
        self._options = model.options
        self._shown = shown
        self._emit = emit
        self._deadline_s = shown.deadline_ns / 1e9
        self._rejections = 0
        self._trials = Trials(model.memory, model.options)
        self._repeated = False
        self._refused: Rejected | None = None
        """The last refusal that another request was made for."""
        self._notes: set[str] = set()
        self._thought_out = False
        self._lowest = max(Rung)
        self._prompt: prompting.Prompt | None = None
        self._names = ToolNames(shown.steps.tools.offered if shown.steps is not None else ())
        self._under_way = False
        self._heard = bytearray()
        self._beside = 0
        """Tokens that the request holds beside its messages: the schema, or the tools."""
        self._failed_for_good = f"{model.name} gave no usable reply, also after a repair"
        self._never = f"{model.name} gives no answer"
        self.usage = Usage()

    async def run(self) -> Completion:
        """The reply, or a ModelError with what was used."""
        # What came to nothing with its repair, or can come to nothing, is not asked for again with the turn.
        if self._shown.attempt > 1 and self._shown.error.startswith((self._failed_for_good, self._never)):
            raise ModelRefused(self._shown.error)
        try:
            return await self._climb_down()
        except ModelError as error:
            error.usage = self.usage
            raise

    async def _climb_down(self) -> Completion:
        repair: prompting.Repair | None = None
        while True:
            native = self._native()
            calling = native and self._shown.tools is not None
            rung = Rung.TEXT if calling else self._rung()
            schema = schema_of(self._shown, bounds=self._bounds())
            try:
                self._prompt = self._built(rung, schema, repair, native)
            except ModelMisconfigured as error:  # it cannot be as short as was tried last
                if self._refused is None:
                    raise
                raise self._refused_for_good(self._refused) from error
            usual = repair is None and (calling or rung is self._options.highest_rung)
            how = "tools" if calling else NAMES[rung]
            self._log(f"asking with {how}" + (" to repair" if repair else ""), _USUAL if usual else _NOTED)
            try:
                answer = await self._ask(self._body(rung, schema, native))
            except _AskAgain:
                continue
            if calling and answer.calls:
                return self._called(answer, repair)
            if self._thought_to_the_end(answer):
                continue
            if answer.refusal or answer.finish == "content_filter":
                reason = scrub(answer.refusal) or "its provider's filter"
                body = abstention(self._shown, reason) if answer.refusal else None
                if body is not None:
                    flags = ("declined", *self._flags(reply_schema.How.PLAIN, repair))
                    return Completion(body=body, usage=self.usage, flags=flags)
                raise ModelRefused(f"{self._model.name} declined: {reason}")
            try:
                self._notes.clear()
                body, read_as = self._decode_reply(answer, native)
            except reply_schema.Unusable as error:
                repair = self._unusable(rung, answer, error, repair)
                continue
            if read_as is reply_schema.How.EXTRACTED and not calling:
                self._log("the reply was extracted")
                self._seems_to_ignore(rung, Rung.TEXT)
            else:
                self._model.memory.heeded(rung)
            return Completion(
                body=body,
                usage=self.usage,
                flags=self._flags(read_as, repair),
                raw=RawReply(text=answer.text),
            )

    def _native(self) -> bool:
        """Whether tools are called in the endpoint's own field in this turn. A step that came in a text says that it
        shows them to nobody: then the turn goes on so."""
        steps = self._shown.steps
        if steps is None or TOOLS in self._trials.known.dropped:
            return False
        last = steps.did[-1].raw if steps.did else None
        return not steps.did or (last is not None and bool(last.calls))

    def _built(
        self, rung: Rung, schema: dict[str, Any], repair: prompting.Repair | None, native: bool
    ) -> prompting.Prompt:
        """The prompt. In all steps of a turn its first messages hold the same schema, if any: that of the reply that
        ends the turn where calls have a field of their own, else that of a step."""
        shown, steps, room = self._shown, self._shown.steps, self._room()
        has_schema = rung is Rung.SCHEMA and repair is None
        self._beside = estimate(msgspec.json.encode(schema).decode()) if rung is Rung.SCHEMA else 0
        shown = self._with_input(0)
        if steps is None:
            return prompting.build(shown, None if has_schema else schema, repair, self._model.boundary, room)
        of_all = msgspec.structs.replace(shown, reply=steps.end if native else steps.step)
        early = schema_of(of_all, bounds=self._bounds()) if native or rung is not Rung.SCHEMA else None
        late = None if has_schema or schema is early or (native and shown.tools is not None) else schema
        if native:
            listed = self._beside = estimate(msgspec.json.encode(self._names.listed).decode())
            shown, room = self._with_input(listed), None if room is None else max(0, room - listed)
        return prompting.build(shown, early, repair, self._model.boundary, room, native=native, late=late)

    def _with_input(self, listed: int) -> Shown:
        """What is shown, in a prompt that leaves room for `listed` tokens beside it, and for an answer among the tokens
        that the turn has left."""
        caps = self._shown.caps
        most, left = caps.input_tokens - listed, self._left()
        if left is not None:
            most = min(most, left - self._beside - min(caps.output_tokens, LEAST_ANSWER))
        return msgspec.structs.replace(self._shown, caps=msgspec.structs.replace(caps, input_tokens=max(1, most)))

    def _left(self) -> int | None:
        """Tokens that the turn has left; None: only its calls are limited."""
        tokens = self._shown.caps.tokens
        return None if tokens is msgspec.UNSET else tokens - self.usage.input_tokens - self.usage.output_tokens

    def _is_spent(self) -> bool:
        left, prompt = self._left(), 0 if self._prompt is None else self._prompt.input_tokens
        short = left is not None and left < prompt + self._beside + min(self._shown.caps.output_tokens, LEAST_ANSWER)
        return short or self.usage.calls >= self._shown.caps.calls

    def _called(self, answer: ServerAnswer, repair: prompting.Repair | None) -> Completion:
        self._model.memory.heeded(TOOLS)
        note = reply_schema.without_thought(answer.text)
        body = asking(self._shown.reply, [self._names.call(call) for call in answer.calls], note)
        raw = RawReply(text=body.summary, calls=tuple(map(echoed, answer.calls)), reasoning=answer.reasoning)
        return Completion(
            body=body,
            usage=self.usage,
            flags=self._flags(reply_schema.How.PLAIN, repair),
            raw=raw,
        )

    def _decode_reply(self, answer: ServerAnswer, native: bool) -> tuple[Any, reply_schema.How]:
        """The reply in an answer; some servers have it as the arguments of a call. Where tools are called in a field of
        their own, it is the one that ends the turn; if it asks for calls all the same, it is taken as a step, and the
        endpoint as one that may ignore that field."""
        steps, text = self._shown.steps, answer.text
        if answer.calls and not native and reply_schema.is_empty(text):
            text = answer.calls[-1].arguments
        if not native or steps is None or self._shown.tools is None:
            return reply_schema.parse(text, self._shown.reply, self._notes, answer.thought)
        try:
            step, how = reply_schema.parse(text, steps.step)
            if step.end() is None:
                if self._model.memory.ignored(TOOLS, drop=TOOLS):
                    self._log("tools are ignored, from now on they are called in a text")
                return step, how
        except reply_schema.Unusable:
            pass
        return reply_schema.parse(text, steps.end, self._notes, answer.thought)

    def _unusable(
        self, rung: Rung, answer: ServerAnswer, error: reply_schema.Unusable, before: prompting.Repair | None
    ) -> prompting.Repair:
        """The repair to ask for. Raises ModelRefused when there was one, or no call is left for it."""
        why = error.why
        if answer.finish == "length":
            cap = self._shown.caps.output_tokens
            why = f"it was cut off: an answer may have {cap:,} tokens, so be much shorter"
        elif not error.is_json:
            self._seems_to_ignore(rung, Rung.TEXT)
        elif not error.complete and rung is Rung.SCHEMA:
            self._seems_to_ignore(rung, Rung.JSON)
        else:
            self._model.memory.heeded(rung)
        if before is not None or self._is_spent():
            self._log("failed")
            short = f"{self._model.name} gave no usable reply, and no call is left for a repair"
            raise ModelRefused(f"{short if before is None else self._failed_for_good}: {scrub(why)}")
        self._log(f"repair, because {scrub(why)}")
        tell_retrying(self._emit, "the reply could not be used")
        return prompting.Repair(reply=answer.text, error=why)

    def _reasoning(self) -> int:
        known, cap = self._trials.known, self._shown.caps.reasoning_tokens
        wanted = self._options.reasoning_tokens if known.reasoning_tokens is None else known.reasoning_tokens
        return min(wanted, self._most_reasoning(), wanted if cap is msgspec.UNSET else cap)

    def _most_reasoning(self) -> int:
        """What the model's limit on output leaves to thoughts."""
        most = self._model.reasoning_tokens
        limit = self._trials.known.output
        return most if limit is None else max(0, min(most, limit - self._shown.caps.output_tokens))

    def _output(self) -> int:
        """Tokens of output in the next call: the answer's cap and what it may think, within the model's limit, of a
        small window at most half."""
        known, most = self._trials.known, self._shown.caps.output_tokens + self._reasoning()
        limits = (most, known.output, None if known.window is None else known.window // 2)
        return min(limit for limit in limits if limit is not None)

    def _granted(self) -> int:
        """The same, and no more than the turn has left beside the prompt."""
        assert self._prompt is not None
        left = self._left()
        return self._output() if left is None else min(self._output(), left - self._prompt.input_tokens - self._beside)

    def _room(self) -> int | None:
        """Tokens of prompt that the window holds beside them, or that were seen to be taken; None: nothing is known."""
        known = self._trials.known
        left = None if known.window is None else max(0, known.window - self._output() - _MARGIN)
        return min((n for n in (left, known.prompt) if n is not None), default=None)

    def _thought_to_the_end(self, answer: ServerAnswer) -> bool:
        """Whether its thoughts left no room for an answer, and it is asked again with more: once a turn. What it needs
        is remembered. Raises ModelRefused where it has no more."""
        memory, allowed = self._model.memory, self._reasoning()
        thinks = self._thinks(answer)
        known = memory.get().reasoning_tokens
        if answer.finish != "length" or answer.calls or not reply_schema.is_empty(answer.text):
            if thinks and not known:
                memory.learn(reasoning_tokens=self._options.reasoning_tokens)
            elif thinks is False and known is None:
                memory.learn(reasoning_tokens=0)
            return False
        most, cap = self._most_reasoning(), self._shown.caps.reasoning_tokens
        more = min(most if allowed else self._options.reasoning_tokens, most if cap is msgspec.UNSET else cap)
        if self._thought_out or more <= allowed or self._is_spent():
            raise ModelRefused(
                f"{self._model.name} thought for {answer.output_tokens or allowed:,} tokens and gave no answer: let it"
                f" think longer with LLM_REASONING_TOKENS (it is {self._options.reasoning_tokens:,}), or have it think"
                " less (options.extra: {reasoning_effort: low})"
            )
        self._thought_out = True
        memory.learn(reasoning_tokens=more)
        self._log(f"its thoughts took all of its output, from now on it may think for {more:,} tokens")
        tell_retrying(self._emit, "it thought until its output was used up; it may think longer now", failed=False)
        return True

    def _thinks(self, answer: ServerAnswer) -> bool | None:
        """Whether it thought before it answered; None: nobody counted. Some servers neither show nor count thoughts:
        then there are more tokens than the text can have."""
        if answer.thought_tokens or answer.thought_bytes or reply_schema.holds_thought(answer.text):
            return True
        counted = answer.output_tokens
        return None if counted is None else counted > estimate(answer.written) + _HIDDEN

    def _rung(self) -> Rung:
        return min(self._trials.rung, self._lowest)

    def _seems_to_ignore(self, rung: Rung, lower: Rung) -> None:
        """This turn goes on with the lower rung; later ones, when it was so twice in a row."""
        if lower < rung:
            self._lowest = lower
            again = self._model.memory.ignored(rung, rung=lower)
            self._log(f"{NAMES[rung]} is ignored, from now on {NAMES[lower]}" if again else f"{NAMES[rung]} is ignored")

    def _bounds(self) -> bool:
        return self._options.preset.bounds and BOUNDS not in self._trials.known.dropped

    def _body(self, rung: Rung, schema: dict[str, Any], native: bool) -> dict[str, Any]:
        o, shown = self._options, self._shown
        assert self._prompt is not None
        more: dict[str, Any] = {}
        if native:
            more[TOOLS] = self._names.listed
            if shown.tools is None:
                more["tool_choice"] = "none"
        return self._trials.body(
            self._prompt.messages,
            output=self._granted(),
            rung=rung,
            name=shown.kind,
            temperature=kind_of(shown.protocol, shown.kind).temperature if o.temperature is None else o.temperature,
            schema=schema,
            more=more,
            stream=shown.stream,
        )

    async def _ask(self, body: dict[str, Any]) -> ServerAnswer:
        """One answer to this body, however often it is turned away."""
        while True:
            if self._is_spent():
                caps = self._shown.caps
                held = f"{caps.calls} calls" if caps.tokens is msgspec.UNSET else f"{caps.tokens:,} tokens"
                lastly = f"; lastly: {self._refused.why}" if self._refused is not None else ""
                raise ModelUnavailable(f"{self._model.name}: the turn's {held} are used up{lastly}")
            try:
                answer = await self._call(body)
            except Rejected as error:
                if error.text:  # an error in mid-stream
                    self._book(None, error.text)
                await self._turned_away(error, body)
            except Broken as error:
                if error.paid:
                    self._book(None, error.text)
                elif not error.reached:
                    self._model.saw_server(error.why)
                if error.cure:
                    raise ModelMisconfigured(f"{self._never}: {error.why}; {error.cure}") from None
                await self._again(error.why, None)
            else:
                self._model.saw_server()
                if answer.silent:
                    await self._said_nothing(answer, body)
                    continue
                self._book(answer, answer.written)
                self._trials.worked()
                return answer

    async def _said_nothing(self, answer: ServerAnswer, body: dict[str, Any]) -> None:
        """An answer without anything is a refusal without words. Where its prompt was counted, it may have been paid,
        and was most likely too long: some servers tell that to nobody."""
        error = Rejected(400, "the answer is empty", "", None, within=True)
        if answer.counted:
            self._book(answer, "")
            error = Rejected(
                400,
                "the answer is empty, maybe since the prompt is larger than the model's window",
                "empty",
                None,
                body="context window",
                within=True,
            )
        await self._turned_away(error, body)

    async def _call(self, body: dict[str, Any]) -> ServerAnswer:
        live = LiveText(self._emit)

        def on_text(piece: str) -> None:
            self._heard += piece.encode("utf-8", "replace")
            if self._shown.stream:  # else the endpoint alone wants it so
                live.feed(piece)

        o = self._options
        endpoint, places = self._model.open()
        async with places.place():
            self._heard, self._under_way = bytearray(), True
            with genai.chat(o.model, o.provider, o.base_url, body) as span:
                answer = await endpoint.complete(body, on_text)
                live.flush()
                genai.record_answer(
                    span,
                    model=answer.model,
                    id=answer.id,
                    finish=answer.finish,
                    tokens=(answer.input_tokens or 0, answer.output_tokens or 0) if answer.counted else None,
                    cached=answer.cached_tokens,
                    thought=answer.thought_tokens,
                )
                return answer

    def _book(self, answer: ServerAnswer | None, text: str) -> None:
        """Count a call that may have been paid; what the server did not count is estimated."""
        self._under_way = False
        assert self._prompt is not None
        counted = answer is not None and answer.counted
        if answer is not None and counted:
            tokens = answer.input_tokens or 0, answer.output_tokens or 0
        else:
            thought = 0 if answer is None else -(-answer.thought_bytes // BYTES_PER_TOKEN)
            tokens = self._prompt.input_tokens, estimate(text) + thought
        cached = answer.cached_tokens if answer is not None and counted else 0
        cost, priced = self._options.effective_price.of(*tokens, cached), self._options.price is not None
        if answer is not None and answer.cost_usd is not None and self._options.preset.tells_cost:
            cost, priced = answer.cost_usd, True
        self.usage += Usage(
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            calls=1,
            cost_usd=cost,
            estimated=not counted,
            cached_tokens=cached or msgspec.UNSET,
            unpriced=not priced,
        )

    def lost(self) -> None:
        """Book the call that was under way when the time was up."""
        if self._under_way:
            self._book(None, self._heard.decode("utf-8", "replace"))

    async def _turned_away(self, error: Rejected, body: dict[str, Any]) -> None:
        """Ask otherwise (`_AskAgain`), wait to try again, or give up."""
        self._under_way = False
        status = error.status
        if error.text:
            await self._again(error.why, error.retry_after_s)
            return
        self._give_up(error)
        loading = refusals.is_loading(error)
        if error.within and error.status == 400 and not self._repeated and not error.code:
            self._repeated = True  # it may be anything, a fault of the moment too
            await self._again(error.why, None)
            return
        if not loading:
            self._ask_otherwise(error, body)
        if not loading and status not in _AGAIN and status < 500:
            raise self._refused_for_good(error)
        asked_s = refusals.wait_s(error)
        if asked_s is not None and status == 429:
            self._model.open()[1].close_for(asked_s)
        await self._again(error.why, asked_s, REJECTIONS if status in _AGAIN else FAILURES, loading=loading)

    def _refused_for_good(self, error: Rejected) -> ModelMisconfigured:
        tried = f"; tried in vain: {self._trials.words}" if self._trials.words else ""
        why = f"{self._never}: the server refuses the request ({error.why}){tried}"
        return ModelMisconfigured(f"{why}. What it asks for may be set with {_setting(error)}")

    def _give_up(self, error: Rejected) -> None:
        stop = refusals.stop(error)
        if stop is not None:
            kind = {Action.CREDIT: ModelUnavailable, Action.FILTER: ModelRefused}.get(stop, ModelMisconfigured)
            cure = refusals.cure(error, self._options.key_names)
            raise kind(f"{self._never}: {refusals.STOPS[stop][0]} ({error.why}); {cure}")

    def _ask_otherwise(self, error: Rejected, body: dict[str, Any]) -> None:
        """Raise `_AskAgain` if there is something else to try."""
        assert self._prompt is not None
        sent = RefusedRequest(
            body=body,
            prompt=self._prompt.input_tokens,
            output=self._output(),
            answer=self._shown.caps.output_tokens,
            rung=self._rung(),
            bounds=self._bounds(),
        )
        words = self._trials.next(error, sent)
        if words:
            self._log(f"refused ({error.why}), going on {words}")
            self._refused = error
            raise _AskAgain

    async def _again(self, why: str, asked_s: float | None, most: int = FAILURES, *, loading: bool = False) -> None:
        """Wait before another try; for a model that is being loaded, as long as the turn has time. Raises
        ModelUnavailable when there is no time or no call for one."""
        self._under_way = False
        self._rejections += 1
        name = self._model.name
        pause_s = backoff_s(self._rejections, self._model.dice)
        if asked_s is not None:
            pause_s = asked_s + 0.1 * pause_s
        if self._rejections > most and not (loading and self._shown.deadline_ns):
            often = f"{name}: turned away {self._rejections} times, lastly: {why}"
            fewer = "LLM_CONCURRENCY sends fewer requests at once"
            raise ModelUnavailable(f"{often}; {fewer if most == REJECTIONS else 'LLM_BASE_URL names another server'}")
        if self._is_spent():
            raise ModelUnavailable(f"{name}: {why}, and no call is left")
        left_s = self._deadline_s - time.time()
        if self._shown.deadline_ns and pause_s + _TELLS_S >= left_s:
            raise ModelUnavailable(f"{name}: {why}; next try in {pause_s:.1f} s, the turn ends in {left_s:.1f} s")
        self._log(f"{why}; next try in {pause_s:.2f} s")
        tell_retrying(self._emit, why, pause_s)
        await asyncio.sleep(pause_s)

    def _flags(self, how: reply_schema.How, repair: prompting.Repair | None) -> tuple[str, ...]:
        assert self._prompt is not None
        return (*reply_schema.flags_of(how, self.usage, repair is not None, self._notes), *self._prompt.flags)

    def _log(self, what: str, level: int = _NOTED) -> None:
        _LOGGER.log(level, "%s, seat %s, %s: %s", self._model.name, self._shown.seat, self._shown.kind, what)
