"""Spans across processes, through NATS headers. The OpenTelemetry API only: without an SDK nothing is paid.

Span names and attributes follow the messaging conventions of OpenTelemetry (system "nats"): `publish <template>` at
the sender, `process <template>` at the receiver, where the template is the subject with its ids replaced. A receiver's
span is a child of the sender's and links to it as well: messages are handled one at a time, with no span around them.

    with tracing.publish(template, subject, session=sid, headers=headers):       # headers carry the context afterwards
        ...
    with tracing.process(template, subject, session=sid, headers=message.headers):
        with tracing.span("step"):
            ...

A session is traced whole or not at all. That is decided where it begins (`begins`), and travels with its messages: what
carries no context, of a session that this process has not traced so far, leads to no span. Unless OTEL_TRACES_SAMPLER
says otherwise, `A_MINUTE` sessions a minute are traced, so that a busy process pays for few.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

Attribute = str | bool | int | float

A_MINUTE = 20
"""Sessions a minute that are traced, and at once."""
_KEPT = 2_000
"""Traced sessions whose context is remembered, for messages that carry none: fired timers."""

_propagator = TraceContextTextMapPropagator()
_tracer = trace.get_tracer("parley")
_NOTHING: AbstractContextManager[Span] = nullcontext(trace.INVALID_SPAN)
_traced: OrderedDict[str, dict[str, str]] = OrderedDict()


class Sampler:
    """Lets so many through a minute, and as many at once."""

    def __init__(self, a_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._a_minute = a_minute
        self._clock = clock
        self._left = a_minute
        self._at = clock()

    def __call__(self) -> bool:
        """Whether one more is traced."""
        now = self._clock()
        self._left = min(self._a_minute, self._left + (now - self._at) * self._a_minute / 60.0)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


_sampler = Sampler(A_MINUTE)


def enabled() -> bool:
    """Whether this process has set up an SDK."""
    return trace._TRACER_PROVIDER is not None  # `get_tracer_provider` reads the environment each time


def recording() -> bool:
    """Whether what goes on now is traced."""
    return enabled() and trace.get_current_span().is_recording()


def ids() -> tuple[str, str] | None:
    """Trace id and span id of the current span, as hex of 32 and 16 digits; None where there is none."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)


def inject(headers: MutableMapping[str, str]) -> None:
    """Write the current span's context into headers; nothing where no span is recording."""
    if recording():
        _propagator.inject(headers)


def extract(headers: Mapping[str, str] | None) -> Context | None:
    """The sender's context; None where the headers carry none or a malformed one."""
    if not headers or "traceparent" not in headers:
        return None
    context = _propagator.extract(headers)
    return context if trace.get_current_span(context).get_span_context().is_valid else None


def publish(
    template: str,
    subject: str,
    *,
    headers: MutableMapping[str, str],
    session: str = "",
    message_id: str = "",
) -> AbstractContextManager[Span]:
    """A span around one publish; `headers` receive its context on entry.

    Parameters
    ----------
    template
        The subject with its ids replaced: few values.
    subject
        Where the message goes.
    """
    if not recording():
        return _NOTHING
    return _publish(template, subject, headers, session, message_id)


def process(
    template: str,
    subject: str,
    *,
    headers: Mapping[str, str] | None,
    session: str = "",
    message_id: str = "",
    attributes: Mapping[str, Attribute] | None = None,
    others: Sequence[Mapping[str, str] | None] = (),
    begins: bool = False,
) -> AbstractContextManager[Span]:
    """A span around the handling of one message: child of, and link to, the span that sent it.

    Parameters
    ----------
    others
        Headers of messages that are handled together with it, whose spans it links to.
    begins
        A session begins with it, so that it is decided here whether it is traced.
    """
    if not enabled():
        return _NOTHING
    context = extract(headers)
    if context is None:
        context = extract(_traced.get(session))
        if context is None and not (begins and _is_sampled()):
            return _NOTHING
    return _process(template, subject, context, session, message_id, attributes, others)


def _is_sampled() -> bool:
    return bool(os.environ.get("OTEL_TRACES_SAMPLER")) or _sampler()  # the SDK decides, where it is told how


def span(name: str, attributes: Mapping[str, Attribute] | None = None) -> AbstractContextManager[Span]:
    """A span for something inside this process, of what is traced. An exception that leaves it is recorded."""
    if not recording():
        return _NOTHING
    return _tracer.start_as_current_span(name, attributes=attributes)


def _attributes(operation: str, template: str, subject: str, session: str, message_id: str) -> dict[str, Attribute]:
    out: dict[str, Attribute] = {
        "messaging.system": "nats",
        "messaging.operation.name": operation,
        "messaging.operation.type": "send" if operation == "publish" else "process",
        "messaging.destination.name": subject,
        "messaging.destination.template": template,
    }
    if session:
        out["session.id"] = session
        out["messaging.message.conversation_id"] = session
        out["gen_ai.conversation.id"] = session  # what viewers of language-model traces group by
    if message_id:
        out["messaging.message.id"] = message_id
    return out


@contextmanager
def _publish(
    template: str, subject: str, headers: MutableMapping[str, str], session: str, message_id: str
) -> Iterator[Span]:
    attributes = _attributes("publish", template, subject, session, message_id)
    with _tracer.start_as_current_span(f"publish {template}", kind=SpanKind.PRODUCER, attributes=attributes) as current:
        inject(headers)
        yield current


@contextmanager
def _process(
    template: str,
    subject: str,
    context: Context | None,
    session: str,
    message_id: str,
    more: Mapping[str, Attribute] | None,
    others: Sequence[Mapping[str, str] | None],
) -> Iterator[Span]:
    attributes = _attributes("process", template, subject, session, message_id)
    attributes.update(more or {})
    senders = [context, *(extract(h) for h in others)]
    links = [Link(trace.get_current_span(c).get_span_context()) for c in senders if c is not None]
    with _tracer.start_as_current_span(
        f"process {template}", context=context, kind=SpanKind.CONSUMER, attributes=attributes, links=links
    ) as current:
        if session and session not in _traced and current.is_recording():
            _traced[session] = {}
            inject(_traced[session])
            if len(_traced) > _KEPT:
                _traced.popitem(last=False)
        yield current
