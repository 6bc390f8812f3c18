"""/v1/responses: posts as parts of one reasoning item, the verdict as a message, plain and as events."""

import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from parley.schemas.result import Result
from parley.web.openai.history import MESSAGE
from parley.web.openai.past import PastResponse
from parley.web.openai.requests import REASONING, RESPONSE
from parley.web.openai.running import Running, content_of, event_of, own_of

_STATUS = {"failed": "failed", "cancelled": "cancelled"}


def response(running: Running, said: Sequence[str]) -> dict[str, Any]:
    """The whole answer."""
    now = int(time.time())
    return finished(running, running.ended, said, running.own(), (now, now), _given(running))


def finished(
    about: Running | PastResponse,
    result: Result,
    said: Sequence[str],
    own: dict[str, Any],
    times: tuple[int, int],
    given: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """An answer of which the session is over. `own`: the field `parley`; `times`: its beginning and its end, in
    seconds since the epoch; `given`: the item with the verdict, where that is not its words."""
    failed = {"code": "server_error", "message": f"the session failed: {result.stop.reason}"}
    return {
        **_frame(about, _STATUS.get(result.status, "completed")),
        "created_at": times[0],
        "output": [_reasoning(about.sid, said), given or _message(about.sid, content_of(result))],
        "usage": usage(result),
        "error": failed if result.status == "failed" else None,
        "completed_at": times[1],
        "parley": own,
    }


def so_far(past: PastResponse, said: Sequence[str]) -> dict[str, Any]:
    """An answer as far as its session has come."""
    if past.result is not None:
        own = own_of(past.result, continues=past.continues) | past.fused
        return finished(past, past.result, said, own, past.times)
    return {
        **_frame(past, "in_progress"),
        "created_at": past.times[0],
        "output": [_reasoning(past.sid, said, "in_progress")],
        "parley": {"session": past.sid, "protocol": past.protocol, "status": "open"},
    }


async def events(running: Running) -> AsyncIterator[bytes]:
    """The same as it comes."""
    numbers = itertools.count()

    def event(kind: str, **more: Any) -> bytes:
        return event_of({"type": f"response.{kind}", "sequence_number": next(numbers), **more}, f"response.{kind}")

    begun = _frame(running, "in_progress")
    yield event("created", response=begun)
    yield event("in_progress", response=begun)
    yield event("output_item.added", output_index=0, item=_reasoning(running.sid, (), "in_progress"))
    said: list[str] = []
    async for text in running.said():
        place = {"item_id": f"{REASONING}{running.sid}", "output_index": 0, "summary_index": len(said)}
        said.append(text)
        yield event("reasoning_summary_part.added", **place, part={"type": "summary_text", "text": ""})
        yield event("reasoning_summary_text.delta", **place, delta=text)
        yield event("reasoning_summary_text.done", **place, text=text)
        yield event("reasoning_summary_part.done", **place, part={"type": "summary_text", "text": text})
    yield event("output_item.done", output_index=0, item=_reasoning(running.sid, said))
    if running.tool:
        call = _given(running)
        yield event("output_item.added", output_index=1, item={**call, "arguments": "", "status": "in_progress"})
        place = {"item_id": call["id"], "output_index": 1}
        yield event("function_call_arguments.delta", **place, delta=call["arguments"])
        yield event("function_call_arguments.done", **place, name=call["name"], arguments=call["arguments"])
        yield event("output_item.done", output_index=1, item=call)
    else:
        for one in _told(running, event):
            yield one
    whole = response(running, said)
    yield event("completed" if whole["status"] == "completed" else "failed", response=whole)


def _told(running: Running, event: Callable[..., bytes]) -> Iterator[bytes]:
    """The verdict as a message."""
    content = running.content()
    place = {"item_id": f"{MESSAGE}{running.sid}", "output_index": 1, "content_index": 0}
    yield event("output_item.added", output_index=1, item=_message(running.sid, None, "in_progress"))
    yield event("content_part.added", **place, part=_part(""))
    for line in content.splitlines(keepends=True):
        yield event("output_text.delta", **place, delta=line, logprobs=[])
    yield event("output_text.done", **place, text=content, logprobs=[])
    yield event("content_part.done", **place, part=_part(content))
    yield event("output_item.done", output_index=1, item=_message(running.sid, content))


def _given(running: Running) -> dict[str, Any]:
    """The item with the verdict: a message, or a call of the tool whose arguments it is."""
    if not running.tool:
        return _message(running.sid, running.content())
    return {
        "type": "function_call",
        "id": f"fc_{running.sid}",
        "call_id": f"call_{running.sid}",
        "name": running.tool,
        "arguments": running.content(),
        "status": "completed",
    }


def usage(result: Result) -> dict[str, Any]:
    """What the whole session used, of all seats."""
    u = result.usage
    return {
        "input_tokens": u.input_tokens,
        "input_tokens_details": {"cached_tokens": u.cached_tokens or 0},
        "output_tokens": u.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": u.input_tokens + u.output_tokens,
    }


def _frame(about: Running | PastResponse, status: str) -> dict[str, Any]:
    earlier = about.continues
    return {
        "id": f"{RESPONSE}{about.sid}",
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "model": about.model,
        "output": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": False,
        "tool_choice": "none",
        "tools": [],
        "temperature": None,
        "top_p": None,
        "previous_response_id": f"{RESPONSE}{earlier}" if earlier else None,
        "usage": None,
        "text": {"format": {"type": "text"}},
    }


def _reasoning(sid: str, said: Sequence[str], status: str = "completed") -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": text} for text in said]
    return {"type": "reasoning", "id": f"{REASONING}{sid}", "summary": parts, "status": status}


def _message(sid: str, content: str | None, status: str = "completed") -> dict[str, Any]:
    parts = [] if content is None else [_part(content)]
    return {
        "type": "message",
        "id": f"{MESSAGE}{sid}",
        "role": "assistant",
        "status": status,
        "content": parts,
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
