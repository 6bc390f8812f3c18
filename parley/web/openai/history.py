"""The conversation of a request, as texts: what people and models said, what tools were called and gave.

Agent frameworks send the whole history with each request, tool calls and images with it. Calls and what they gave
become texts; what cannot be one is left out by its place, and named in the answer.

Chat front ends ask the chat's model for titles, tags and follow-up questions beside the conversation. Each would be a
debate, and so it is refused. Such a job is known by the words of the templates that Open WebUI, LibreChat and opencode
ship. A person who writes about titles is not taken for one: the whole beginning must be there.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from parley.client.evidence import SentFile
from parley.web.openai.errors import ApiError

FOOTER = "parley session "
_FOOTER = re.compile(rf"^{FOOTER}([A-Za-z0-9_-]{{1,64}})$")
MOST_MESSAGES = 2_000
"""Of a conversation, and parts of one message: all are looked at before anybody else is answered."""
_TEXTS = ("text", "refusal")
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
CALL, TOOL = "call", "tool"
"""Roles of a tool that was called, and of what it gave."""
_OPEN_WEBUI = re.compile(
    r"\A\s*#{1,4} Task:?\s+(?:"
    r"Generate a concise\b[^.\n]{0,80}\btitle\b"
    r"|Generate 1-3 broad tags\b"
    r"|Suggest 3-5 relevant follow-?up\b"
    r"|Analyze the chat history to determine the necessity of generating search queries"
    r"|Generate a detailed prompt for (?:an|am) image generation"
    r"|You are an autocompletion system"
    r")",
    re.IGNORECASE,
)
_OTHERS = (
    re.compile(r"\A\s*(?:Please )?(?:Provide|generate) a concise, 5-word-or-less title\b", re.IGNORECASE),
    re.compile(r"\A\s*Please generate a concise title \(max \d+ characters\) for a conversation\b", re.IGNORECASE),
    re.compile(
        r"\A\s*Analyze this conversation and provide:\s*1\. The detected language of the conversation\s*"
        r"2\. A concise title\b",
        re.IGNORECASE,
    ),
    re.compile(r"\ADetect user language and write in the same language an extremely concise title\b", re.IGNORECASE),
    re.compile(r"\A\s*You are a title generator\. You output ONLY a thread title\b", re.IGNORECASE),
    re.compile(r"\A\s*Your task is to reflect the speaker's likely facial expression\b", re.IGNORECASE),
)


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


def read(body: Mapping[str, Any]) -> Conversation:
    """The conversation of a request. Raises ApiError: it is none, or a front end's job."""
    items = body.get("messages")
    if not isinstance(items, list) or not items:
        raise ApiError(f"messages: got {kind_of(items)}, wanted are messages", param="messages")
    at_most(items, MOST_MESSAGES, "messages")
    said: list[ChatMessage] = []
    left_out: list[str] = []
    for i, item in enumerate(items):
        where = f"messages[{i}]"
        if not isinstance(item, dict):
            raise ApiError(f"{where}: got {kind_of(item)}, wanted is a message", param=where)
        said += _messages(item, where, left_out)
    if is_job([*(m.text for m in said if m.role == "system"), *(m.text for m in said[-1:])]):
        raise ApiError(
            "this is a job of a chat front end (a title, tags, follow-up questions), and no debate is started for it; "
            "name another model for such tasks in the front end",
            param="messages",
            code="background_task",
        )
    return Conversation(tuple(said), tuple(left_out))


def is_job(texts: Sequence[str]) -> bool:
    """Whether one of these texts, the system's words or the last message, is a front end's template."""
    return any(_OPEN_WEBUI.match(text) or any(known.match(text) for known in _OTHERS) for text in texts)


def _messages(item: Mapping[str, Any], where: str, left_out: list[str]) -> Iterator[ChatMessage]:
    """What one item of the list says. Raises ApiError."""
    role = item.get("role")
    if role in ("tool", "function"):
        yield ChatMessage(TOOL, _text(item.get("content") or "", f"{where}.content", left_out))
    elif role in _ROLES:
        text = _text(item.get("content") or "", f"{where}.content", left_out)
        files = tuple(_files(item.get("content"), f"{where}.content"))
        calls = item.get("tool_calls") or ()
        if text or files or not calls:
            yield ChatMessage(_ROLES[str(role)], text, _session(text) if role == "assistant" else "", files)
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
        if not isinstance(part, dict):
            raise ApiError(f"{where}[{i}]: got {kind_of(part)}, wanted is a part", param=f"{where}[{i}]")
        if part.get("type") == "file":
            continue
        text = part.get("refusal" if part.get("type") == "refusal" else "text")
        if part.get("type") in _TEXTS and isinstance(text, str):
            texts.append(text)
        else:
            left_out.append(f"{where}[{i}]: {str(part.get('type'))[:40]}")
    return "\n".join(texts)


def _files(content: Any, where: str) -> Iterator[SentFile]:
    """Each file in a content. Raises ApiError."""
    for i, part in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(part, dict) or part.get("type") != "file":
            continue
        at, file = f"{where}[{i}]", part.get("file")
        data = file.get("file_data") if isinstance(file, dict) else None
        if not isinstance(file, dict) or not isinstance(data, str):
            raise ApiError(f"{at}: taken is a file with its bytes, as `file_data`", param=at)
        try:
            content_bytes = base64.b64decode(data.rpartition(",")[2], validate=True)
        except (binascii.Error, ValueError):
            raise ApiError(f"{at}: its file_data is no base64", param=at) from None
        yield SentFile(str(file.get("filename") or f"file {i + 1}"), content_bytes)


def _session(text: str) -> str:
    """The session whose answer a message is, as its last line says."""
    match = _FOOTER.match(text.strip().split("\n")[-1].strip())
    return match[1] if match else ""


def at_most(items: Sequence[Any], most: int, where: str) -> None:
    """Raise ApiError where there are more."""
    if len(items) > most:
        raise ApiError(f"{where}: got {len(items):,} of them, allowed are at most {most:,}", param=where)


def kind_of(value: Any) -> str:
    """A value in an error."""
    return "nothing" if value is None else repr(value)[:80]
