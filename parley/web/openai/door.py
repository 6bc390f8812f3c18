"""The routes under /v1."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from parley.client.opening import Offer
from parley.web import program_sessions
from parley.web.app import Door, client_of
from parley.web.errors import JsonResponse
from parley.web.offered_models import Offers
from parley.web.openai import chat, errors, history
from parley.web.openai.errors import ApiError
from parley.web.openai.requests import models, offer_of, parse_request
from parley.web.openai.running import EventStream, start_request, to_the_end

ROOT = "/v1/"
_OWNER = "parley"
_MODEL_SINCE = 1_767_225_600
"""When a model was made, as the interface wants to know it: 2026-01-01."""
_GONE = 499
"""As other servers write it down: nobody reads this answer."""


class OpenAI:
    """The routes. `offers`: what stands for a model."""

    def __init__(self, offers: Offers) -> None:
        self._offers = offers

    def door(self) -> Door:
        """The door."""
        return Door(
            routes=(
                Route("/v1/models", self.models),
                Route("/v1/models/{name:path}", self.model),
                Route("/v1/chat/completions", self.chat, methods=["POST"]),
            ),
            uploads=(ROOT,),
            error_form=(ROOT, errors.response),
        )

    async def models(self, request: Request) -> Response:
        """Every protocol, and every saved panel."""
        found = [_model(name, offer_of({"model": name}, self._offers)[1]) for name in models(self._offers)]
        return JsonResponse({"object": "list", "data": found})

    async def model(self, request: Request) -> Response:
        """One of them."""
        return JsonResponse(_model(*offer_of({"model": request.path_params["name"]}, self._offers)))

    async def chat(self, request: Request) -> Response:
        """A chat completion."""
        body = await _body(request)
        offer_of(body, self._offers)
        wanted = parse_request(body, history.read(body), self._offers)
        client = await client_of(request)
        try:
            running = await program_sessions.unless_left(request.receive, start_request(client, wanted))
            if wanted.stream:
                return EventStream(running, chat.chunks(running))
            texts = await to_the_end(running, request)
        except program_sessions.CallerLeft:
            return Response(status_code=_GONE)
        return JsonResponse(chat.completion(running, texts), headers=dict(running.headers()))


async def _body(request: Request) -> dict[str, Any]:
    """The request's document. Raises ApiError."""
    try:
        document = msgspec.json.decode(await request.body())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(f"the body is no JSON document: {error}", code="invalid_json") from error
    if not isinstance(document, dict):
        raise ApiError("the body is no JSON object", code="invalid_json")
    return document


def _model(name: str, offer: Offer) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": _MODEL_SINCE,
        "owned_by": _OWNER,
        "parley": {"protocol": offer.protocol, "seats": [seat.seat for seat in offer.seats]},
    }
