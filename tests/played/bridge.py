"""An OpenAI-compatible endpoint whose replies are written by whoever reads its folder.

    python -m tests.played.bridge FOLDER [--port 0] [--wait 600]

Each request becomes FOLDER/0001.request.txt (to read: model, reply format, tools, messages) and
FOLDER/0001.request.json (as it came). The reply is what then appears in FOLDER/0001.reply.txt; write it under another
name first and rename it, so that no half of it is read. It is a plain text or JSON, as the request's format asks. Under
a request with tools a JSON object {"tool_calls": [{"name": ..., "arguments": {...}}]} becomes native calls. FOLDER/url
holds the base URL. There is no key, and the usage is estimated from the lengths.
"""

import argparse
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Bridge:
    """The folder, and the number of the next request."""

    def __init__(self, folder: Path, wait_s: float) -> None:
        self.folder, self.wait_s, self.n, self.lock = folder, wait_s, 0, threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def ask(self, body: dict[str, Any]) -> str | None:
        """What was written for a request; None: nobody wrote within the time."""
        with self.lock:
            self.n += 1
            name = f"{self.n:04d}"
        (self.folder / f"{name}.request.json").write_text(json.dumps(body, ensure_ascii=False, indent=1))
        hidden = self.folder / f".{name}.txt"
        hidden.write_text(readable(body))
        hidden.rename(self.folder / f"{name}.request.txt")
        reply, until = self.folder / f"{name}.reply.txt", time.monotonic() + self.wait_s
        while time.monotonic() < until:
            if reply.exists():
                return reply.read_text()
            time.sleep(0.05)
        (self.folder / f"{name}.expired").touch()
        return None


def readable(body: dict[str, Any]) -> str:
    """A request as text."""
    most = body.get("max_tokens") or body.get("max_completion_tokens")
    parts = [f"model: {body.get('model')}   max_tokens: {most}   temperature: {body.get('temperature')}"]
    for name in ("response_format", "tools"):
        if body.get(name):
            parts.append(f"{name}: {json.dumps(body[name], ensure_ascii=False)}")
    for message in body.get("messages", []):
        content = message.get("content")
        if isinstance(content, list):
            content = "\n".join(part.get("text", "") for part in content)
        parts.append(f"----- {message.get('role')}\n{content}")
    return "\n".join(parts)


def reply_of(body: dict[str, Any], text: str) -> tuple[dict[str, Any], str]:
    """(message, why it ended) of what somebody wrote."""
    if body.get("tools"):
        try:
            calls = json.loads(text).get("tool_calls")
        except (ValueError, AttributeError):
            calls = None
        if calls:
            return {"role": "assistant", "content": None, "tool_calls": [
                {"id": f"call_{i}", "type": "function",
                 "function": {"name": call["name"], "arguments": json.dumps(call.get("arguments", {}))}}
                for i, call in enumerate(calls)
            ]}, "tool_calls"  # fmt: skip
    return {"role": "assistant", "content": text}, "stop"


def handler(bridge: Bridge) -> type[BaseHTTPRequestHandler]:
    """The server's side of one connection."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Nothing is logged."""

        def _json(self, status: int, value: object) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self._json(200, {"object": "list", "data": [{"id": "by-hand", "object": "model", "owned_by": "bridge"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if not self.path.endswith("/chat/completions"):
                return self._json(404, {"error": {"message": "only chat/completions"}})
            text = bridge.ask(body)
            if text is None:
                return self._json(504, {"error": {"message": "nobody answered"}})
            text = text.rstrip("\n")
            message, finish = reply_of(body, text)
            asked, said = len(json.dumps(body.get("messages", []))) // 4, len(text) // 4
            usage = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
            base = {"id": f"c{time.time_ns()}", "created": int(time.time()), "model": body.get("model", "by-hand")}
            if not body.get("stream"):
                whole = {"index": 0, "message": message, "finish_reason": finish}
                return self._json(200, {**base, "object": "chat.completion", "usage": usage, "choices": [whole]})
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            delta = {k: v for k, v in message.items() if v is not None}
            for i, call in enumerate(delta.get("tool_calls", [])):
                call["index"] = i
            chunks: list[dict[str, Any]] = [
                {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            ]
            if (body.get("stream_options") or {}).get("include_usage"):
                chunks.append({"choices": [], "usage": usage})
            for chunk in chunks:
                data = json.dumps({**base, "object": "chat.completion.chunk", **chunk})
                self.wfile.write(f"data: {data}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

    return Handler


def serve(folder: Path, port: int = 0, wait_s: float = 600.0) -> tuple[ThreadingHTTPServer, str]:
    """(the server, its base URL); the caller runs it."""
    server = ThreadingHTTPServer(("127.0.0.1", port), handler(Bridge(folder, wait_s)))
    server.daemon_threads = True
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    (folder / "url").write_text(url)
    return server, url


@contextmanager
def played(folder: Path, write: Callable[[str], dict[str, Any]]) -> Iterator[str]:
    """The bridge's URL; a thread in the place of a person answers each request by what it reads there."""
    server, url = serve(folder, wait_s=30)
    over = threading.Event()

    def person() -> None:
        n = 1
        while not over.is_set():
            request = folder / f"{n:04d}.request.txt"
            if not request.exists():
                time.sleep(0.02)
                continue
            hidden = folder / f".{n:04d}.reply"
            hidden.write_text(json.dumps(write(request.read_text())))
            hidden.rename(folder / f"{n:04d}.reply.txt")
            n += 1

    threads = [threading.Thread(target=server.serve_forever), threading.Thread(target=person)]
    for thread in threads:
        thread.start()
    try:
        yield url
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        for thread in threads:
            thread.join(timeout=10)


def main() -> None:
    """Serve until it is ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--wait", type=float, default=600.0, help="seconds until a request is given up with 504")
    given = parser.parse_args()
    server, url = serve(given.folder, given.port, given.wait)
    print(url, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
