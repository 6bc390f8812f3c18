"""A model's server for agents, in three dialects, over HTTP: it counts a token for each four bytes, and records what
reached it. What it says is a list of texts, the last one again and again, or what a function makes of a request."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.llm.server import ModelServer, Request, raw, served

KEY = "the-real-key-0123456789"
Say = Callable[[dict[str, Any], int], dict[str, Any]]
"""(request, number of it) -> `text`, and `tool` with `args` where it calls one."""
LISTED = {"object": "list", "data": [{"id": "hand", "object": "model"}]}
LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")


class Server:
    """The server."""

    def __init__(self, say: Say) -> None:
        self.url = ""
        self.say = say
        self.asked: list[dict[str, Any]] = []
        """Path, headers and body of each request."""
        self.counted = 0
        """Tokens that it told."""
        self.hold: threading.Event | None = None
        """Answers wait for it."""

    async def step(self, server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        """One request."""
        if request.path.endswith("/models"):
            await raw(json.dumps(LISTED).encode())(server, request, writer)
            return
        number, body = len(self.asked), request.body
        self.asked.append({"path": request.path, "headers": request.headers, "body": body})
        said = {"id": f"call_{number}", **await asyncio.to_thread(self.say, body, number)}
        if self.hold is not None:
            await asyncio.to_thread(self.hold.wait, 30)
        if "status" in said:
            error = json.dumps(said.get("error", {})).encode()
            await raw(error, said["status"], **said.get("headers", {}))(server, request, writer)
            return
        limit = next((body[name] for name in LIMITS if name in body), 10**9)
        counted = (said.get("input", len(json.dumps(body)) // 4), min(said.get("output", 20), limit))
        self.counted += sum(counted)
        events = DIALECTS[request.path.split("/v1/")[1].split("?")[0]](said, body, *counted)
        if not body.get("stream"):
            await raw(json.dumps(events[-1][1]).encode())(server, request, writer)
            return
        lines = (f"event: {name}\n" * bool(name) + f"data: {json.dumps(value)}\n\n" for name, value in events[:-1])
        await raw("".join(lines).encode(), kind="text/event-stream")(server, request, writer)


Events = list[tuple[str, dict[str, Any]]]
"""Name and data of each event of a stream; the last is the whole as one body."""


def event(kind: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """One that is called by its type."""
    return kind, {"type": kind, **more}


def chat(said: dict[str, Any], _body: dict[str, Any], tin: int, tout: int) -> Events:
    """OpenAI's chat completions."""
    usage = {"prompt_tokens": tin, "completion_tokens": tout, "total_tokens": tin + tout}
    function = {"name": said.get("tool"), "arguments": json.dumps(said.get("args", {}))}
    call = {"id": said["id"], "type": "function", "function": function}
    calls = {"tool_calls": [{"index": 0, **call}]} if "tool" in said else {}
    end = "tool_calls" if calls else "stop"
    base = {"id": "c1", "created": 1, "model": "hand"}

    def piece(delta: dict[str, Any], finish: str | None = None) -> tuple[str, dict[str, Any]]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return "", {**base, "object": "chat.completion.chunk", "choices": [choice]}

    message = {"role": "assistant", "content": said["text"], **calls}
    choice = {"index": 0, "finish_reason": end, "message": message}
    whole = {**base, "object": "chat.completion", "usage": usage, "choices": [choice]}
    counted = {**base, "object": "chat.completion.chunk", "choices": [], "usage": usage}
    pieces = [piece({"role": "assistant", "content": said["text"]}), *([piece(calls)] if calls else []), piece({}, end)]
    return [*pieces, ("", counted), ("", whole)]


def messages(said: dict[str, Any], body: dict[str, Any], tin: int, tout: int) -> Events:
    """Anthropic's messages."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": said["text"]}]
    if "tool" in said:
        blocks.append({"type": "tool_use", "id": said["id"], "name": said["tool"], "input": said.get("args", {})})
    end = "tool_use" if "tool" in said else "end_turn"
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "stop_reason": end,
             "content": blocks, "usage": {"input_tokens": tin, "output_tokens": tout}}  # fmt: skip
    begun = {**whole, "content": [], "stop_reason": None, "usage": {"input_tokens": tin, "output_tokens": 1}}
    events: Events = [event("message_start", message=begun)]
    for n, block in enumerate(blocks):
        empty = {**block, "input": {}} if block["type"] == "tool_use" else {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block.get("text")}
        if "input" in block:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            event("content_block_start", index=n, content_block=empty),
            event("content_block_delta", index=n, delta=delta),
            event("content_block_stop", index=n),
        ]
    over = {"stop_reason": end, "stop_sequence": None}
    events.append(event("message_delta", delta=over, usage={"output_tokens": tout}))
    return [*events, event("message_stop"), ("", whole)]


def responses(said: dict[str, Any], _body: dict[str, Any], tin: int, tout: int) -> Events:
    """OpenAI's responses."""
    text = {"type": "output_text", "text": said["text"], "annotations": []}
    items: list[dict[str, Any]] = [
        {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}
    ]
    if "tool" in said:
        call = {"call_id": said["id"], "name": said["tool"], "arguments": json.dumps(said.get("args", {}))}
        items.append({"type": "function_call", "id": "f1", "status": "completed", **call})
    usage: dict[str, Any] = {"input_tokens": tin, "output_tokens": tout, "total_tokens": tin + tout}
    usage |= {"input_tokens_details": {"cached_tokens": 0}}
    whole: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed"}
    whole |= {"model": "hand", "output": items, "usage": usage}
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: Events = [event("response.created", response=begun)]
    for n, item in enumerate(items):
        events.append(event("response.output_item.added", output_index=n, item=item))
        events.append(event("response.output_item.done", output_index=n, item=item))
    return [*events, event("response.completed", response=whole), ("", whole)]


DIALECTS = {"chat/completions": chat, "messages": messages, "responses": responses}


def texts(*said: str) -> Say:
    """These, one after another; the last again and again."""
    return lambda _body, n: {"text": said[min(n, len(said) - 1)]}


@contextmanager
def model(say: Say) -> Iterator[Server]:
    """A server."""
    played = Server(say)
    with served(played.step, None) as server:
        played.url = server.url
        try:
            yield played
        finally:
            if played.hold is not None:
                played.hold.set()
