"""The span of a turn: from when its worker has room for it until a moderator took the reply.

Its id follows from the session and the turn, and it hangs on the round that its message names, which is written later
(parley.coordinator.sessions.spans). Links lead to the posts that the seat was shown.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from opentelemetry.trace import Span, SpanContext

from parley.observability import genai, tracing
from parley.schemas.turn import Turn, Work

_NONE = nullcontext()


def around(
    headers: Mapping[str, str], work: Work, turn: Turn, model: str, now_ns: int
) -> AbstractContextManager[Span | None]:
    """Around one turn; None where its session is not traced.

    Parameters
    ----------
    headers
        Of the WORK message.
    now_ns
        Unix time, as the deadlines of turns.
    """
    round_ = tracing.extract(headers) if tracing.is_enabled() else None
    return _NONE if round_ is None else _around(round_, work, turn, model, now_ns)


@contextmanager
def _around(round_: SpanContext, work: Work, turn: Turn, model: str, now_ns: int) -> Iterator[Span]:
    alone = round_.trace_id == tracing.trace_of(work.session, work.round)
    rounds = {post.n: post.round for post in work.posts}
    shown = dict.fromkeys((*turn.sees, *(() if turn.own is None else (turn.own,))))
    links = [tracing.post(work.session, round_, n, rounds[n], alone=alone) for n in shown if n in rounds]
    attributes = genai.agent(work.session, turn.seat, work.protocol, turn.kind, work.round, turn.id, model)
    attributes["turn.waited_s"] = max(0.0, (now_ns - work.decided_ns) / 1e9)
    id = tracing.span_of(work.session, "turn", turn.id)
    with tracing.derived(f"invoke_agent {turn.role}", round_, id, attributes, links) as span:
        try:
            yield span
        except asyncio.CancelledError:
            span.set_attribute("turn.outcome", "cancelled")
            raise


def record_turn_end(span: Span | None, outcome: str) -> None:
    """Say on a turn's span what became of it."""
    if span is None:
        return
    span.set_attribute("turn.outcome", outcome)
    if outcome == "expired":
        tracing.fail(span, "deadline")
