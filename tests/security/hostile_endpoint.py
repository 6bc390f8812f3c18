"""Model endpoints that mean harm: each mode is a step of tests.llm.server, and the call that it is aimed at."""

import asyncio
import json
from functools import partial
from typing import NamedTuple

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
    first: bytes, again: bytes = b"", megabytes: float = 0, last: bytes = b"", *, status: int = 200, kind: str = JSON,
    **headers: str,
) -> Step:  # fmt: skip
    """Answers with these bytes: the first, others so much, the last; in pieces, until the client is gone."""
    named = {k.replace("_", "-"): v for k, v in headers.items()}
    if status == 500:
        named["retry-after"] = "600"  # so that a turn does not try again
    times = int(megabytes * MB) // max(1, len(again))
    per = max(1, 64_000 // max(1, len(again)))

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(_head(status, kind, named, len(first) + len(again) * times + len(last)))
        await _write(writer, first)
        for at in range(0, times, per):
            await _write(writer, again * min(per, times - at))
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


def raw_flood(first: bytes, again: bytes, megabytes: int) -> Step:
    """Bytes as they are, before any status line is complete."""
    piece = again * (64_000 // len(again))

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        await _write(writer, first)
        for _ in range(megabytes * MB // len(piece)):
            await _write(writer, piece)

    return step


def _delta(**delta: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"


def _said(content: str) -> Step:
    return floods(json.dumps({"choices": [{"finish_reason": "stop", "message": {"content": content}}]}).encode())


def _events(again: bytes, megabytes: float = 0, first: bytes = b"", last: bytes = b"") -> Step:
    return floods(first, again, megabytes, last, kind=EVENTS)


whole, stream, models = (partial(Mode, call) for call in ("whole", "stream", "models"))
X = b"x" * 1_000
DEEP = b"[" * 100_000 + b"]" * 100_000
EMPTY = "the answer is empty"
TOO_LONG = r"has more than 4,000,000 bytes.*LLM_REPLY_BYTES"
NESTED = "nested too deeply: the limit is 1,000 levels"
TEXT = "reply's text has more than 1,000,000 bytes, a quarter of LLM_REPLY_BYTES"
NOT_TAKEN = "content-encoding 'gzip' is not taken"
REFUSAL = b'{"choices":[{"message":{"refusal":"'
MODES: dict[str, Mode] = {
    # -- bodies of any status
    "status 500, compressed": whole(
        floods(X, status=500, content_encoding="gzip"), "HTTP 500, content-encoding 'gzip'"
    ),
    "status 500, 600 MB": whole(floods(b"<p>", X, 600, status=500, kind="text/html"), "HTTP 500, .*more than 64,000 b"),
    "status 500, charset punycode": whole(
        floods(b"ab-" + b"9z" * 31_000, status=500, kind="text/plain; charset=punycode"), "HTTP 500"
    ),
    "status 302": whole(floods(b"{}", status=302, location="/v1/more"), "HTTP 302.*not followed"),
    "status 200, compressed": whole(floods(X, content_encoding="gzip"), NOT_TAKEN),
    "status 200, 600 MB": whole(floods(b'{"x":"', X, 600), TOO_LONG),
    "status 200, deep JSON": whole(floods(b'{"choices":' + DEEP + b"}"), NESTED),
    "status 200, many small objects": whole(floods(b'{"x":[', b"[],", 15.9, b'1],"choices":[{}]}'), TOO_LONG),
    "status 200, a number of 3 MB": whole(floods(b'{"choices":[{}],"usage":{"prompt_tokens":', b"9", 3, b"}}"), EMPTY),
    "status 200, a refusal of 15 MB": whole(floods(REFUSAL, b"a.", 15, b'"}}]}'), TOO_LONG),
    "status 200, a reply of 3 MB": whole(_said("x" * 3 * MB), TEXT),
    "status 200, a reply of 900 kB": whole(_said("x" * 900_000), "the reply has more than 400,000 characters"),
    "status 200, a reply of open braces": whole(
        _said('{"a":[' + "[1]," * 90_000), "more than 20,000 lists and objects"
    ),
    "status 200, a reply of nested braces": whole(_said('{"a":' * 19_000), "JSON object"),
    # -- streams
    "a line without end": stream(_events(X, 600, b"data: "), "line.*1,000,000"),
    "an event without end": stream(_events(b"data: " + X + b"\n", 300), "event.*1,000,000"),
    "refusals without end": stream(_events(_delta(refusal="no. " * 20), 130), TEXT),
    "text without end": stream(_events(_delta(content="\u0101 " * 20), 130), TEXT),
    "empty events without end": stream(_events(b"data:{}\n\n", 540), "deadline", 2.0),
    "comments without end": stream(_events(b":\n", 500), "deadline", 2.0),
    "deep JSON in an event": stream(_events(b"", 0, b'data: {"choices":' + DEEP + b"}\n\n"), NESTED),
    "an error in an event that is slow to scan": stream(
        _events(b"a.", 0.4, b'data: {"error":{"message":"', b'"}}\n\n'), "the server failed: a"
    ),
    "one byte a second": stream(trickles(b": x\n", 0.25), "deadline", 2.0),
    # -- headers
    "cookies": whole(floods(b"{}", set_cookie=f"a={'b;' * 4_000}"), EMPTY),
    "a header without end": whole(raw_flood(b"HTTP/1.1 200 OK\r\nx-a: ", X, 600), "connection|closed"),
    "status 100 without end": whole(raw_flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 200), "deadline", 2.0),
    "a chunk size without end": whole(
        raw_flood(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;", X, 600), "deadline", 2.0
    ),
    # -- the list of models
    "models: 600 MB": models(floods(b'{"data":[', X, 600), TOO_LONG),
    "models: status 302": models(floods(b"{}", status=302, location="/v1/more"), "HTTP 302.*not followed"),
}
