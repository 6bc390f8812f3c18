"""The conversation of a request, as texts: what people and models said, what tools were called and gave.

Agent frameworks send the whole history with each request, tool calls and images with it. Calls and what they gave
become texts; what cannot be one is left out by its place, and named in the answer.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from parley.client.evidence import SentFile
from parley.schemas.session import SESSION_ID
from parley.web.openai.errors import ApiError
from parley.web.openai.files import files_of, is_file

FOOTER = "parley session "
_FOOTER = re.compile(rf"^{FOOTER}([A-Za-z0-9_-]{{1,64}})$")
MESSAGE = "msg_"
"""What stands before a session's id in the id of a message."""
MOST_MESSAGES = 2_000
"""Of a conversation, and parts of one message: all are looked at before anybody else is answered."""
_TEXTS = ("text", "input_text", "output_text", "refusal")
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
CALL, TOOL = "call", "tool"
"""Roles of a tool that was called, and of what it gave."""


class ChatMessage(NamedTuple):
    """One message of a conversation."""

    role: str
    """system | user | assistant | call | tool"""
    text: str
    session: str = ""
    """The session that it is the answer of; empty: not known."""
    files: tuple[SentFile, ...] = ()
    """What was sent with it."""


class Conversation(NamedTuple):
    """All of it."""

    said: tuple[ChatMessage, ...]
    """The system's words first."""
    left_out: tuple[str, ...]
    """What could not be a text: `messages[3].content[1]: image_url`."""

    @property
    def asked(self) -> int:
        """Number of the message that is the question: the user's last one with a text. After it may stand only what
        tools were called and gave. -1: there is none."""
        for number in reversed(range(len(self.said))):
            message = self.said[number]
            if message.role == "user" and message.text.strip():
                return number
            if message.role not in (CALL, TOOL):
                return -1
        return -1


def read(body: Mapping[str, Any], field: str) -> Conversation:
    """The conversation of a request. `field`: messages (chat) or input (responses). Raises ApiError."""
    items = body.get(field)
    if field == "input" and isinstance(items, str):
        items = [{"role": "user", "content": items}]
    if not isinstance(items, list) or not items:
        raise ApiError(f"{field}: got {kind_of(items)}, wanted are messages", param=field)
    at_most(items, MOST_MESSAGES, field)
    said: list[ChatMessage] = []
    left_out: list[str] = []
    if instructions := body.get("instructions"):
        said.append(ChatMessage("system", _text(instructions, "instructions", left_out)))
    for i, item in enumerate(items):
        where = f"{field}[{i}]"
        if not isinstance(item, dict):
            raise ApiError(f"{where}: got {kind_of(item)}, wanted is a message", param=where)
        said += _item(item, where, left_out)
    return Conversation(tuple(said), tuple(left_out))


def _item(item: Mapping[str, Any], where: str, left_out: list[str]) -> Iterator[ChatMessage]:
    """What one item of the list says. Raises ApiError."""
    kind, role = item.get("type", "message"), item.get("role")
    if kind == "function_call":
        yield _call(item, where)
    elif kind == "function_call_output":
        yield ChatMessage(TOOL, _text(item.get("output") or "", f"{where}.output", left_out))
    elif kind == "reasoning":
        return
    elif kind != "message":
        left_out.append(f"{where}: {str(kind)[:40]}")
    elif role in ("tool", "function"):
        yield ChatMessage(TOOL, _text(item.get("content") or "", f"{where}.content", left_out))
    elif role in _ROLES:
        text = _text(item.get("content") or "", f"{where}.content", left_out)
        session = _session(str(item.get("id") or ""), text) if role == "assistant" else ""
        files = tuple(files_of(item.get("content"), f"{where}.content"))
        if text or files or not item.get("tool_calls"):
            yield ChatMessage(_ROLES[str(role)], text, session, files)
        calls = item.get("tool_calls") or ()
        for call in calls if isinstance(calls, list) else ():
            yield _call(call.get("function") if isinstance(call, dict) else None, f"{where}.tool_calls")
    else:
        taken = "system, developer, user, assistant and tool"
        raise ApiError(f"{where}: got {str(role)[:40]!r}, taken are messages of {taken}", param=where)


def _call(call: Any, where: str) -> ChatMessage:
    """A tool that was called. Raises ApiError."""
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        raise ApiError(f"{where}: a call of a tool has a name", param=where)
    arguments = call.get("arguments")
    return ChatMessage(
        CALL, f"{call['name']} {arguments if isinstance(arguments, str) else json.dumps(arguments or {})}"
    )


def _text(content: Any, where: str, left_out: list[str]) -> str:
    """The words of a content: a text, or parts; what is none is left out by its place. Raises ApiError."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise ApiError(f"{where}: got {kind_of(content)}, wanted is text", param=where)
    at_most(content, MOST_MESSAGES, where)
    texts = []
    for i, part in enumerate(content):
        if is_file(part):
            continue
        if not isinstance(part, dict):
            raise ApiError(f"{where}[{i}]: got {kind_of(part)}, wanted is a part", param=f"{where}[{i}]")
        text = part.get("refusal" if part.get("type") == "refusal" else "text")
        if part.get("type") in _TEXTS and isinstance(text, str):
            texts.append(text)
        else:
            left_out.append(f"{where}[{i}]: {str(part.get('type'))[:40]}")
    return "\n".join(texts)


def _session(id: str, text: str) -> str:
    """The session whose answer a message is, as its id or its last line says."""
    if id.startswith(MESSAGE) and SESSION_ID.fullmatch(id.removeprefix(MESSAGE)):
        return id.removeprefix(MESSAGE)
    lines = text.strip().split("\n")
    match = _FOOTER.match(lines[-1].strip())
    return match[1] if match else ""


def at_most(items: Sequence[Any], most: int, where: str) -> None:
    """Raise ApiError where there are more."""
    if len(items) > most:
        raise ApiError(f"{where}: got {len(items):,} of them, allowed are at most {most:,}", param=where)


def kind_of(value: Any) -> str:
    """A value in an error."""
    return "nothing" if value is None else repr(value)[:80]
