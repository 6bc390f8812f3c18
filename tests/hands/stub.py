"""A model's server for agents, in three dialects, over HTTP: it counts a token for each four bytes, and records what
reached it. What it says is a list of texts, the last one again and again, or what a function makes of a request."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "the-real-key-0123456789"
Say = Callable[[dict[str, Any], int], dict[str, Any]]
"""(request, number of it) -> `text`, and `tool` with `args` where it calls one."""


class Server(ThreadingHTTPServer):
    """The server."""

    daemon_threads = True

    def __init__(self, say: Say) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.say = say
        self.lock = threading.Lock()
        self.asked: list[dict[str, Any]] = []
        """Path, headers and body of each request."""
        self.counted = 0
        """Tokens that it told."""
        self.hold: threading.Event | None = None
        """Answers wait for it."""

    @property
    def url(self) -> str:
        """Its address, as a provider's."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def _send(self, data: bytes, kind: str, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """The list of models."""
        self._send(
            json.dumps({"object": "list", "data": [{"id": "hand", "object": "model"}]}).encode(), "application/json"
        )

    def do_POST(self) -> None:
        """An answer."""
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(data)
        with self.server.lock:
            number = len(self.server.asked)
            headers = {k.lower(): v for k, v in self.headers.items()}
            self.server.asked.append({"path": self.path, "headers": headers, "body": body})
        said = {"id": f"call_{number}", **self.server.say(body, number)}
        if self.server.hold is not None:
            self.server.hold.wait(30)
        if "status" in said:
            self._send(
                json.dumps(said.get("error", {})).encode(),
                "application/json",
                said["status"],
                **said.get("headers", {}),
            )
            return
        limit = next(
            (body[n] for n in ("max_completion_tokens", "max_tokens", "max_output_tokens") if n in body), 10**9
        )
        counted = (said.get("input", len(data) // 4), min(said.get("output", 20), limit))
        self.server.counted += sum(counted)
        dialect = {"chat/completions": chat, "messages": messages, "responses": responses}[
            self.path.split("/v1/")[1].split("?")[0]
        ]
        events = dialect(said, body, *counted)
        if not body.get("stream"):
            self._send(json.dumps(events[-1][1]).encode(), "application/json")
            return
        lines = "".join(
            f"event: {n}\ndata: {json.dumps(v)}\n\n" if n else f"data: {json.dumps(v)}\n\n" for n, v in events[:-1]
        )
        self._send(lines.encode(), "text/event-stream")


Events = list[tuple[str, dict[str, Any]]]
"""Name and data of each event of a stream; the last is the whole as one body."""


def chat(said: dict[str, Any], _body: dict[str, Any], tin: int, tout: int) -> Events:
    """OpenAI's chat completions."""
    usage = {"prompt_tokens": tin, "completion_tokens": tout, "total_tokens": tin + tout}
    call = {
        "id": said["id"],
        "type": "function",
        "function": {"name": said.get("tool"), "arguments": json.dumps(said.get("args", {}))},
    }
    calls = {"tool_calls": [{"index": 0, **call}]} if "tool" in said else {}
    end = "tool_calls" if calls else "stop"
    base = {"id": "c1", "created": 1, "model": "hand"}

    def piece(delta: dict[str, Any], finish: str | None = None) -> tuple[str, dict[str, Any]]:
        return "", {
            **base,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    message = {"role": "assistant", "content": said["text"], **calls}
    whole = {
        **base,
        "object": "chat.completion",
        "usage": usage,
        "choices": [{"index": 0, "finish_reason": end, "message": message}],
    }
    counted = {**base, "object": "chat.completion.chunk", "choices": [], "usage": usage}
    return [
        piece({"role": "assistant", "content": said["text"]}),
        *([piece(calls)] if calls else []),
        piece({}, end),
        ("", counted),
        ("", whole),
    ]


def messages(said: dict[str, Any], body: dict[str, Any], tin: int, tout: int) -> Events:
    """Anthropic's messages."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": said["text"]}]
    if "tool" in said:
        blocks.append({"type": "tool_use", "id": said["id"], "name": said["tool"], "input": said.get("args", {})})
    end = "tool_use" if "tool" in said else "end_turn"
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "stop_reason": end,
             "content": blocks, "usage": {"input_tokens": tin, "output_tokens": tout}}  # fmt: skip
    begun = {**whole, "content": [], "stop_reason": None, "usage": {"input_tokens": tin, "output_tokens": 1}}
    events: Events = [("message_start", {"type": "message_start", "message": begun})]
    for n, block in enumerate(blocks):
        empty = {**block, "input": {}} if block["type"] == "tool_use" else {"type": "text", "text": ""}
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            if "input" in block
            else {"type": "text_delta", "text": block["text"]}
        )
        events.append(("content_block_start", {"type": "content_block_start", "index": n, "content_block": empty}))
        events.append(("content_block_delta", {"type": "content_block_delta", "index": n, "delta": delta}))
        events.append(("content_block_stop", {"type": "content_block_stop", "index": n}))
    events.append(
        (
            "message_delta",
            {
                "type": "message_delta",
                "delta": {"stop_reason": end, "stop_sequence": None},
                "usage": {"output_tokens": tout},
            },
        )
    )
    return [*events, ("message_stop", {"type": "message_stop"}), ("", whole)]


def responses(said: dict[str, Any], _body: dict[str, Any], tin: int, tout: int) -> Events:
    """OpenAI's responses."""
    text = {"type": "output_text", "text": said["text"], "annotations": []}
    items: list[dict[str, Any]] = [
        {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}
    ]
    if "tool" in said:
        items.append(
            {
                "type": "function_call",
                "id": "f1",
                "call_id": said["id"],
                "name": said["tool"],
                "arguments": json.dumps(said.get("args", {})),
                "status": "completed",
            }
        )
    usage = {
        "input_tokens": tin,
        "output_tokens": tout,
        "total_tokens": tin + tout,
        "input_tokens_details": {"cached_tokens": 0},
    }
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "hand",
        "output": items,
        "usage": usage,
    }
    events: Events = [
        (
            "response.created",
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
        )
    ]
    for n, item in enumerate(items):
        events.append(
            ("response.output_item.added", {"type": "response.output_item.added", "output_index": n, "item": item})
        )
        events.append(
            ("response.output_item.done", {"type": "response.output_item.done", "output_index": n, "item": item})
        )
    return [*events, ("response.completed", {"type": "response.completed", "response": whole}), ("", whole)]


def texts(*said: str) -> Say:
    """These, one after another; the last again and again."""
    return lambda _body, n: {"text": said[min(n, len(said) - 1)]}


@contextmanager
def model(say: Say) -> Iterator[Server]:
    """A server."""
    server = Server(say)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        if server.hold is not None:
            server.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()
