"""The body of a request for a completion, by what is known of its endpoint: for turns, and for doctor's small call."""

from collections.abc import Mapping
from typing import Any

from parley.agents.openai.options import EndpointOptions
from parley.agents.openai.probe import SYSTEM, LearnedLimits
from parley.agents.openai.providers import Rung


def request_body(
    o: EndpointOptions,
    known: LearnedLimits,
    messages: list[dict[str, Any]],
    *,
    output: int,
    temperature: float | None,
    rung: Rung,
    name: str,
    schema: Mapping[str, Any],
    more: Mapping[str, Any],
    stream: bool,
) -> dict[str, Any]:
    """The body, without the fields that the endpoint refused before.

    Parameters
    ----------
    output
        Tokens at most.
    name, schema
        Of the reply, for a rung that takes a schema.
    more
        Tools, and how they may be called.
    stream
        Whether it is to stream, where nothing else was learned.
    """
    body: dict[str, Any] = {
        "model": o.model,
        "messages": without_system(messages) if SYSTEM in known.dropped else messages,
        known.tokens_field or o.preset.tokens_field: output,
        **o.preset.extra,
        **o.extra,
    }
    if temperature is not None:
        body["temperature"] = temperature
    if rung is Rung.SCHEMA:
        wanted = {"name": name, "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    elif rung is Rung.JSON:
        body["response_format"] = {"type": "json_object"}
    body |= more
    if stream if known.stream is None else known.stream:
        body["stream"] = True
        if o.preset.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return {field: value for field, value in body.items() if field not in known.dropped}


def without_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with those of the system at the beginning of the first of the user's."""
    system = [m["content"] for m in messages if m["role"] in ("system", "developer")]
    rest = [m for m in messages if m["role"] not in ("system", "developer")]
    at = next((i for i, m in enumerate(rest) if m["role"] == "user"), None)
    if at is None:
        return [{"role": "user", "content": "\n\n".join(system)}, *rest]
    return [*rest[:at], {**rest[at], "content": "\n\n".join([*system, rest[at]["content"]])}, *rest[at + 1 :]]
