"""The requests of one turn, by what is known of its endpoint, and what they do otherwise once one was refused.

A refusal whose text says what to do is answered with that (agents/openai/refusals.py). One that says nothing known
leads one step down the request's lattice: its optional fields one by one, then the schema, then the system message into
the user's, then whole or streamed, then half the documents. Steps add up, and each is one request, which nobody pays.

What worked is remembered, and nothing else: a step counts once the refusal that led to it did not come again.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from parley.agents.endpoint.endpoint import Rejected
from parley.agents.openai import refusals
from parley.agents.openai.options import EndpointOptions
from parley.agents.openai.probe import BOUNDS, SYSTEM, LearnedLimits, Memory, with_lesson
from parley.agents.openai.providers import NAMES, Rung
from parley.agents.openai.refusals import Action

MOST = 16
"""Requests of one turn that may be refused before it gives up."""
_LEAST_PROMPT = 400
"""Tokens: a prompt is not halved below that."""
_LEAST_OUTPUT = 256
_OPTIONAL = ("temperature", "stream_options", "tool_choice")
_OTHER_FIELD = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_SAYS_NO = re.compile(
    r"un(?:supported|known|recogni[sz]ed|expected)|not (?:supported|allowed|permitted|a valid)|n't support"
    r"|does not support|extra|instead|forbidden|invalid|cannot",
    re.I,
)
_BOUND_WORDS = re.compile(
    r"m(?:in|ax)(?:length|imum|items)|repetition|grammar|invalid schema|too many states|\benum\b|\brange", re.I
)
_REFUSED = frozenset({400, 404, 413, 422})
"""Statuses that lead down the lattice whatever their text says."""
_HEARD = _REFUSED | {402, 403, 405, 429, 500, 501}
"""Statuses whose text is listened to."""


TOOLS = "tools"
"""Name of a lesson, and the field: the endpoint takes no tools."""
_OF_TOOLS = _REFUSED - {413} | {405, 500, 501}
_TOOLS_THEMSELVES = re.compile(r"tool(?!_call)|function", re.I)
_IN_TEXT = "with tools called in a text"
_SLIP = "tool_use_failed"
"""Code of an error that is about one call which the model wrote, and not about the request."""


class RefusedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was refused."""

    body: dict[str, Any]
    prompt: int
    """Tokens, by estimate."""
    output: int
    answer: int
    """Of the output, the cap of the answer."""
    rung: Rung
    bounds: bool


class _Step(msgspec.Struct, kw_only=True):
    words: str
    lesson: dict[str, Any]
    refusal: str
    """What led to it."""
    lasts: bool = True
    cured: bool = True


