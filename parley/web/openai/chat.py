"""/v1/chat/completions: posts as `reasoning_content`, the verdict as `content`, plain and as chunks."""

import time
from collections.abc import AsyncIterator
from typing import Any

from parley.schemas.result import Result
from parley.web.openai.requests import CHAT
from parley.web.openai.running import Running, event_of

DONE = b"data: [DONE]\n\n"


def completion(running: Running, said: list[str]) -> dict[str, Any]:
    """The whole answer."""
    message = {
        "role": "assistant",
        "content": running.content(),
        "reasoning_content": "\n".join(said),
        "refusal": None,
    }
    return {
        **_head(running, "chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": usage(running.ended),
        "parley": running.own(),
    }


async def chunks(running: Running) -> AsyncIterator[bytes]:
    """The same as it comes: a chunk for each post, the verdict, and where it is wished one with the usage."""
    head = _head(running, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return event_of({**head, "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    async for text in running.said():
        yield chunk({"reasoning_content": f"{text}\n"})
    for line in running.content().splitlines(keepends=True):
        yield chunk({"content": line})
    yield chunk({}, "stop", parley=running.own())
    if running.wanted.usage_chunk:
        yield event_of({**head, "choices": [], "usage": usage(running.ended)})
    yield DONE


def usage(result: Result) -> dict[str, Any]:
    """What the whole session used, of all seats."""
    u = result.usage
    return {
        "prompt_tokens": u.input_tokens,
        "completion_tokens": u.output_tokens,
        "total_tokens": u.input_tokens + u.output_tokens,
        "prompt_tokens_details": {"cached_tokens": u.cached_tokens or 0},
    }


def _head(running: Running, kind: str) -> dict[str, Any]:
    return {
        "id": f"{CHAT}{running.sid}",
        "object": kind,
        "created": int(time.time()),
        "model": running.wanted.model,
    }
