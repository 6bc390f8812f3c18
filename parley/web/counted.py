"""Counts requests by door (interface) and by status. ASGI middleware, ahead of the guard."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parley.observability.metrics import Metrics

DOORS = (("/v1", "openai"), ("/mcp", "mcp"), ("/static", "static"), ("/healthz", "health"), ("/readyz", "health"),
         ("/login", "login"), ("/logout", "login"))  # fmt: skip
"""Beginning of a path -> the door."""
OTHER = "web"
"""The door of any other path: the page's."""


class Counted:
    """Counts each request once its answer begins.

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
        door = door_of(scope["path"])

        async def sends(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.gateway_requests.labels(door=door, status=str(message["status"])).inc()
            await send(message)

        await self._app(scope, receive, sends)


def door_of(path: str) -> str:
    """The door of a path."""
    return next((door for prefix, door in DOORS if path == prefix or path.startswith(f"{prefix}/")), OTHER)
