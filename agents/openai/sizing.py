"""Asks an endpoint about its model before the first turn: how large its window is, and how fast it is.

Servers tell the window in different places; one that does not tells it with the text of a refusal. The speed of a model
on a machine of one's own is measured with one short reply, which costs nothing there.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from parley.agents.endpoint.endpoint import Endpoint, Failure
from parley.agents.endpoint.limits import Gate
from parley.agents.openai.options import EndpointOptions
from parley.agents.openai.probe import Memory
from parley.agents.openai.refusals import LEAST

WITHIN_S = 5.0
"""For what the server tells."""
MEASURED_WITHIN_S = 60.0
"""For the short reply: a model may have to be loaded first."""
_MOST = 100_000_000
_SAID = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
_PROMPT = "List the twelve months of the year in order, each with the number of days that it has. " * 3
_REPLY_TOKENS = 24


async def learn(options: EndpointOptions, memory: Memory, connect: Callable[[], tuple[Endpoint, Gate]]) -> None:
    """Ask and measure what `memory` does not hold yet. Never raises a Failure: what cannot be learned is not needed."""
    known, preset = memory.get(), options.preset
    if known.output_s is None and preset.local:
        await _measure(options.model, memory, *connect())  # first: a server may tell a window only once it is loaded
    if known.window is None and (preset.local or preset.bounds):
        window = await _window(options, connect()[0])
        if window:
            memory.learn(window=window)


async def _window(options: EndpointOptions, endpoint: Endpoint) -> int | None:
    """What the server says, the smallest: a server may have less memory than the model has window."""
    name, root = options.model, re.sub(r"/v1/?\Z", "", options.base_url)
    ways = [
        _models(endpoint, name),
        _props(endpoint, root),
        *([_shown(endpoint, root, name), _loaded(endpoint, root, name)] if options.provider == "ollama" else []),
    ]
    try:
        async with asyncio.timeout(WITHIN_S):
            answers = await asyncio.gather(*ways)
    except TimeoutError:
        return None
    return min((n for numbers in answers for n in numbers), default=None)


async def _models(endpoint: Endpoint, name: str) -> list[int]:
    entries = _listed(await _json(endpoint, "/models"), "data")
    matching = [m for m in entries if str(m.get("id", "")).removeprefix("models/") == name] or entries[:1]
    return [n for entry in matching for part in (entry, entry.get("meta")) for n in _numbers(part, _SAID)]


async def _props(endpoint: Endpoint, root: str) -> list[int]:
    """llama.cpp's own: what one slot holds."""
    answer = await _json(endpoint, f"{root}/props")
    return list(_numbers(answer.get("default_generation_settings"), ("n_ctx",)))


async def _shown(endpoint: Endpoint, root: str, name: str) -> list[int]:
    """Ollama's own: `num_ctx`, where the model's file sets it."""
    answer = await _json(endpoint, f"{root}/api/show", {"model": name})
    parameters = answer.get("parameters")
    match = re.search(r"^num_ctx\s+(\d+)", parameters, re.M) if isinstance(parameters, str) else None
    return [int(match[1])] if match else []


async def _loaded(endpoint: Endpoint, root: str, name: str) -> list[int]:
    """Ollama's own: what a model that is loaded was given, which no request can change."""
    entries = _listed(await _json(endpoint, f"{root}/api/ps"), "models")
    matching = [m for m in entries if str(m.get("name", "")).removesuffix(":latest") == name.removesuffix(":latest")]
    return [n for entry in matching for n in _numbers(entry, ("context_length",))]


async def _json(endpoint: Endpoint, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    try:
        data = await endpoint.fetch(path, body)
        decoded = msgspec.json.decode(data)
    except (Failure, msgspec.DecodeError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _listed(answer: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    entries = answer.get(name)
    return [m for m in entries if isinstance(m, Mapping)] if isinstance(entries, list) else []


def _numbers(fields: Any, names: tuple[str, ...]) -> Iterator[int]:
    if not isinstance(fields, Mapping):
        return
    for name in names:
        value = fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and LEAST <= value <= _MOST:
            yield value


async def _measure(model: str, memory: Memory, endpoint: Endpoint, gate: Gate) -> None:
    """One short reply, as a stream: until its first text the prompt is read, from then on it is written."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": _PROMPT}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": _REPLY_TOKENS,
        "temperature": 0,
    }
    started = time.monotonic()
    try:
        async with asyncio.timeout(MEASURED_WITHIN_S), gate.place():
            answer = await endpoint.complete(body, lambda _text: None)
    except (Failure, TimeoutError):
        return
    whole_s, first_s = time.monotonic() - started, answer.first_token_s
    if first_s is None or not answer.output_tokens or not answer.input_tokens or whole_s <= first_s:
        return
    rate = max(1, answer.output_tokens - 1) / (whole_s - first_s)
    memory.learn(input_s=answer.input_tokens / max(first_s, 1e-3), output_s=rate)
