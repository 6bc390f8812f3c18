"""Counts requests by door (interface) and by status, and logs them. ASGI middleware, ahead of the guard."""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parley.observability.metrics import Metrics

DOORS = (
    ("/v1", "openai"),
    ("/mcp", "mcp"),
    ("/static", "static"),
    ("/healthz", "health"),
    ("/readyz", "health"),
    ("/login", "login"),
    ("/logout", "login"),
)
"""Beginning of a path -> the door."""
OTHER = "web"
"""The door of any other path: the page's."""


_LOGGER = logging.getLogger(__name__)


class RequestCounter:
    """Counts each request once its answer begins, and logs it when it is over, probes aside. Of the address the path
    alone: what stands behind it may be a one-time code.

    Parameters
    ----------
    metrics
        Where it counts.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics
        for door in (*dict.fromkeys(door for _, door in DOORS), OTHER):  # from the first one on, a failure counts
            metrics.gateway_requests.labels(door=door, status="503")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        door, status, began = door_of(scope["path"]), 0, time.perf_counter()

        async def sends(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                self._metrics.gateway_requests.labels(door=door, status=str(status)).inc()
            await send(message)

        try:
            await self._app(scope, receive, sends)
        finally:
            if door != "health":
                seconds = round(time.perf_counter() - began, 3)
                client = (scope.get("client") or ("",))[0]
                fields = {"method": scope["method"], "path": scope["path"], "door": door, "status": status}
                _LOGGER.info("request", extra={**fields, "seconds": seconds, "client": client})


def door_of(path: str) -> str:
    """The door of a path."""
    return next((door for prefix, door in DOORS if path == prefix or path.startswith(f"{prefix}/")), OTHER)
