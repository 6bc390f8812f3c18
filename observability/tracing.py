"""Spans across processes, through NATS headers. The OpenTelemetry API only: without an SDK nothing is paid.

A session is one trace (docs/operations/traces.md). Its long spans are held open by nobody. Their ids follow from what
they are spans of (`span_of`), so a process can hang its own span on one that is written later, by whoever ends it:

    parley ask -> invoke_workflow (the session) -> round -> invoke_agent (a turn) -> chat, execute_tool

    with tracing.process("in", subject, headers=message.headers, session=sid):    # a message's handling, if traced
        ...
    tracing.write(Written(name="round 1", within=..., id=..., started_ns=..., ended_ns=...))    # a span that is over

A session is traced whole or not at all. That is decided where it begins: by its asker's own trace, else by the
moderator that opens it (`begin`), and is kept with its opening. Unless OTEL_TRACES_SAMPLER says otherwise, moderators
trace `A_MINUTE` sessions a minute each, so that a busy process pays for few.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

Attribute = str | bool | int | float | Sequence[str]

A_MINUTE = 20
"""Sessions a minute that are traced, and at once."""
HEADER = "traceparent"
ERROR = "parley.error"
"""True on a span of what failed: by it a collector decides what it keeps."""

_propagator = TraceContextTextMapPropagator()
_tracer = trace.get_tracer("parley")
NOTHING: AbstractContextManager[Span] = nullcontext(trace.INVALID_SPAN)
"""In place of a span, where nothing is traced."""


class Ids(NamedTuple):
    """What the next span is to be called, in place of random ids."""

    trace_id: int
    span_id: int


_next: ContextVar[Ids | None] = ContextVar("parley_next_ids", default=None)


def next_ids() -> Ids | None:
    """For the SDK's generator of ids (parley.observability.setup): those that the span which begins now is to have."""
    return _next.get()


class Sampler:
    """Lets so many through a minute, and as many at once."""

    def __init__(self, a_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._a_minute = a_minute
        self._clock = clock
        self._allowance = a_minute
        self._at = clock()

    def __call__(self) -> bool:
        """Whether one more is traced."""
        now = self._clock()
        self._allowance = min(self._a_minute, self._allowance + (now - self._at) * self._a_minute / 60.0)
        self._at = now
        if self._allowance < 1.0:
            return False
        self._allowance -= 1.0
        return True


_sampler = Sampler(A_MINUTE)


def is_enabled() -> bool:
    """Whether this process has set up an SDK."""
    return trace._TRACER_PROVIDER is not None  # `get_tracer_provider` reads the environment each time


def is_recording() -> bool:
    """Whether what goes on now is traced."""
    return is_enabled() and trace.get_current_span().is_recording()


def ids() -> tuple[str, str] | None:
    """Trace id and span id of the current span, as hex of 32 and 16 digits; None where there is none."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)


# ---------------------------------------------------------------- which span it is


def span_of(session: str, what: str, which: str | int = "") -> int:
    """The id of one of a session's long spans: of the `session`, a `round`, a `turn`, a `post`."""
    return _hash(f"{session}\0{what}\0{which}", 8)


def trace_of(session: str, round_: int | None = None) -> int:
    """The trace that a session begins where its asker has none; with a round, the trace of that round alone."""
    return _hash(f"{session}\0trace\0{'' if round_ is None else round_}", 16)


@lru_cache(4_096)
def _hash(text: str, size: int) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=size).digest()) or 1


def text(context: SpanContext) -> str:
    """A span's context as W3C's `traceparent`."""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


@lru_cache(4_096)
def parse_traceparent(traceparent: str) -> SpanContext | None:
    """A `traceparent`; None where it is empty or malformed."""
    if not traceparent:
        return None
    context = trace.get_current_span(_propagator.extract({HEADER: traceparent}, Context())).get_span_context()
    return context if context.is_valid else None


def place(like: SpanContext, span_id: int, trace_id: int = 0) -> SpanContext:
    """Another span of the same trace, or of the trace named."""
    return SpanContext(trace_id or like.trace_id, span_id, True, like.trace_flags)


def post(session: str, like: SpanContext, n: int, round_: int, *, alone: bool) -> SpanContext:
    """The span of a post, for who links to it from another span; `alone`: each round of the session is a trace."""
    return place(like, span_of(session, "post", n), trace_of(session, round_) if alone else 0)


def inject(headers: MutableMapping[str, str]) -> None:
    """Write the current span's context into headers; nothing where no span is recording."""
    if is_recording():
        headers[HEADER] = text(trace.get_current_span().get_span_context())


def trace_headers() -> dict[str, str]:
    """Headers with the current span's context; empty where no span is recording."""
    headers: dict[str, str] = {}
    inject(headers)
    return headers


def extract(headers: Mapping[str, str] | None) -> SpanContext | None:
    """The sender's context; None where the headers carry none or a malformed one."""
    return parse_traceparent(headers.get(HEADER, "")) if headers else None


# ---------------------------------------------------------------- where a session begins


@contextmanager
def asking(name: str, session: str) -> Iterator[dict[str, str]]:
    """Around the opening of a session by a client: the headers to send with it.

    They carry the caller's own span where there is one, whether it is sampled or not: the decision is the caller's.
    Where there is none, and an SDK, a span `name` is the root.
    """
    current = trace.get_current_span().get_span_context()
    if current.is_valid:
        yield {HEADER: text(current)}
    elif not is_enabled():
        yield {}
    else:
        with _tracer.start_as_current_span(name, attributes={"session.id": session}) as root:
            yield {HEADER: text(root.get_span_context())}


