"""Errors in OpenAI's form: `{"error": {"message", "type", "param", "code"}}`, for everything under /v1."""

from collections.abc import Mapping
from typing import Any

from parley.bus.errors import UnknownSession
from parley.client.errors import ParleyError, Refusal, Unanswered
from parley.web.errors import JsonResponse, http_error

AGAIN = "X-Should-Retry"
"""OpenAI's clients ask again by themselves after some statuses, unless this says `false`."""
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 503: "service_unavailable"}
_CODES = {
    401: "invalid_api_key",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "request_too_large",
    421: "wrong_host",
    429: "rate_limit_exceeded",
    503: "bus_unreachable",
}


class ApiError(ParleyError):
    """A request that cannot be answered. Names the parameter, its value and what is allowed. The caller's fault, unless
    its status says otherwise."""

    def __init__(self, message: str, *, param: str = "", code: str = "invalid_value", status: int = 400) -> None:
        self.param, self.code, self.status = param, code, status
        super().__init__(message)


def body(error: BaseException) -> tuple[int, dict[str, Any]]:
    """(status, the document)."""
    if isinstance(error, ApiError):
        status, param, message, code = error.status, error.param, str(error), error.code
    else:
        status, param, message = http_error(error)
        status = 400 if status == 409 else status  # a client would ask again, and be refused again
        code = _CODES.get(status, "invalid_value")
        if isinstance(error, UnknownSession | Refusal) and status != 429:
            code = "session_not_found" if isinstance(error, UnknownSession) else "refused"
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return status, {"error": {"message": message, "type": kind, "param": param or None, "code": code}}


def response(error: BaseException, headers: Mapping[str, str] | None = None) -> JsonResponse:
    """The answer to a request that raised."""
    status, document = body(error)
    all_headers = dict(headers or {})
    if status >= 500 and isinstance(error, Unanswered):  # the session may run: asked again, there would be two
        all_headers[AGAIN] = "false"
    return JsonResponse(document, status, all_headers)
