"""Reads a completion from the JSON that an endpoint sends. It builds only the fields that are needed.

A list of a million choices costs no memory: one is looked at, the others are skipped. Fields of unexpected types are
skipped as well.
"""

import json
import sys
from typing import Any, TypeVar

import msgspec

from parley.agents.context import NativeCall
from parley.agents.endpoint.bounds import BadBody, Failed, ReplyLimits
from parley.agents.secrets import Secret, mask_keys, scrub

_T = TypeVar("_T")
_NOTHING = msgspec.Raw(b"")
_MOST_SAID = 1_000
"""Characters of a refusal and of an error that are looked at: what is shown is shorter."""
_MOST_THOUGHT = 100_000
"""Bytes of what is sent back beside a call: more is left out."""
MOST_CALLS = 64
"""Calls that are taken of one answer."""
_MOST_NAME = 200
_TRIES = 50
_LEVELS = 4
"""Parts of a content inside one another."""
_EMPTY = (b"", b"null", b"false", b"0", b'""', b"{}", b"[]")


class ServerAnswer(msgspec.Struct, kw_only=True):
    """A completion."""

    text: str = ""
    calls: tuple[NativeCall, ...] = ()
    """Calls of tools in the field that is made for them. Their arguments may be anything."""
    reasoning: str = ""
    """What was thought, beside calls: some endpoints want to see it again with the results."""
    thought: str = ""
    """The end of what was thought beside the text, where no text came."""
    refusal: str = ""
    """Its start."""
    finish: str = ""
    model: str = ""
    """As the server calls it."""
    id: str = ""
    """The server's own for this completion."""
    input_tokens: int | None = None
    """None: the server did not count."""
    output_tokens: int | None = None
    """What was thought included, however the server counts it."""
    thought_tokens: int = 0
    """Of these, as far as the server says."""
    thought_bytes: int = 0
    """Of reasoning that came beside the text."""
    cached_tokens: int = 0
    """Of the input, as far as the server says."""
    cost_usd: float | None = None
    first_token_s: float | None = None

    @property
    def silent(self) -> bool:
        """Whether nothing came at all, and no model made anything: what some servers send in place of an error."""
        made = self.written or self.refusal or self.thought_bytes or self.output_tokens
        return not made and self.finish not in ("length", "content_filter")

    @property
    def counted(self) -> bool:
        """Whether the server counted what it took."""
        return self.input_tokens is not None and self.output_tokens is not None

    @property
    def written(self) -> str:
        """All that the model wrote for an answer, calls too."""
        return self.text + "".join(call.name + call.arguments for call in self.calls)


def _fields(*names: str) -> Any:
    """A type with these fields of an object, each as it came; others are skipped."""
    return msgspec.defstruct("Fields", [(name, msgspec.Raw, _NOTHING) for name in names], gc=False)


def _items(most: int) -> Any:
    """A type with the first items of a list; others are skipped."""
    fields = [(f"c{n}", msgspec.Raw, _NOTHING) for n in range(most)]
    return msgspec.defstruct("Items", fields, array_like=True, gc=False)


_ITEMS = _items(MOST_CALLS)
_CHOICES = _items(1)
_WHOLE = _fields("choices", "usage", "error", "model", "id")
_CHOICE = _fields("message", "delta", "text", "finish_reason")
_MESSAGE = _fields("content", "refusal", "reasoning_content", "reasoning", "tool_calls")
_CALL = _fields("index", "id", "function", "extra_content")
_FUNCTION = _fields("name", "arguments")
_PIECE = _fields("type", "text", "value", "content", "thinking", "reasoning", "summary")
"""A part of a content that came as a list."""
_USAGE = _fields(
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "completion_tokens_details",
    "prompt_tokens_details",
    "prompt_cache_hit_tokens",
    "cached_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cost",
)
_DETAILS = _fields("reasoning_tokens", "cached_tokens")
_ERROR = _fields("message")


