"""Each error of Parley as a status of HTTP and one JSON document: `{"error": {"field", "message"}}`.

| error | status |
|---|---|
| BadInput, and what the schemas refuse | 400 |
| NotAllowed | 403 |
| UnknownSession | 404 |
| Refusal | 409; 429 with Retry-After where a limit was met |
| TooLarge | 413 |
| Unreachable, and what the bus raises | 503 |
"""

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from parley.bus.errors import BusError, UnknownSession
from parley.client.errors import BadInput, NotAllowed, ParleyError, Refusal, Unreachable
from parley.client.text import clean
from parley.schemas.wire import InvalidValue, SchemaError

KNOWN = (ParleyError, BusError, SchemaError, HTTPException)
"""What a route may raise. Anything else is a fault of the gateway: status 500, without a word of it to the asker."""


_DATA = ("/api/", "/static/")
"""Prefixes below which are no pages."""


class TooLarge(ParleyError):
    """What was sent is larger than its limit. The caller's fault."""

    field = "body"


class JsonResponse(Response):
    """One JSON document of anything that msgspec encodes."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The document's bytes."""
        return msgspec.json.encode(content)


def http_error(error: BaseException) -> tuple[int, str, str]:
    """(status, field, message) of an error of KNOWN."""
    if isinstance(error, HTTPException):
        return error.status_code, "", error.detail
    message = clean(getattr(error, "plain", str(error)))
    field = getattr(error, "field", "")
    if isinstance(error, UnknownSession):
        return 404, "session", message
    if isinstance(error, TooLarge):
        return 413, field, message
    if isinstance(error, NotAllowed):
        return 403, field, message
    if isinstance(error, BadInput | InvalidValue | SchemaError):
        return 400, field, message
    if isinstance(error, Refusal):
        return 429 if error.retry_s else 409, field, message
    if isinstance(error, Unreachable | BusError):
        return 503, "nats", message
    return 500, field, message


def error_text(error: BaseException) -> str:
    """An error of KNOWN in one text, with the field."""
    _, field, message = http_error(error)
    return message if not field or field in message else f"{field}: {message}"


def response(error: BaseException, headers: Mapping[str, str] | None = None) -> JsonResponse:
    """The answer to a request that raised."""
    status, field, message = http_error(error)
    return JsonResponse({"error": {"field": field, "message": message}}, status, dict(headers or {}))


ErrorForm = Callable[[BaseException, Mapping[str, str] | None], Response]
"""An error, and headers of the answer, as an answer."""


class Forms:
    """How errors are told, by the prefix of the path: a door may speak another interface."""

    def __init__(self, forms: Iterable[tuple[str, ErrorForm]] = (), page: Path | None = None) -> None:
        """`page`: what a browser is shown that asks for a page which is not there; None: it gets a document as well."""
        self._forms, self._page = tuple(forms), page

    def answer(self, path: str, error: BaseException) -> Response:
        """The answer to a request for a path that raised."""
        form = next((form for prefix, form in self._forms if path.startswith(prefix)), response)
        retry_s = error.retry_s if isinstance(error, Refusal) else 0.0
        return form(error, {"Retry-After": f"{math.ceil(retry_s)}"} if retry_s else getattr(error, "headers", None))

    async def handler(self, request: Request, error: Exception) -> Response:
        """For Starlette's `exception_handlers`."""
        if self._page is not None and self._asks_for_a_page(request, error):
            return FileResponse(self._page, 404, media_type="text/html", headers={"cache-control": "no-cache"})
        return self.answer(request.scope["path"], error)

    def _asks_for_a_page(self, request: Request, error: Exception) -> bool:
        """Whether somebody has typed the address of a page that is not there."""
        path = request.scope["path"]
        typed = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        missing = isinstance(error, HTTPException) and error.status_code == 404
        return missing and typed and not path.startswith((*_DATA, *(prefix for prefix, _ in self._forms)))