def root(name: str) -> AbstractContextManager[Span]:
    """A span around all that a caller does, where an SDK is set up."""
    if not is_enabled():
        return NOTHING
    return _tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False)


def within(traceparent: str) -> AbstractContextManager[object]:
    """Make spans that begin here children of a span elsewhere; of none, where this names none or there is no SDK."""
    around = parse_traceparent(traceparent) if is_enabled() else None
    return NOTHING if around is None else trace.use_span(NonRecordingSpan(around))


def begin(session: str, headers: Mapping[str, str] | None) -> str:
    """Decide whether a session that opens now is traced: what its opening keeps of that; empty: it is not.

    That is the `traceparent` of the span which its own is a child of. Where the session begins its trace itself, it
    names the session's own span.
    """
    parent = extract(headers)
    if parent is not None:
        return text(parent) if parent.trace_flags.sampled else ""
    if not is_enabled():
        return ""
    ids = Ids(trace_of(session), span_of(session, "session"))
    if os.environ.get("OTEL_TRACES_SAMPLER"):  # the SDK decides, and is asked by a span that never ends
        sampled = _started("session", Context(), ids).is_recording()
    else:
        sampled = _sampler()
    return text(SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))) if sampled else ""


# ---------------------------------------------------------------- spans


class Event(NamedTuple):
    """Something that happened in a span."""

    name: str
    at_ns: int
    attributes: Mapping[str, Attribute]


class FinishedSpan(NamedTuple):
    """A span that is over, with an id that follows from what it is of."""

    name: str
    within: SpanContext | None
    """Its parent; None: it begins its trace."""
    id: SpanContext
    started_ns: int
    ended_ns: int
    attributes: Mapping[str, Attribute]
    links: Sequence[SpanContext] = ()
    events: Sequence[Event] = ()
    kind: SpanKind = SpanKind.INTERNAL
    failed: str = ""
    """Why it failed; empty: it did not."""


def write(span: FinishedSpan) -> None:
    """Hand a span that is over to the SDK; nothing where there is none."""
    if not is_enabled():
        return
    context = _around(span.within) if span.within is not None else Context()
    recorded = _started(
        span.name,
        context,
        Ids(span.id.trace_id, span.id.span_id),
        kind=span.kind,
        start_time=span.started_ns,
        attributes=dict(span.attributes),
        links=[Link(c) for c in span.links],
    )
    for event in span.events:
        recorded.add_event(event.name, dict(event.attributes), event.at_ns)
    if span.failed:
        fail(recorded, span.failed)
    recorded.end(max(span.ended_ns, span.started_ns))


def fail(span: Span, kind: str) -> None:
    """Mark a span as one of what failed; `kind`: a short word for why."""
    span.set_attribute(ERROR, True)
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def failed(kind: str) -> None:
    """Mark the current span, as `fail` does."""
    if is_recording():
        fail(trace.get_current_span(), kind)


@contextmanager
def derived(
    name: str,
    within: SpanContext | None,
    span_id: int,
    attributes: Mapping[str, Attribute],
    links: Sequence[SpanContext] = (),
) -> Iterator[Span]:
    """A span of which others know the id before it begins, around what this process does; none where `within` is None
    or not sampled."""
    if within is None or not is_enabled() or not within.trace_flags.sampled:
        yield trace.INVALID_SPAN
        return
    ids = Ids(within.trace_id, span_id)
    span = _started(name, _around(within), ids, attributes=dict(attributes), links=[Link(c) for c in links])
    with trace.use_span(span, end_on_exit=True):
        yield span


def process(
    template: str,
    subject: str,
    *,
    headers: Mapping[str, str] | None,
    session: str = "",
    within: SpanContext | None = None,
) -> AbstractContextManager[Span]:
    """A span around the handling of one message, a child of the span that sent it; none where that is not traced.

    Parameters
    ----------
    template
        The subject with its ids replaced: few values.
    within
        Its parent where the message carries no context.
    """
    if not is_enabled():
        return NOTHING
    sender = extract(headers) or within
    if sender is None or not sender.trace_flags.sampled:
        return NOTHING
    return _tracer.start_as_current_span(
        f"process {template}",
        context=_around(sender),
        kind=SpanKind.CONSUMER,
        attributes=message("process", template, subject, session),
    )


def span(
    name: str, attributes: Mapping[str, Attribute] | None = None, kind: SpanKind = SpanKind.INTERNAL
) -> AbstractContextManager[Span]:
    """A span for something inside this process, of what is traced. An exception that leaves it is recorded."""
    if not is_recording():
        return NOTHING
    return _tracer.start_as_current_span(name, attributes=attributes, kind=kind)


def message(operation: str, template: str, subject: str, session: str) -> dict[str, Attribute]:
    """What a span says of a message (OpenTelemetry's conventions for messaging; system "nats")."""
    return {
        "messaging.system": "nats",
        "messaging.operation.name": operation,
        "messaging.operation.type": "send" if operation == "publish" else "process",
        "messaging.destination.name": subject,
        "messaging.destination.template": template,
        "messaging.message.conversation_id": session,
        "gen_ai.conversation.id": session,  # what viewers of language-model traces group by
        "session.id": session,
    }


def _around(context: SpanContext) -> Context:
    return trace.set_span_in_context(NonRecordingSpan(context), Context())


def _started(name: str, context: Context, ids: Ids, **more: object) -> Span:
    token = _next.set(ids)
    try:
        return _tracer.start_span(name, context, **more)  # type: ignore[arg-type]
    finally:
        _next.reset(token)
