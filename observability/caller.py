"""Traces of a client that asks. It loads nothing if nothing in this process traces.

The command line starts quickly, so it does not import the OpenTelemetry API. A caller that traces has imported it, and
so has `parley.observability.setup` where an endpoint is named.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


def _traces() -> bool:
    return "opentelemetry.trace" in sys.modules


@contextmanager
def asking(name: str, session: str) -> Iterator[dict[str, str]]:
    """Around the opening of a session by a client: the headers to send with it
    (parley.observability.tracing.asking)."""
    if not _traces():
        yield {}
        return
    from parley.observability import tracing

    with tracing.asking(name, session) as headers:
        yield headers


@contextmanager
def root(name: str) -> Iterator[None]:
    """A span around all that a caller does, where an SDK is set up."""
    if not _traces():
        yield
        return
    from parley.observability import tracing

    with tracing.root(name):
        yield


@contextmanager
def within(traceparent: str) -> Iterator[None]:
    """Around what is done for somebody who sent this header, in the caller's own trace; empty: there is none."""
    if not traceparent or not _traces():
        yield
        return
    from parley.observability import tracing

    with tracing.within(traceparent):
        yield