def decode(data: bytes | bytearray, kind: type[_T], what: str) -> _T:
    """JSON as a type. Raises BadBody, or msgspec.ValidationError where it is of another type."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):  # what is skipped is not looked at before it is read
        if bytes(data).startswith(b"<"):  # a part that was left for later has no slices
            raise BadBody(
                f"{what} is a web page", "set LLM_BASE_URL to its API, whose path often ends with /v1"
            ) from None
        raise BadBody(f"{what} is not JSON") from None
    except RecursionError:
        raise BadBody(f"{what} is nested too deeply: the limit is {sys.getrecursionlimit():,} levels") from None


class _Made(msgspec.Struct, gc=False):
    """A call as far as it has come."""

    id: str = ""
    name: str = ""
    arguments: bytearray = msgspec.field(default_factory=bytearray)
    extra: bytes = b""


class Reading:
    """Adds bodies or chunks up to one completion."""

    def __init__(self, limits: ReplyLimits, key: Secret | None) -> None:
        self._limits = limits
        self._key = key
        self._text = bytearray()
        self._refusal = bytearray()
        self._thought = bytearray()
        self._last_thought = bytearray()
        self._calls: list[_Made] = []
        self._places: dict[int, _Made] = {}
        self.answer = ServerAnswer()

    def take(self, data: bytes | bytearray, what: str) -> str:
        """Add one body or chunk; the text that came with it. Raises BadBody: no JSON object, an error that the server
        reports, or more text than is taken."""
        try:
            body = decode(data, _WHOLE, what)
        except msgspec.ValidationError:
            raise BadBody("the server's answer holds no completion") from None
        if b"".join(memoryview(body.error)[:40].tobytes().split()) not in _EMPTY:
            raise Failed(without_key(self._error_text(body.error), self._key), bytes(body.error))
        self._count(_part(body.usage, _USAGE))
        if not self.answer.id:
            self.answer.id = self._name(body.id)
            self.answer.model = self.answer.model or self._name(body.model)
        choices = _part(body.choices, _CHOICES)
        choice = _part(choices.c0, _CHOICE) if choices is not None else None
        if choice is None:
            return ""
        self.answer.finish = (_part(choice.finish_reason, str) or self.answer.finish)[:100]
        delta = _part(choice.delta, _MESSAGE)
        message = delta or _part(choice.message, _MESSAGE) or _MESSAGE(content=choice.text)
        refusal, (text, within) = _part(message.refusal, str) or "", _content(message.content)
        reasoning_content = "".join(_content(message.reasoning_content)).encode("utf-8", "replace")
        beside = "".join(_content(message.reasoning)) + within
        thought = reasoning_content or beside.encode("utf-8", "replace")
        self.answer.thought_bytes += len(thought)
        self._last_thought += thought
        if len(self._last_thought) > 2 * _MOST_THOUGHT:
            del self._last_thought[:-_MOST_THOUGHT]
        if len(self._thought) <= _MOST_THOUGHT:
            self._thought += reasoning_content
        if message.tool_calls:
            self._call(message.tool_calls, whole=delta is None)
        self._refusal += refusal.encode("utf-8", "replace")
        self._text += text.encode("utf-8", "replace")
        called = sum(len(call.arguments) for call in self._calls)
        if len(self._text) + len(self._refusal) + called > self._limits.text_bytes:
            raise self._limits.too_much("the reply's text", self._limits.text_bytes)
        return text

    def done(self) -> ServerAnswer:
        """What was taken so far."""
        self.answer.text = self._shown(self._text)
        self.answer.refusal = self._shown(self._refusal[: 4 * _MOST_SAID])[:_MOST_SAID]
        self.answer.calls = tuple(
            NativeCall(name=mask_keys(call.name, self._key), arguments=self._shown(call.arguments), extra=call.extra)
            for call in self._calls
        )
        if self._calls and len(self._thought) <= _MOST_THOUGHT:
            self.answer.reasoning = self._shown(self._thought)
        if not self._text.strip():
            self.answer.thought = self._shown(self._last_thought)
        return self.answer

    def _shown(self, data: bytearray) -> str:
        """What the model wrote, without the key that it was asked with."""
        return mask_keys(data.decode("utf-8", "replace"), self._key)

    def _call(self, raw: msgspec.Raw, *, whole: bool) -> None:
        """Add calls, or parts of them. Some servers leave out the place of a call, others give all of them the same:
        then a part with an id of its own begins another call, as does one that names a function after a call whose
        arguments are whole, and any other goes on with the last. What is no stream has one item for each call."""
        listed = _part(raw, _ITEMS)
        for part in () if listed is None else msgspec.structs.astuple(listed):
            call = _part(part, _CALL)
            if call is None:
                continue
            place, id = _part(call.index, int), (_part(call.id, str) or "")[:200]
            function = _part(call.function, _FUNCTION) or _FUNCTION()
            name, text = (_part(function.name, str) or "")[:_MOST_NAME], _part(function.arguments, str)
            arguments = _object(function.arguments) if text is None else text.encode("utf-8", "replace")
            built = self._calls[-1] if place is None and not id and self._calls else self._places.get(place or 0)
            other = built is None or (id and built.id and id != built.id) or (place is None and id and id != built.id)
            if whole or other or (built is not None and name and arguments and _object(built.arguments)):
                if len(self._calls) >= MOST_CALLS:
                    return
                built = _Made(id=id)
                self._calls.append(built)
                self._places[place or 0] = built
            assert built is not None
            built.name = built.name or name
            built.arguments += arguments
            if call.extra_content and len(call.extra_content) <= _MOST_THOUGHT:
                built.extra = _object(call.extra_content) or built.extra

    def _name(self, raw: msgspec.Raw) -> str:
        return scrub(_part(raw, str) or "", self._key)[:_MOST_NAME]

    def _error_text(self, error: msgspec.Raw) -> str:
        fields = _part(error, _ERROR)
        return _part(error, str) or (_part(fields.message, str) if fields is not None else None) or ""

    def _count(self, usage: Any) -> None:
        if usage is None:
            return
        counts = [_part(n, int) for n in (usage.prompt_tokens, usage.completion_tokens)]
        if all(n is not None and 0 <= n < 1e12 for n in counts) and any(counts):
            self.answer.input_tokens, self.answer.output_tokens = counts
            self._count_thought(usage)
            self._count_cached(usage)
        cost = _part(usage.cost, float)
        if cost is not None and 0 <= cost < 1e6:
            self.answer.cost_usd = cost

    def _count_thought(self, usage: Any) -> None:
        """Some servers count what was thought beside the completion's tokens: only their total holds it."""
        details = _part(usage.completion_tokens_details, _DETAILS) or _DETAILS()
        answer = self.answer
        assert answer.input_tokens is not None and answer.output_tokens is not None
        answer.thought_tokens = _tokens(details.reasoning_tokens)
        total = _part(usage.total_tokens, int)
        if answer.thought_tokens and total == answer.input_tokens + answer.output_tokens + answer.thought_tokens:
            answer.output_tokens += answer.thought_tokens

    def _count_cached(self, usage: Any) -> None:
        """What the server had in its cache. A gateway to Anthropic's own interface may pass its counts on as they are:
        what was read from the cache, or written to it, then stands beside the prompt's tokens."""
        answer = self.answer
        assert answer.input_tokens is not None and answer.output_tokens is not None
        details = _part(usage.prompt_tokens_details, _DETAILS) or _DETAILS()
        read, written = _tokens(usage.cache_read_input_tokens), _tokens(usage.cache_creation_input_tokens)
        beside = read + written
        total = _part(usage.total_tokens, int)
        if beside and (beside > answer.input_tokens or total == answer.input_tokens + answer.output_tokens + beside):
            answer.input_tokens += beside
        cached_counts = (details.cached_tokens, usage.prompt_cache_hit_tokens, usage.cached_tokens)
        answer.cached_tokens = min(answer.input_tokens, max(read, *map(_tokens, cached_counts)))


