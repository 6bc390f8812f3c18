"""What spans of models, agents and tools are called: OpenTelemetry's conventions for generative AI, all in one place.

They still change (since May 2026 in `open-telemetry/semantic-conventions-genai`), so nothing of Parley rests on them:
its own series and alerts have names of their own. No prompt, reply, argument or result is ever in them.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind

from parley.observability import tracing
from parley.observability.tracing import Attribute

_PROVIDERS = {
    "gemini": "gcp.gemini",
    "zhipu": "zhipu_ai",
    "llama.cpp": "llama_cpp",
    "lmstudio": "lm_studio",
}
"""Ours -> the conventions' name, or one in their style; the others are called the same."""

_LIMITS = {
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "temperature": "gen_ai.request.temperature",
}


def workflow(session: str, protocol: str) -> dict[str, Attribute]:
    """Of a session's span, `invoke_workflow PROTOCOL`."""
    return {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": protocol,
        "gen_ai.conversation.id": session,
        "session.id": session,
    }


def agent(
    session: str, seat: str, protocol: str, kind: str, round_: int, turn: str, model: str = ""
) -> dict[str, Attribute]:
    """Of a turn's span, `invoke_agent ROLE`."""
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": seat,
        "gen_ai.conversation.id": session,
        "session.id": session,
        "session.protocol": protocol,
        "turn.id": turn,
        "turn.kind": kind,
        "turn.round": round_,
    }
    if model:
        attributes["gen_ai.request.model"] = model
    return attributes


def tool(name: str) -> AbstractContextManager[Span]:
    """Around one call of a tool."""
    if not tracing.is_recording():
        return tracing.NOTHING
    named: dict[str, Attribute] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
    }
    return tracing.span(f"execute_tool {name}", named)


@contextmanager
def chat(model: str, provider: str, base_url: str, body: Mapping[str, object]) -> Iterator[Span]:
    """Around one call of a model's server; what leaves it as an exception is its `error.type`. `body`: the request, for
    how much it may answer and how freely. Nothing else of it is told."""
    if not tracing.is_recording():
        yield trace.INVALID_SPAN
        return
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": model,
    }
    url = urlsplit(base_url)
    if url.hostname:
        attributes["server.address"] = url.hostname
        attributes["server.port"] = url.port or (443 if url.scheme == "https" else 80)
    for name, attribute in _LIMITS.items():
        value = body.get(name)
        if isinstance(value, int | float):
            attributes[attribute] = value
    tracer = trace.get_tracer("parley")
    with tracer.start_as_current_span(
        f"chat {model}",
        kind=SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except asyncio.CancelledError:
            tracing.fail(span, "cancelled")
            raise
        except Exception as error:  # its text may quote a server: its kind alone is told
            status = getattr(error, "status", None)
            tracing.fail(span, str(status) if isinstance(status, int) else type(error).__name__.lower())
            raise


def record_answer(
    span: Span, *, model: str, id: str, finish: str, tokens: tuple[int, int] | None, cached: int, thought: int
) -> None:
    """Say on the span of a call what the server answered."""
    if not span.is_recording():
        return
    for name, value in (("id", id), ("model", model)):
        if value:
            span.set_attribute(f"gen_ai.response.{name}", value)
    if finish:
        span.set_attribute("gen_ai.response.finish_reasons", (finish,))
    if tokens is not None:
        span.set_attribute("gen_ai.usage.input_tokens", tokens[0])
        span.set_attribute("gen_ai.usage.output_tokens", tokens[1])
        span.set_attribute("gen_ai.usage.cache_read.input_tokens", cached)
        if thought:
            span.set_attribute("gen_ai.usage.reasoning.output_tokens", thought)
