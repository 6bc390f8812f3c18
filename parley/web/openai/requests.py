"""A request, checked, as a session to open: the last message is the question, what came before it is context.

A conversation goes on from its earlier session, in this order:

1. `parley.continues` or `metadata.parley_session` names it;
2. for responses, `previous_response_id`, or the id of an earlier output item that the client sends again;
3. for chat, the last line of the assistant's last message: each answer ends with `parley session ID`, which any client
   sends back as part of the conversation. So no copy of the gateway has to remember anything.

Where none is there, earlier messages come along as a document. So do the system's words.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from parley.client.errors import BadInput
from parley.client.follow_up import Earlier
from parley.client.opening import Offer, opening_of
from parley.client.protocols import panel_setup
from parley.schemas.session import MAX_QUESTION, SESSION_ID, Document, OpenSession
from parley.schemas.wire import InvalidValue
from parley.web import asking
from parley.web.offers import Offers
from parley.web.openai import parameters
from parley.web.openai.errors import ApiError

PREFIX = "parley/"
BY_QUESTION = "parley"
"""The model that stands for whatever the question goes to."""
FOOTER = "parley session "
_FOOTER = re.compile(rf"^{FOOTER}([A-Za-z0-9_-]{{1,64}})$")
RESPONSE, MESSAGE, REASONING, CHAT = "resp_", "msg_", "rs_", "chatcmpl-"
"""What stands before a session's id in the ids of OpenAI's objects."""
_TEXTS = ("text", "input_text", "output_text")
OWN = "parley"
"""The field of our own."""
MOST_MESSAGES = 2_000
"""Of a conversation, and parts of one message: all are looked at before anybody else is answered."""


class Said(NamedTuple):
    """One message of a conversation."""

    role: str
    text: str
    session: str = ""
    """The session that it is the answer of; empty: not known."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a request asks for."""

    model: str
    """As it was named."""
    offer: Offer
    question: str
    documents: tuple[Document, ...]
    continues: str
    given: dict[str, Any]
    """Options of the session."""
    stream: bool
    background: bool
    """It is answered at once, and read again by its id."""
    usage_chunk: bool
    ignored: tuple[str, ...]

    def opening(self, before: Earlier | None = None) -> OpenSession:
        """The session; `before`: the one that it goes on from. Raises BadInput."""
        return opening_of(self.question, self.given, self.documents, self.offer, before=before, door="v1")


def said_of(body: Mapping[str, Any], field: str) -> list[Said]:
    """The conversation of a request, the system's words first. Raises ApiError."""
    items = body.get(field)
    if field == "input" and isinstance(items, str):
        items = [{"role": "user", "content": items}]
    if not isinstance(items, list) or not items:
        raise ApiError(f"{field}: got {_kind(items)}, wanted are messages", param=field)
    _at_most(items, MOST_MESSAGES, field)
    messages = []
    instructions = body.get("instructions")
    if instructions:
        messages.append(Said("system", _text(instructions, "instructions")))
    for i, message in enumerate(items):
        where = f"{field}[{i}]"
        if not isinstance(message, dict):
            raise ApiError(f"{where}: got {_kind(message)}, wanted is a message", param=where)
        kind = message.get("type", "message")
        if field == "input" and kind == "reasoning":
            continue
        role = message.get("role")
        if kind != "message" or role not in ("system", "developer", "user", "assistant"):
            got = role if kind == "message" else kind
            raise ApiError(
                f"{where}: got {str(got)[:40]!r}, taken are messages of system, developer, user and assistant",
                param=where,
            )
        text = _text(message.get("content") or "", f"{where}.content")
        session = _session(str(message.get("id") or ""), text) if role == "assistant" else ""
        messages.append(Said("system" if role == "developer" else role, text, session))
    return messages


def parse_request(body: Mapping[str, Any], messages: Sequence[Said], offers: Offers, field: str) -> Wanted:
    """What a request asks for. Raises ApiError, which names the parameter, its value and what is allowed."""
    heeded = parameters.CHAT if field == "messages" else parameters.RESPONSES
    model, offer = offer_of(body, offers)
    ignored = parameters.ignored(body, heeded)
    own = body.get(OWN) or {}
    if not isinstance(own, dict):
        raise ApiError(f"{OWN}: got {_kind(own)}, wanted is an object", param=OWN)
    if messages[-1].role != "user" or not messages[-1].text.strip():
        raise ApiError(f"{field}: the last message must be the user's, with text", param=field)
    question = messages[-1].text
    if len(question) > MAX_QUESTION:
        message = f"{field}: the last message has {len(question):,} characters, allowed are at most {MAX_QUESTION:,}"
        raise ApiError(message, param=field, code="context_length_exceeded")
    continues = _continues(body, own, messages)
    if model == BY_QUESTION:
        try:
            offer = offers.of("", question, documents=len(messages) > 1)
        except BadInput as error:
            raise ApiError(f"{field}: {error.why}", param=field) from error
    options = body.get("stream_options") or {}
    return Wanted(
        model=model,
        offer=offer,
        question=question,
        documents=_context(messages[:-1], whole=not continues),
        continues=continues,
        given={"seed": body.get("seed"), **own, "continues": continues},
        stream=bool(body.get("stream")),
        background=_background(body),
        usage_chunk=isinstance(options, dict) and bool(options.get("include_usage")),
        ignored=ignored,
    )


