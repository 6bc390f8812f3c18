"""A request, checked, as a session to open: the user's last message is the question, the rest is context.

A conversation goes on from its earlier session, in this order:

1. `parley.continues` or `metadata.parley_session` names it;
2. the last line of the assistant's last message: each answer ends with `parley session ID`, which any client sends
   back as part of the conversation. So no copy of the gateway has to remember anything.

Messages that no earlier session holds come along as a document. So do the system's words, and a question that is too
long for one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from parley.client.errors import BadInput
from parley.client.evidence import SentFile
from parley.client.follow_up import Earlier
from parley.client.opening import Offer, opening_of
from parley.client.protocols import panel_setup
from parley.schemas.session import SESSION_ID, Document, OpenSession
from parley.schemas.wire import InvalidValue
from parley.web import program_sessions
from parley.web.offered_models import Offers
from parley.web.openai import parameters
from parley.web.openai.errors import ApiError
from parley.web.openai.history import ChatMessage, Conversation, kind_of
from parley.web.openai.typed import Form, form_of

PREFIX = "parley/"
BY_QUESTION = "parley"
"""The model that stands for whatever the question goes to."""
FUSION = "parley/fusion"
"""The model that stands for the saved panel of this name, or for any panel."""
CHAT = "chatcmpl-"
"""What stands before a session's id in the id of an answer."""
OWN = "parley"
"""The field of our own."""


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a request asks for."""

    model: str
    """As it was named."""
    offer: Offer
    question: str
    documents: tuple[Document, ...]
    files: tuple[SentFile, ...]
    """To be read as documents."""
    continues: str
    given: dict[str, Any]
    """Options of the session."""
    stream: bool
    usage_chunk: bool
    ignored: tuple[str, ...]
    form: Form | None = None
    """Of the answer; None: words."""
    left_out: tuple[str, ...] = ()
    """Of its files, what could not be read."""

    def opening(self, before: Earlier | None = None) -> OpenSession:
        """The session; `before`: the one that it goes on from. Reads its files. Raises BadInput."""
        found = program_sessions.files_for_all(self.offer.protocol, self.files).plus(*self.documents)
        return opening_of(self.question, self.given, found, self.offer, before=before, door="v1")


def parse_request(body: Mapping[str, Any], talk: Conversation, offers: Offers) -> ChatRequest:
    """What a request asks for. Raises ApiError, which names the parameter, its value and what is allowed."""
    model, offer = offer_of(body, offers)
    form = form_of(body)
    ignored = parameters.ignored(body, parameters.HEEDED if form is None else parameters.HEEDED | parameters.FORM)
    own = body.get(OWN) or {}
    if not isinstance(own, dict):
        raise ApiError(f"{OWN}: got {kind_of(own)}, wanted is an object", param=OWN)
    messages = talk.said
    if talk.asked < 0:
        raise ApiError("messages: the last message must be the user's, with text", param="messages")
    question, pasted = _question(messages[talk.asked].text)
    continues = _continues(body, own, messages)
    if model == BY_QUESTION:
        try:
            offer = offers.of("", question, own, documents=len(messages) > 1)
        except BadInput as error:
            raise ApiError(f"messages: {error.why}", param="messages") from error
    options = body.get("stream_options") or {}
    return ChatRequest(
        model=model,
        offer=offer,
        question=question,
        documents=(*_context(messages, talk.asked), *pasted),
        files=tuple(file for message in messages for file in message.files),
        continues=continues,
        given={"seed": body.get("seed"), **{name: own[name] for name in own if name != "continues"}},
        stream=bool(body.get("stream")),
        usage_chunk=isinstance(options, dict) and bool(options.get("include_usage")),
        ignored=(*ignored, *talk.left_out),
        form=form,
    )


def _question(text: str) -> tuple[str, tuple[Document, ...]]:
    try:
        return program_sessions.question_of(text)
    except InvalidValue as error:
        raise _too_long(error) from error


def models(offers: Offers) -> tuple[str, ...]:
    """Names of all models."""
    return tuple(dict.fromkeys((BY_QUESTION, FUSION, *(f"{PREFIX}{name}" for name in offers.names))))


def offer_of(body: Mapping[str, Any], offers: Offers) -> tuple[str, Offer]:
    """(the model as it was named, what it stands for). Raises ApiError."""
    name = body.get("model")
    if not isinstance(name, str) or not name:
        raise ApiError(f"model: got {kind_of(name)}, wanted is a name of /v1/models", param="model")
    panel = panel_setup().name
    offer = offers.find(panel if name == BY_QUESTION else name.removeprefix(PREFIX))
    if offer is None and name == FUSION:
        offer = offers.find(panel)
    if offer is None:
        known = ", ".join(models(offers))
        message = f"model: there is no {name[:80]!r}; there are {known}"
        raise ApiError(message, param="model", code="model_not_found", status=404)
    return name, offer


def _continues(body: Mapping[str, Any], own: Mapping[str, Any], messages: Sequence[ChatMessage]) -> str:
    """The session that this one goes on from; empty: none. Raises ApiError."""
    metadata = body.get("metadata") or {}
    for param, value in (
        (f"{OWN}.continues", own.get("continues")),
        ("metadata.parley_session", metadata.get("parley_session") if isinstance(metadata, dict) else None),
    ):
        if value:
            sid = str(value).removeprefix(CHAT)
            if not SESSION_ID.fullmatch(sid):
                raise ApiError(f"{param}: got {str(value)[:80]!r}, which is not a session's id", param=param)
            return sid
    return next((message.session for message in reversed(messages) if message.role == "assistant"), "")


def _context(messages: Sequence[ChatMessage], asked: int) -> tuple[Document, ...]:
    """What stands beside the question, as documents: the system's words, and what no earlier session holds."""
    system = "\n\n".join(m.text for m in messages if m.role == "system" and m.text.strip())
    since = max((n + 1 for n, m in enumerate(messages) if m.role == "assistant" and m.session), default=0)
    turns = [
        f"{m.role}: {m.text.strip()}"
        for n, m in enumerate(messages)
        if n >= since and n != asked and m.role != "system" and m.text.strip()
    ]
    texts = (("instructions.md", system), ("conversation.md", "\n\n".join(turns)))
    return tuple(_document(name, text) for name, text in texts if text)


def _document(name: str, text: str) -> Document:
    try:
        return program_sessions.document(name, text)
    except InvalidValue as error:
        raise _too_long(error) from error


def _too_long(error: InvalidValue) -> ApiError:
    return ApiError(str(error), param="messages", code="context_length_exceeded")
