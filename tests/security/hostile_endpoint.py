"""Model endpoints that mean harm: each mode is a step of tests.llm.server, and the call that it is aimed at."""

import asyncio
import bz2
import json
from typing import Any, NamedTuple

from tests.llm.server import ModelServer, Request, Step, _head

MB = 1_000_000
JSON, EVENTS = "application/json", "text/event-stream"


class Mode(NamedTuple):
    call: str
    """`stream`, `whole` or `models` (tests.security.endpoint_victim)."""
    step: Step
    why: str
    """What the error says."""
    seconds: float = 30.0
    """The turn's or the call's deadline."""


def floods(
    status: int, kind: str, first: bytes, again: bytes = b"", times: int = 0, *, last: bytes = b"", **headers: Any
) -> Step:
    """Answers with these bytes: the first, others so often, the last; in pieces, until the client is gone."""
    named = {k.replace("_", "-"): v for k, v in headers.items()}
    if status == 500:
        named["retry-after"] = "600"  # so that a turn does not try again
    per = max(1, 64_000 // max(1, len(again)))

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        length = len(first) + len(again) * times + len(last)
        writer.write(_head(status, kind, named, length))
        await _write(writer, first)
        left = times
        while left > 0:
            await _write(writer, again * min(per, left))
            left -= per
        await _write(writer, last)

    return step


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    for at in range(0, len(data), 64_000):
        writer.write(data[at : at + 64_000])
        await writer.drain()


def trickles(data: bytes, every_s: float) -> Step:
    """Answers with one byte at a time, again and again."""

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(_head(200, EVENTS, {}, 1_000_000))
        while True:
            for byte in data:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(every_s)

    return step


def raw_flood(first: bytes, again: bytes, most: int) -> Step:
    """Bytes as they are, before any status line is complete."""

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        await _write(writer, first)
        for _ in range(most // (len(again) * (64_000 // len(again)))):
            await _write(writer, again * (64_000 // len(again)))

    return step


def _delta(**delta: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"


def _said(content: str) -> bytes:
    return json.dumps({"choices": [{"finish_reason": "stop", "message": {"content": content}}]}).encode()


def _wide(first: bytes, item: bytes, megabytes: float, last: bytes) -> tuple[int, str, bytes, bytes, int, bytes]:
    return 200, JSON, first, item, int(megabytes * MB) // len(item), last


def _flood(given: tuple[int, str, bytes, bytes, int, bytes], **headers: Any) -> Step:
    *some, last = given
    return floods(*some, last=last, **headers)  # type: ignore[arg-type]


_DEEP = 100_000
_EMPTY = "the answer is empty"
_TOO_LONG = r"has more than 4,000,000 bytes.*LLM_REPLY_BYTES"
_ERROR = r"HTTP 500, .*more than 64,000 bytes"
_NESTED = "nested too deeply: the limit is 1,000 levels"
_TEXT = "reply's text has more than 1,000,000 bytes, a quarter of LLM_REPLY_BYTES"


def _modes() -> dict[str, Mode]:
    deep = b"[" * _DEEP + b"]" * _DEEP
    found = {
        # -- bodies of any status
        "status 500, compressed": Mode(
            "whole", floods(500, JSON, b"x" * 64_000, content_encoding="gzip"), "HTTP 500, content-encoding 'gzip'"
        ),
        "status 500, 600 MB": Mode("whole", floods(500, "text/html", b"<p>", b"x" * 64_000, 9_375), _ERROR),
        "status 500, deep JSON": Mode("whole", floods(500, JSON, b'{"error":' + deep[: 2 * 30_000] + b"}"), "HTTP 500"),
        "status 500, charset punycode": Mode(
            "whole", floods(500, "text/plain; charset=punycode", b"ab-" + b"9z" * 31_000), "HTTP 500"
        ),
        "status 500, charset bz2": Mode(
            "whole", floods(500, "text/plain; charset=bz2_codec", _bz2(200)), "HTTP 500"
        ),
        "status 500, a message that is slow to scan": Mode(
            "whole", floods(500, JSON, b'{"error":{"message":"', b"a.", 30_000, last=b'"}}'), "HTTP 500"
        ),
        "status 302": Mode("whole", floods(302, JSON, b"{}", location="/v1/more"), "HTTP 302.*not followed"),
        "status 200, compressed": Mode(
            "whole", floods(200, JSON, b"x" * 64_000, content_encoding="gzip"), "content-encoding 'gzip' is not taken"
        ),
        "status 200, 600 MB": Mode("whole", floods(200, JSON, b'{"x":"', b"x" * 64_000, 9_375), _TOO_LONG),
        "status 200, deep JSON": Mode("whole", floods(200, JSON, b'{"choices":' + deep + b"}"), _NESTED),
        "status 200, many small objects": Mode(
            "whole", _flood(_wide(b'{"x":[', b"[],", 15.9, b'1],"choices":[{}]}')), _TOO_LONG
        ),
        "status 200, many small choices": Mode(
            "whole", _flood(_wide(b'{"choices":[', b"{},", 3.9, b"{}]}")), _EMPTY
        ),
        "status 200, a number of 3 MB": Mode(
            "whole", _flood(_wide(b'{"choices":[{}],"usage":{"prompt_tokens":', b"9", 3, b"}}")), _EMPTY
        ),
        "status 200, a refusal of 15 MB": Mode(
            "whole", _flood(_wide(b'{"choices":[{"message":{"refusal":"', b"a.", 15, b'"}}]}')), _TOO_LONG
        ),
        "status 200, a refusal of 3 MB": Mode(
            "whole", _flood(_wide(b'{"choices":[{"message":{"refusal":"', b"a.", 3, b'"}}]}')), _TEXT
        ),
        "status 200, a reply of 3 MB": Mode(
            "whole", floods(200, JSON, _said("x" * 3 * MB)), _TEXT
        ),
        "status 200, a reply of 900 kB": Mode(
            "whole", floods(200, JSON, _said("x" * 900_000)), "the reply has more than 400,000 characters"
        ),
        "status 200, a reply of braces that stay open": Mode(
            "whole", floods(200, JSON, _said('{"a":' * 300 + "[" + "1," * 190_000)), "no JSON object"
        ),
        "status 200, a reply of open braces": Mode(
            "whole", floods(200, JSON, _said('{"a":[' + "[1]," * 90_000)), "more than 20,000 lists and objects"
        ),
        "status 200, a reply of nested braces": Mode(
            "whole", floods(200, JSON, _said('{"a":' * 19_000)), "JSON object"
        ),
        # -- streams
        "a line without end": Mode("stream", floods(200, EVENTS, b"data: ", b"x" * 64_000, 9_375), "line.*1,000,000"),
        "an event without end": Mode(
            "stream", floods(200, EVENTS, b"", b"data: " + b"x" * 1_000 + b"\n", 300_000), "event.*1,000,000"
        ),
        "an event of empty lines without end": Mode(
            "stream", floods(200, EVENTS, b"", b"data:\n", 20 * MB), "event.*1,000,000"
        ),
        "refusals without end": Mode("stream", floods(200, EVENTS, b"", _delta(refusal="no. " * 20), MB), _TEXT),
        "text without end": Mode("stream", floods(200, EVENTS, b"", _delta(content="\u0101 " * 20), MB), _TEXT),
        "empty events without end": Mode(
            "stream", floods(200, EVENTS, b"", b"data:{}\n\n", 60 * MB), "deadline", 2.0
        ),
        "comments without end": Mode("stream", floods(200, EVENTS, b"", b":\n", 250 * MB), "deadline", 2.0),
        "a text of 900 kB in one event": Mode(
            "stream", floods(200, EVENTS, _delta(content='{"answer":"' + "x" * 900_000)), "ended its stream"
        ),
        "deep JSON in an event": Mode("stream", floods(200, EVENTS, b'data: {"choices":' + deep + b"}\n\n"), _NESTED),
        "an error in an event that is slow to scan": Mode(
            "stream", floods(200, EVENTS, b'data: {"error":{"message":"', b"a.", 200_000, last=b'"}}\n\n'),
            "the server failed: a",
        ),
        "one byte a second": Mode("stream", trickles(b": x\n", 0.25), "deadline", 2.0),
        # -- headers
        "cookies": Mode("whole", floods(200, JSON, b"{}", set_cookie=f"a={'b;' * 4_000}"), _EMPTY),
        "headers without end": Mode(
            "whole", raw_flood(b"HTTP/1.1 200 OK\r\n", b"x-a: " + b"x" * 993 + b"\r\n", 600 * MB), "connection|closed"
        ),
        "a header without end": Mode(
            "whole", raw_flood(b"HTTP/1.1 200 OK\r\nx-a: ", b"x" * 1_000, 600 * MB), "connection|closed"
        ),
        "status 100 without end": Mode(
            "whole", raw_flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 200 * MB), "deadline", 2.0
        ),
        "a chunk size without end": Mode(
            "whole",
            raw_flood(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;", b"x" * 1_000, 600 * MB),
            "deadline", 2.0,
        ),
        # -- the list of models
        "models: 600 MB": Mode("models", floods(200, JSON, b'{"data":[', b"x" * 64_000, 9_375), _TOO_LONG),
        "models: status 302": Mode("models", floods(302, JSON, b"{}", location="/v1/more"), "HTTP 302.*not followed"),
    }  # fmt: skip
    return found


def _bz2(megabytes: int) -> bytes:
    return bz2.compress(b"x" * megabytes * MB)


MODES: dict[str, Mode] = _modes()
