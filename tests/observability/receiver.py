"""A receiver of OTLP over HTTP: keeps the spans that it is sent."""

import gzip
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Receiver:
    """Listens on a free port of 127.0.0.1 while the `with` lasts."""

    def __init__(self) -> None:
        self._spans: list[tuple[str, Span]] = []
        self._changed = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                receiver._take(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def _take(self, request: ExportTraceServiceRequest) -> None:
        with self._changed:
            for resource in request.resource_spans:
                service = next(a.value.string_value for a in resource.resource.attributes if a.key == "service.name")
                self._spans += [(service, span) for scope in resource.scope_spans for span in scope.spans]
            self._changed.notify_all()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def until(self, done: Callable[[list[tuple[str, Span]]], bool], timeout_s: float = 20.0) -> list[tuple[str, Span]]:
        """(service, span) of all that came, once they satisfy `done`."""
        with self._changed:
            found = self._changed.wait_for(lambda: done(self._spans), timeout_s)
            assert found, [(service, span.name) for service, span in self._spans]
            return list(self._spans)

    def __enter__(self) -> "Receiver":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, where: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def attributes(span: Span) -> dict[str, Any]:
    """A span's attributes as plain values; of a list, a tuple."""
    return {a.key: _value(a.value) for a in span.attributes}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return tuple(_value(v) for v in value.array_value.values)
    return getattr(value, kind) if kind else None