class Trials:
    """The steps of one turn, over what is known of its endpoint."""

    def __init__(self, memory: Memory, options: EndpointOptions) -> None:
        self._memory = memory
        self._options = options
        self._steps: list[_Step] = []

    @property
    def known(self) -> LearnedLimits:
        """What the next request goes by."""
        known = self._memory.get()
        for step in self._steps:
            known = with_lesson(known, **step.lesson)
        return known

    @property
    def rung(self) -> Rung:
        """How the next reply is asked for."""
        highest, known = self._options.highest_rung, self.known.rung
        return highest if known is None else min(known, highest)

    def body(
        self,
        messages: list[dict[str, Any]],
        *,
        output: int,
        rung: Rung,
        name: str,
        schema: Mapping[str, Any],
        temperature: float | None = None,
        more: Mapping[str, Any] | None = None,
        stream: bool = False,
    ) -> dict[str, Any]:
        """The body of the next request, without the fields that the endpoint refused before.

        Parameters
        ----------
        output
            Tokens at most.
        name, schema
            Of the reply, for a rung that takes a schema.
        more
            Tools, and how they may be called.
        stream
            Whether it is to stream, where nothing else was learned.
        """
        o, known = self._options, self.known
        body: dict[str, Any] = {
            "model": o.model,
            "messages": _without_system(messages) if SYSTEM in known.dropped else messages,
            known.tokens_field or o.preset.tokens_field: output,
            **o.preset.extra,
            **o.extra,
        }
        if temperature is not None:
            body["temperature"] = temperature
        if rung is Rung.SCHEMA:
            wanted = {"name": name, "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        elif rung is Rung.JSON:
            body["response_format"] = {"type": "json_object"}
        body |= more or {}
        if stream if known.stream is None else known.stream:
            body["stream"] = True
            if o.preset.stream_usage:
                body["stream_options"] = {"include_usage": True}
        return {field: value for field, value in body.items() if field not in known.dropped}

    @property
    def words(self) -> str:
        """What was tried; empty: nothing."""
        return ", ".join(step.words for step in self._steps)

    def next(self, refusal: Rejected, sent: RefusedRequest) -> str:
        """What the next request does otherwise, in words. Empty: nothing is left to try."""
        print_ = _fingerprint(refusal)
        if self._steps:
            self._steps[-1].cured = self._steps[-1].refusal != print_
        if len(self._steps) >= MOST:
            return ""
        for words, lesson, lasts in self._ways(refusal, sent):
            if with_lesson(self.known, **lesson) != self.known and all(lesson != s.lesson for s in self._steps):
                self._steps.append(_Step(words=words, lesson=lesson, refusal=print_, lasts=lasts))
                return words
        return ""

    def worked(self) -> None:
        """An answer came: remember what led to it. What does not last holds for this turn."""
        for step in self._steps:
            if step.cured and step.lasts:
                self._memory.learn(**step.lesson)
        self._steps = [step for step in self._steps if not step.lasts]

    def _ways(self, refusal: Rejected, sent: RefusedRequest) -> Iterator[tuple[str, dict[str, Any], bool]]:
        """(in words, the lesson, whether it lasts): first what the text says, then down the lattice."""
        if refusal.status in _HEARD and (refusal.status != 429 or refusals.is_too_large(refusal)):
            for action, found in refusals.matching(refusal):
                if refusal.status >= 500 and action in (Action.FIELD, Action.OTHER_TOKENS_FIELD):
                    continue
                yield from self._way(action, found.string, refusal, sent)
        if refusal.status in _REFUSED:
            yield from self._down(refusal, sent)
        if TOOLS in sent.body and refusal.status in _OF_TOOLS and refusal.status < 500:
            yield _IN_TEXT, {"drop": TOOLS}, False

    def _down(self, refusal: Rejected, sent: RefusedRequest) -> Iterator[tuple[str, dict[str, Any], bool]]:
        """The lattice."""
        if refusal.status == 413:
            yield from _shorter(refusal, sent, True)
        for name in _optional(sent, self._options):
            yield f"without {name}", {"drop": name}, True
        yield from _lower(sent, "")
        yield from self._way(Action.NO_SYSTEM, "", refusal, sent)
        yield from self._way(Action.NO_STREAM if sent.body.get("stream") else Action.STREAM, "", refusal, sent)
        if not any("prompt" in step.lesson for step in self._steps):
            yield from _shorter(refusal, sent, False)

    def _way(
        self, action: Action, text: str, refusal: Rejected, sent: RefusedRequest
    ) -> Iterator[tuple[str, dict[str, Any], bool]]:
        body = sent.body
        if action in (Action.LESS_OUTPUT, Action.AFFORD):
            hint = refusals.limit_in(refusal, sent.output, output=True)
            if hint is not None:
                yield f"with {hint:,} tokens of output", {"output": hint}, action is Action.LESS_OUTPUT
            if (half := sent.output // 2) >= _LEAST_OUTPUT:
                yield f"with {half:,} tokens of output", {"output": half}, action is Action.LESS_OUTPUT
        elif action is Action.SHORTER:
            yield from _shorter(refusal, sent, True)
        elif action is Action.OTHER_TOKENS_FIELD:
            field = next((name for name in _OTHER_FIELD if name in body), "")
            if field and field in text and _SAYS_NO.search(text):
                yield f"with {_OTHER_FIELD[field]}", {"tokens_field": _OTHER_FIELD[field]}, True
        elif action is Action.NO_TOOLS:
            if TOOLS not in body or refusal.status not in _OF_TOOLS or refusals.is_too_large(refusal):
                return
            if "tool_choice" in body and "tool_choice" in text.lower():
                yield "without tool_choice", {"drop": "tool_choice"}, True
            themselves = _TOOLS_THEMSELVES.search(text) is not None and refusal.code != _SLIP
            yield _IN_TEXT, {"drop": TOOLS}, themselves and "response_format" not in body
        elif action is Action.FIELD:
            for name in _optional(sent, self._options):
                if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text, re.I):
                    yield f"without {name}", {"drop": name}, True
        elif action is Action.LOWER_RUNG:
            yield from _lower(sent, text)
        elif action is Action.NO_SYSTEM:
            if any(m.get("role") in ("system", "developer") for m in body["messages"]):
                yield "with the system message in the user's", {"drop": SYSTEM}, True
        elif action is Action.STREAM and not body.get("stream"):
            yield "as a stream", {"stream": True}, True
        elif action is Action.NO_STREAM and body.get("stream"):
            yield "without a stream", {"stream": False}, True


def _without_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with those of the system at the beginning of the first of the user's."""
    system = [m["content"] for m in messages if m["role"] in ("system", "developer")]
    rest = [m for m in messages if m["role"] not in ("system", "developer")]
    at = next((i for i, m in enumerate(rest) if m["role"] == "user"), None)
    if at is None:
        return [{"role": "user", "content": "\n\n".join(system)}, *rest]
    return [*rest[:at], {**rest[at], "content": "\n\n".join([*system, rest[at]["content"]])}, *rest[at + 1 :]]


def _optional(sent: RefusedRequest, options: EndpointOptions) -> list[str]:
    """Fields that a request can do without: the usual ones, then a provider's and an operator's own."""
    names = (*_OPTIONAL, *options.preset.extra, *options.extra)
    return [name for name in dict.fromkeys(names) if name in sent.body]


def _lower(sent: RefusedRequest, text: str) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """The next rung. A schema that is refused for its bounds, or nobody knows for what, is first tried without them."""
    if "response_format" not in sent.body:
        return
    if sent.rung is Rung.SCHEMA and sent.bounds and (not text or _BOUND_WORDS.search(text)):
        yield "with a schema without ranges and lengths", {"drop": BOUNDS}, True
    lower = Rung(sent.rung - 1)
    yield f"with {NAMES[lower]}, since {NAMES[sent.rung]} is refused", {"rung": lower}, True


def _shorter(refusal: Rejected, sent: RefusedRequest, told: bool) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """A window that the text names; else no more output than the answer needs, then half the prompt, and again."""
    window = refusals.limit_in(refusal, sent.prompt + sent.output, own=sent.output) if told else None
    if window is not None:
        yield f"within a window of {window:,} tokens", {"window": window}, True
    if sent.output > sent.answer and not refusal.within:  # status 200: its prompt was taken in hand
        yield f"with {sent.answer:,} tokens of output", {"output": sent.answer}, True
    if (half := sent.prompt // 2) >= _LEAST_PROMPT:
        yield f"with a prompt of {half:,} tokens", {"prompt": half}, True


def _fingerprint(refusal: Rejected) -> str:
    """What is the same in a refusal that comes again: not its numbers and names of requests."""
    return f"{refusal.status} " + re.sub(r"\S*\d\S*", "", refusal.body)[:400]
