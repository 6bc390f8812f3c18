"""Servers that refuse what a rule says, and answer everything else.

A rule names what is refused in a request: more than so many tokens of `output`, of `prompt` or of both (`total`), a
`field`, a `format`, `bounds` of a schema, a `system` message, a `stream` or a `whole` answer; or the first `times`
requests, or `always` all.
"""

import asyncio
import json
import time
from email.utils import formatdate
from typing import Any

from tests.llm.server import ModelServer, Request, Step, raw

_BOUNDS = ('"maxLength"', '"maxItems"', '"minimum"')


def breaks(rule: dict[str, Any], request: Request, before: int) -> bool:
    """Whether a request is refused; `before`: how many came earlier."""
    body, (what, value) = request.body, next(iter(rule.items()))
    output = body.get("max_tokens") or body.get("max_completion_tokens") or 0
    prompt = len(request.prompt) // 4
    schema = json.dumps(body.get("response_format", {}))
    holds: dict[str, bool] = {
        "output": what == "output" and output > value,
        "prompt": what == "prompt" and prompt > value,
        "total": what == "total" and prompt + output > value,
        "field": what == "field" and value in body,
        "format": what == "format" and request.format in value,
        "bounds": any(word in schema for word in _BOUNDS),
        "system": any(m["role"] in ("system", "developer") for m in body["messages"]),
        "stream": bool(body.get("stream")),
        "whole": not body.get("stream"),
        "times": what == "times" and before < value,
        "always": True,
    }
    return holds[what]


def refusal(case: dict[str, Any], streamed: bool) -> Step:
    """The answer that a line of the corpus holds."""
    body, headers = case["body"], dict(case.get("headers", {}))
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    if headers.get("retry-after") == "DATE":
        headers["retry-after"] = formatdate(time.time() + 1, usegmt=True)
    headers = {name.replace("-", "_"): value for name, value in headers.items()}
    if case["status"] == 200 and streamed and not text.startswith("<"):
        return raw(f"event: error\ndata: {text}\n\n".encode(), kind="text/event-stream", **headers)
    kind = "text/html" if text.startswith("<") else "application/json"
    return raw(text.encode(), case["status"], kind, **headers)


def refusing(*cases: dict[str, Any], answer: Step) -> Step:
    """A server with these rules, each with its refusal; the first that is broken speaks."""

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        before = len(server.requests) - 1
        for case in cases:
            if breaks(case["when"], request, before):
                return await refusal(case, bool(request.body.get("stream")))(server, request, writer)
        return await answer(server, request, writer)

    return step