def _tokens(raw: msgspec.Raw) -> int:
    """A count; 0 where there is none that can be one."""
    count = _part(raw, int) or 0
    return count if 0 <= count < 1e12 else 0


def _part(raw: msgspec.Raw, kind: type[_T]) -> _T | None:
    """A part as this type; None: it is absent, or another. Raises BadBody where it is no JSON."""
    if not raw:
        return None
    try:
        return decode(raw, kind, "the server's answer")
    except msgspec.ValidationError:
        return None


def _content(raw: msgspec.Raw, deep: int = _LEVELS) -> tuple[str, str]:
    """A content's text, and the thoughts in it: a text, an object in its place, or a list of parts."""
    text = _part(raw, str)
    if text is not None or not raw or not deep:
        return text or "", ""
    listed = _part(raw, _ITEMS)
    if listed is not None:
        read = [_content(item, deep - 1) for item in msgspec.structs.astuple(listed) if item]
        return "".join(text for text, _ in read), "".join(thought for _, thought in read)
    piece = _part(raw, _PIECE)
    if piece is None:
        return "", ""
    if deep == _LEVELS and not piece.type:  # an answer that a server has read already
        return _object(raw).decode("utf-8", "replace"), ""
    thought = "".join(_content(part, deep - 1)[0] for part in (piece.thinking, piece.reasoning, piece.summary) if part)
    text = "".join(_content(part, deep - 1)[0] for part in (piece.text, piece.value, piece.content) if part)
    hidden = any(word in (_part(piece.type, str) or "") for word in ("think", "reason", "thought"))
    return ("", thought + text) if hidden else (text, thought)


def ends_whole(text: str) -> bool:
    """Whether a text ends with a whole JSON object."""
    text = text.rstrip().removesuffix("```").rstrip()
    at, decoder = text.find("{"), json.JSONDecoder()
    for _ in range(_TRIES if text.endswith("}") else 0):
        try:
            end = decoder.raw_decode(text, at)[1] if at >= 0 else 0
        except (ValueError, RecursionError):
            end = at + 1
        if end == len(text) or at < 0:
            return at >= 0
        at = text.find("{", end)
    return False


def _object(raw: msgspec.Raw | bytes | bytearray) -> bytes:
    """A JSON object as it came; empty: it is none."""
    if not raw:
        return b""
    try:
        return bytes(raw) if isinstance(msgspec.json.decode(raw), dict) else b""
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return b""


def without_key(message: Any, key: Secret | None) -> str:
    """A text of the server's as an error shows it: without the key, cut before it is searched for others."""
    return scrub(mask_keys(str(message), key)[:_MOST_SAID], key)
