"""What agents say to models, in three dialects: OpenAI's chat completions and responses, and Anthropic's messages.

A request is held to the turn's model and room, and loses what the provider would do for it beyond words: tools that run
at the provider reach a network that the sandbox has not, and fields that ask for more answers, or for another model,
cost what nobody reserved.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

PATHS = {
    "/chat/completions": ("max_completion_tokens", "max_tokens"),
    "/responses": ("max_output_tokens",),
    "/messages": ("max_tokens",),
}
"""Where a model is asked -> the fields that limit its answer, the one that is set where none is given last."""
_LOCAL_TYPES = re.compile(r"function|custom|local_shell|apply_patch|(?:bash|text_editor|computer|memory)_\d+")
"""Tools that the agent itself carries out; all other types are the provider's."""
_MORE = (
    "background", "best_of", "container", "conversation", "fallbacks", "mcp_servers", "models", "n", "plugins",
    "previous_response_id", "prompt", "provider", "route", "service_tier", "store", "web_search_options",
)  # fmt: skip
"""Fields that are left out: they ask the provider for more than this answer, or count what is not in the request."""
_MOST_DEPTH = 60
_REMOTE = re.compile(r"\s*(?:https?|ftp|gs|s3|file):", re.I)


class RequestRefused(Exception):
    """A request that is not passed on: says why."""


class CallUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider counted of one call."""

    input: int = 0
    output: int = 0
    cached: int = 0


class Request(NamedTuple):
    """A request that may be passed on, but for the limit of its answer."""

    body: dict[str, Any]
    asked: int
    """The limit that it asks for; 0: none."""
    text: int
    """Bytes without its pictures."""
    pictures: int
    """How many are in it."""


def request(path: str, data: bytes, model: str, tokens_field: str) -> Request:
    """What an agent asks for, held to a model. Raises RequestRefused."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise RequestRefused("the request is not JSON") from None
    if not isinstance(body, dict):
        raise RequestRefused("the request is no JSON object")
    pictures: list[int] = []
    for name, value in body.items():
        if name != "tools":
            _look(value, pictures)
    body = {name: value for name, value in body.items() if name not in _MORE} | {"model": model}
    if path == "/responses":
        body["store"] = False
    if isinstance(body.get("tools"), list):
        body["tools"] = list(_local(body["tools"]))
        if not body["tools"]:
            del body["tools"]
            body.pop("tool_choice", None)
    asked = [body.pop(name) for name in (*PATHS[path], tokens_field) if name in body]
    limit = min((n for n in asked if isinstance(n, int) and n > 0), default=0)
    return Request(body, limit, len(data) - sum(pictures), len(pictures))


def limited(path: str, body: dict[str, Any], tokens: int, tokens_field: str) -> bytes:
    """The request as it goes out: its answer has at most so many tokens, and a stream ends with their count."""
    body[tokens_field if path == "/chat/completions" else PATHS[path][-1]] = tokens
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and isinstance(thinking.get("budget_tokens"), int):
        if tokens <= 1_024:  # the least that may be thought
            del body["thinking"]
        else:
            body["thinking"] = {**thinking, "budget_tokens": min(thinking["budget_tokens"], tokens - 1)}
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _local(tools: list[Any]) -> Iterator[Any]:
    for tool in tools:
        if isinstance(tool, dict) and tool.get("type") == "namespace" and isinstance(tool.get("tools"), list):
            yield {**tool, "tools": list(_local(tool["tools"]))}
        elif isinstance(tool, dict) and _LOCAL_TYPES.fullmatch(str(tool.get("type", "function"))):
            yield tool


def _look(value: Any, pictures: list[int], depth: int = 0) -> None:
    """Look through a part of a message: what is at an address is refused, and pictures' bytes are noted."""
    if depth > _MOST_DEPTH:
        raise RequestRefused(f"it is nested deeper than {_MOST_DEPTH} levels")
    if isinstance(value, list):
        for item in value:
            _look(item, pictures, depth + 1)
    if not isinstance(value, dict) or value.get("type") == "tool_use":  # the agent's own words
        return
    for name in ("image_url", "file_url", "input_audio", "url"):
        at = value.get(name)
        at = at.get("url") if isinstance(at, dict) else at
        if isinstance(at, str) and _REMOTE.match(at) and (name != "url" or value.get("type") == "url"):
            raise RequestRefused("it names an address that the provider would fetch")
        if name == "image_url" and isinstance(at, str):
            pictures.append(len(at))
    source = value.get("source")
    if value.get("type") == "image" and isinstance(source, dict):
        pictures.append(len(str(source.get("data") or "")))
    for item in value.values():
        _look(item, pictures, depth + 1)


class Reading:
    """Counts tokens in an answer that comes in lines: of a stream of events, or of one JSON body."""

    def __init__(self) -> None:
        self._body = bytearray()
        self._streamed = False
        self.counted: CallUsage | None = None
        """None: the provider counted nothing so far."""
        self.bytes = 0
        self.ended = False
        self.sent = False
        """The request went out, and was not turned away: it may have been paid."""

    def line(self, line: bytes) -> None:
        """Take one line."""
        self.bytes += len(line)
        if line.startswith((b"data:", b"event:", b":")):
            self._streamed = True
            if line.startswith(b"data:") and b'"usage"' in line:
                self._count(line[5:])
        elif not self._streamed and len(self._body) < _MOST_BODY:
            self._body += line

    def end(self) -> None:
        """Nothing more comes."""
        self.ended = True
        if not self._streamed:
            self._count(bytes(self._body))

    def _count(self, data: bytes) -> None:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return
        for holder in (value, *(value.get(n) for n in ("message", "response"))) if isinstance(value, dict) else ():
            usage = holder.get("usage") if isinstance(holder, dict) else None
            if isinstance(usage, dict):
                new, old = _counts(usage), self.counted or CallUsage()
                self.counted = CallUsage(
                    input=max(old.input, new.input),
                    output=max(old.output, new.output),
                    cached=max(old.cached, new.cached),
                )


_MOST_BODY = 16_000_000


def _counts(usage: dict[str, Any]) -> CallUsage:
    """Of Anthropic's, what was read from and written to a cache is not among `input_tokens`."""

    def number(of: Any, name: str) -> int:
        value = of.get(name) if isinstance(of, dict) else None
        return value if isinstance(value, int) and 0 <= value < 10**9 else 0

    read, written = number(usage, "cache_read_input_tokens"), number(usage, "cache_creation_input_tokens")
    cached = max(read, *(number(usage.get(f"{n}_tokens_details"), "cached_tokens") for n in ("prompt", "input")))
    return CallUsage(
        input=number(usage, "prompt_tokens") or number(usage, "input_tokens") + read + written,
        output=number(usage, "completion_tokens") or number(usage, "output_tokens"),
        cached=cached,
    )
