"""The steps of a turn with tools as messages: what the model said in each, and what came back.

They stand behind the turn's first two messages, and nothing before a step's messages changes in the steps after it. So
each prompt begins with all of the one before it. How many calls are left is said in the newest message, and stays there
as it was. Only where a prompt would pass its cap are old steps shortened, the oldest first, and then so many at once
that the steps after it need not do it again.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from parley.agents.context import PastStep, ToolLoop, Tools
from parley.agents.text.tokens import estimate, first_tokens

Messages = list[dict[str, Any]]
Fence = Callable[[str, str, str], str]
"""Puts a text from outside between two lines with the turn's boundary: what it is, its name, the text."""
_KEPT = 60
"""Tokens that are kept of an old result, and of a long text in an old call."""
_AFTER = 0.4
"""Share of the room for the steps to which they are shortened."""
_MARK = "[shortened: the first {:,} of {:,} characters]"
LAST = "No tool can be called any more: end the turn now, with what you have."
_ENDING = "Reply with the JSON object that ends a turn, and nothing else"


class Way(NamedTuple):
    """How calls are asked for."""

    native: bool
    """Whether they come in the endpoint's own field for calls."""
    fence: Fence
    escape: Callable[[str], str]


def size(messages: Messages) -> int:
    """Estimated tokens of messages."""
    return sum(estimate(_all(m)) + 8 for m in messages)


def calls_note(tools: Tools | None, schema: str = "") -> str:
    """The note on calls at the end of a step's newest message."""
    if tools is None:
        form = f" {_ENDING}. It follows this JSON schema:\n\n{schema}" if schema else ""
        return LAST + form
    return f"Left are {tools.calls_left} calls of tools, and {tools.steps_left} steps before the last."


def grown(steps: ToolLoop, way: Way, room: int, tail: str, schema: str = "") -> tuple[Messages, bool]:
    """(the messages of the steps so far, whether any is shortened) in so many tokens, as far as that goes.

    Parameters
    ----------
    tail
        Stands at the end of the newest message, and in no later prompt.
    schema
        Of the last step's reply, where the server is not given it.
    """
    full = [_step(n, did, way, schema) for n, did in enumerate(steps.did, 1)]
    brief = [_step(n, did, way, schema, _KEPT) for n, did in enumerate(steps.did, 1)]
    count = _shortened([size(m) for m in full], [size(m) for m in brief], room)
    joined = [*brief[:count], *full[count:]]
    cut = count > 0
    if joined:
        spare = room - sum(map(size, joined)) - estimate(tail)
        if spare < 0 and count < len(joined):
            newest = steps.did[-1]
            each = max(0, (size(joined[-1]) + spare) // max(1, len(newest.returned)) - 40)
            joined[-1], cut = _step(len(joined), newest, way, schema, each), True
        if tail:
            last = joined[-1][-1]
            last["content"] = f"{last['content']}\n\n{tail}"
    return [m for messages in joined for m in messages], cut


def _shortened(full: Sequence[int], brief: Sequence[int], room: int) -> int:
    """How many of the oldest steps are shortened. The number is counted anew from the first step on, so that it is the
    same in each step. Once it has grown, it stays for a while."""
    count = 0
    for until in range(1, len(full) + 1):
        if sum(brief[:count]) + sum(full[count:until]) <= room:
            continue
        while count < until - 1 and sum(brief[:count]) + sum(full[count:until]) > _AFTER * room:
            count += 1
    return count


def _step(number: int, did: PastStep, way: Way, schema: str, most: int | None = None) -> Messages:
    """The model's message, and what answers it. `most`: tokens of each result; calls are shortened too. If a call came
    in the endpoint's own field, its answer does not repeat the call: that field has it, with the endpoint's names."""
    raw = did.raw if way.native and did.raw is not None and did.raw.calls else None
    returned = [
        way.fence(
            "result",
            r.label,
            ("" if raw else f"{_cut(r.request, most)}\n\n") + f"{r.ended}:\n{_cut(r.text, most)}",
        )
        for r in did.returned
    ]
    note = calls_note(did.tools_after, schema)
    if raw is None:
        answer = "\n\n".join([*returned, note])
        return [{"role": "assistant", "content": way.escape(_text(did, most))}, {"role": "user", "content": answer}]
    calls: list[dict[str, Any]] = []
    for n, call in enumerate(raw.calls[: len(returned)], 1):
        function = {"name": call.name, "arguments": way.escape(_arguments(call.arguments, most))}
        more = {"extra_content": msgspec.Raw(call.extra)} if call.extra else {}
        calls.append({"id": _id(number, n), "type": "function", "function": function, **more})
    message: dict[str, Any] = {"role": "assistant", "content": way.escape(raw.text) or None, "tool_calls": calls}
    if raw.reasoning:
        message["reasoning_content"] = raw.reasoning
    answers = [{"role": "tool", "tool_call_id": c["id"], "content": r} for c, r in zip(calls, returned, strict=True)]
    answers[-1]["content"] += f"\n\n{note}"
    return [message, *answers]


def _id(step: int, call: int) -> str:
    """Nine letters and digits: some endpoints take no other ids than these."""
    return f"s{step % 10_000:04}c{call % 1_000:03}"


def _text(did: PastStep, most: int | None) -> str:
    if did.raw is not None and did.raw.text and not did.raw.calls and most is None:
        return did.raw.text
    fields = {name: value for name, value in msgspec.to_builtins(did.reply).items() if value not in (None, "", [], ())}
    for call in fields.get("calls", ()):
        call["arguments"] = _arguments(call["arguments"], most)
    return msgspec.json.encode(fields).decode()


def _arguments(text: str, most: int | None) -> str:
    """A call's arguments as a JSON object, whatever the model wrote. If the call is old, its long texts are cut."""
    try:
        fields = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        fields = None
    if not isinstance(fields, dict):
        return "{}"
    if most is None:
        return text or "{}"
    brief = {k: _cut(v, _KEPT) if isinstance(v, str) else v for k, v in fields.items()}
    arguments = msgspec.json.encode(brief).decode()
    return (
        arguments
        if estimate(arguments) <= 8 * _KEPT
        else msgspec.json.encode({"shortened": _cut(arguments, _KEPT)}).decode()
    )


def _cut(text: str, most: int | None) -> str:
    if most is None or estimate(text) <= most + 20:
        return text
    beginning = first_tokens(text, most)
    return f"{beginning}\n{_MARK.format(len(beginning), len(text))}"


def _all(message: dict[str, Any]) -> str:
    text = message.get("content") or ""
    if "tool_calls" in message:
        text += msgspec.json.encode(message["tool_calls"]).decode() + message.get("reasoning_content", "")
    return text
