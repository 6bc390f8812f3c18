"""An OpenAI-compatible endpoint that plays the sessions of tests/played/sessions, and counts tokens like a tokenizer.

It is asked over HTTP as any provider, so its seats are metered. A seat's model name is its own name
(`<SEAT>_LLM_MODEL`), which says whose request it is; the schema's name says the kind. Replies come in the order of the
recording, the last one again and again, each with the fields alone that its schema asks for. Where nothing was
recorded, the shortest reply is given that the schema takes.
"""

import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

from tests.played.sessions import SESSIONS

_PIECE = re.compile(r"\s?[A-Za-z]{1,12}|\d{1,3}|[^\sA-Za-z\d]{1,3}|\n+|\s{2,}")

SEATS = (
    "panelist_1", "panelist_2", "panelist_3", "panelist_4", "analyst", "answerer", "critic", "judge", "judge_1",
    "judge_2", "judge_3", "debater_1", "debater_2", "pro_1", "pro_2", "con_1", "con_2", "expert_qa-engineer",
    "expert_implementation-engineer", "expert_implementation-auditor",
)  # fmt: skip
"""Of all played sessions."""


def tokens(text: str) -> int:
    """About as many as a vocabulary of 100,000 makes of it: words, threes of digits, pairs of signs."""
    return len(_PIECE.findall(text))


class Player:
    """The replies of one session, and what was asked."""

    def __init__(self, name: str) -> None:
        self._lock = threading.Lock()
        self._replies: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for said in SESSIONS[name].replies:
            self._replies[said.seat, said.kind].append(said.reply)
        self._said: dict[tuple[str, str], int] = defaultdict(int)
        self.asked: list[tuple[str, str, int, int]] = []
        """(seat, kind, tokens of the prompt, tokens of the reply) of each request."""

    def again(self) -> None:
        """Begin the session anew."""
        with self._lock:
            self._said.clear()
            self.asked.clear()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The completion of a request."""
        seat, form = str(body["model"]).removeprefix("expert_"), body.get("response_format") or {}
        if not any(of == seat for of, _ in self._replies):
            seat = f"{seat}_1"  # of several judges the first has the queue `judge`
        mine = (kind for of, kind in self._replies if of == seat)
        kind = form.get("json_schema", {}).get("name") or next(mine, "")  # a step with tools names no schema
        schema = form.get("json_schema", {}).get("schema", {})
        with self._lock:
            replies, n = self._replies.get((seat, kind), []), self._said[seat, kind]
            self._said[seat, kind] += 1
            reply = as_asked(replies[min(n, len(replies) - 1)], schema) if replies else shortest(schema, schema)
            prompt = sum(4 + tokens(str(m.get("content") or "")) for m in body["messages"])
            prompt += sum(tokens(json.dumps(body[name])) for name in ("response_format", "tools") if body.get(name))
            text = json.dumps(reply, ensure_ascii=False)
            self.asked.append((seat, kind, prompt, tokens(text)))
        return completion(seat, {"content": text}, "stop", prompt, tokens(text))


def as_asked(value: Any, schema: Any) -> Any:
    """What was recorded without the fields that this schema does not ask for; the recording has all of them."""
    if isinstance(value, dict) and "properties" in schema:
        return {name: as_asked(value[name], of) for name, of in schema["properties"].items() if name in value}
    if isinstance(value, list) and "items" in schema:
        return [as_asked(item, schema["items"]) for item in value]
    return value


def shortest(schema: Any, root: Any) -> Any:
    """The shortest value that a JSON schema takes."""
    if "$ref" in schema:
        return shortest(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for way in ("anyOf", "oneOf"):
        if way in schema:
            return shortest(schema[way][-1], root)
    match schema.get("type"):
        case "object":
            return {name: shortest(of, root) for name, of in schema.get("properties", {}).items()}
        case "array":
            return [shortest(schema["items"], root)] * int(schema.get("minItems", 0))
        case "string":
            return "A4"
        case "number" | "integer":
            return schema.get("minimum", 1)
        case "boolean":
            return False
    return None


@contextmanager
def serving(
    answer: Callable[[dict[str, Any]], dict[str, Any]], page: Mapping[str, Any] = MappingProxyType({"data": []})
) -> Iterator[str]:
    """The base URL of a server that gives these completions, while it listens; and this page to whoever looks."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _send(self, answer: dict[str, Any]) -> None:
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self._send(dict(page))

        def do_POST(self) -> None:
            self._send(answer(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))))

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def endpoint(name: str) -> Iterator[tuple[str, Player]]:
    """(its base URL, the player) while it listens."""
    player = Player(name)
    with serving(player.answer) as url:
        yield url, player


def completion(model: str, message: dict[str, Any], finish: str, prompt: int, said: int) -> dict[str, Any]:
    """A whole reply."""
    used = {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    return {"id": "x", "object": "chat.completion", "model": model, "choices": [choice], "usage": used}


@contextmanager
def written(write: Callable[[str], dict[str, Any]]) -> Iterator[str]:
    """The base URL of a server whose replies are written by what is read of a request's messages; one that has
    `tool_calls`, each of a `name` and `arguments`, calls these tools."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        read = "\n".join(str(m.get("content") or "") for m in body["messages"])
        reply = write(read)
        message, finish = {"content": json.dumps(reply)}, "stop"
        if calls := reply.get("tool_calls"):
            functions = [{"name": call["name"], "arguments": json.dumps(call["arguments"])} for call in calls]
            told = [{"id": f"call_{n}", "type": "function", "function": f} for n, f in enumerate(functions)]
            message, finish = {"content": None, "tool_calls": told}, "tool_calls"  # type: ignore[dict-item]
        return completion(body["model"], message, finish, tokens(read), tokens(json.dumps(reply)))

    with serving(answer) as url:
        yield url


def variables(url: str, *seats: str) -> dict[str, str]:
    """The environment that puts every seat on it, each with a model of its own name."""
    names = {f"{re.sub('[^A-Z0-9]', '_', seat.upper())}_LLM_MODEL": seat for seat in seats}
    return {
        "LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "any", "LLM_BASE_URL": url, "LLM_API_KEY": "none",
        "LLM_USD_PER_MILLION_INPUT": "1", "LLM_USD_PER_MILLION_OUTPUT": "3", **names,
    }  # fmt: skip