def offer_of(body: Mapping[str, Any], offers: Offers) -> tuple[str, Offer]:
    """(the model as it was named, what it stands for). Raises ApiError."""
    name = body.get("model")
    if not isinstance(name, str) or not name:
        raise ApiError(f"model: got {_kind(name)}, wanted is a name of /v1/models", param="model")
    offer = offers.find(panel_setup().name if name == BY_QUESTION else name.removeprefix(PREFIX))
    if offer is None:
        known = ", ".join((BY_QUESTION, *(f"{PREFIX}{n}" for n in offers.names)))
        message = f"model: there is no {name[:80]!r}; there are {known}"
        raise ApiError(message, param="model", code="model_not_found", status=404)
    return name, offer


def _continues(body: Mapping[str, Any], own: Mapping[str, Any], messages: Sequence[Said]) -> str:
    """The session that this one goes on from; empty: none. Raises ApiError."""
    metadata = body.get("metadata") or {}
    earlier = body.get("previous_response_id")
    for param, value in (
        (f"{OWN}.continues", own.get("continues")),
        ("metadata.parley_session", metadata.get("parley_session") if isinstance(metadata, dict) else None),
        ("previous_response_id", earlier),
    ):
        if value:
            sid = str(value).removeprefix(RESPONSE).removeprefix(CHAT)
            if not SESSION_ID.fullmatch(sid):
                raise ApiError(f"{param}: got {str(value)[:80]!r}, which is not a session's id", param=param)
            return sid
    return next((message.session for message in reversed(messages) if message.role == "assistant"), "")


def _session(id: str, text: str) -> str:
    """The session whose answer a message is, as its id or its last line says."""
    if id.startswith(MESSAGE) and SESSION_ID.fullmatch(id.removeprefix(MESSAGE)):
        return id.removeprefix(MESSAGE)
    lines = text.strip().split("\n")
    match = _FOOTER.match(lines[-1].strip())
    return match[1] if match else ""


def _context(messages: Sequence[Said], *, whole: bool) -> tuple[Document, ...]:
    """What came before the question, as documents. `whole`: the conversation, too, where no session stands for it."""
    system = "\n\n".join(m.text for m in messages if m.role == "system" and m.text.strip())
    turns = [f"{m.role}: {m.text.strip()}" for m in messages if m.role != "system" and m.text.strip()]
    try:
        return tuple(
            asking.document(name, text)
            for name, text in (("instructions.md", system), ("conversation.md", "\n\n".join(turns) if whole else ""))
            if text
        )
    except InvalidValue as error:
        raise ApiError(str(error), param="messages", code="context_length_exceeded") from error


def _text(content: Any, where: str) -> str:
    """The words of a content: a text, or parts of text. Raises ApiError for anything else."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise ApiError(f"{where}: got {_kind(content)}, wanted is text", param=where)
    _at_most(content, MOST_MESSAGES, where)
    texts = []
    for i, part in enumerate(content):
        if not isinstance(part, dict) or part.get("type") not in _TEXTS or not isinstance(part.get("text"), str):
            got = part.get("type") if isinstance(part, dict) else _kind(part)
            raise ApiError(f"{where}[{i}]: got {str(got)[:40]!r}, taken is text alone", param=f"{where}[{i}]")
        texts.append(part["text"])
    return "\n".join(texts)


def _background(body: Mapping[str, Any]) -> bool:
    background = body.get("background") or False
    if not isinstance(background, bool):
        raise ApiError(f"background: got {_kind(background)}, wanted is true or false", param="background")
    if background and body.get("stream"):
        message = "background: got true beside a stream; a response is either followed, or read again by its id"
        raise ApiError(message, param="background", code="unsupported_parameter")
    return background


def _at_most(items: Sequence[Any], most: int, where: str) -> None:
    if len(items) > most:
        raise ApiError(f"{where}: got {len(items):,} of them, allowed are at most {most:,}", param=where)


def _kind(value: Any) -> str:
    return "nothing" if value is None else repr(value)[:80]
