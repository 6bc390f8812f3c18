"""What is not ours: a receiver of webhooks, which checks calls with the library of Standard Webhooks, and a NATS."""

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from standardwebhooks import Webhook

from parley.bus.embedded import find_server

TASK = "rotate the leaked signing key of our API"
ASKS = {"security_confidence": 1, "item_s": 60}
"""Settings under which that task asks a person who leads it."""
NATS = "NATS_OF_SOMEBODY"
"""Names that server in the environment of the gateway's commands."""
SECRET = "whsec_" + "c2VzYW1lIHNlc2FtZSBzZXNhbWUgc2VzYW1l"


class Receiver:
    """Keeps what came, with its headers, in its order.

    Parameters
    ----------
    answers
        Status of the answer to the nth call, from 0 on.
    """

    def __init__(self, answers: Callable[[int], int] = lambda _: 204) -> None:
        self.heard: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                n = len(receiver.heard)
                receiver.bodies.append(body)
                receiver.headers.append({k.lower(): v for k, v in self.headers.items()})
                receiver.heard.append(Webhook(SECRET).verify(body, receiver.headers[-1]))
                status = answers(n)
                self.send_response(status)
                if status == 302:
                    self.send_header("location", receiver.url + "/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def of(self, sid: str) -> list[dict[str, Any]]:
        return [told for told in self.heard if told["session"] == sid]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def somebodys_nats() -> Iterator[str]:
    """A nats-server that is no bus of Parley's, without accounts; its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    child = subprocess.Popen([find_server(), "-a", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL)
    try:
        yield f"nats://127.0.0.1:{port}"
    finally:
        child.terminate()
        child.wait(timeout=20)
