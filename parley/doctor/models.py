"""A seat's model: what is known of it, a small structured reply of it, and what to do where it does not answer."""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from parley.client.errors import BadInput
from parley.coordinator.protocols import PROTOCOLS
from parley.doctor.report import ModelFound
from parley.schemas.presence import Announcement
from parley.stack.announce import expected_announcements, spec_of
from parley.stack.rows import AgentRow

if TYPE_CHECKING:
    from parley.agents.openai.model import OpenAIModel

Lacks = Callable[[str, str], None]
"""Called with what does not work, and what mends it."""
PROBE_S = 60.0
"""A model may think before it answers, or be loaded first."""


async def look(row: AgentRow, lacks: Lacks, *, probe: bool) -> ModelFound:
    """A row's model. One of a server is asked something where that costs nothing (it is on this machine), or where
    `probe` says so."""
    from parley.agents.model.base import ModelError

    try:
        spec = spec_of(row)
        if spec.model == "openai":
            from parley.agents.openai.model import make

            return await _of_server(row.queue, make(spec.options), lacks, probe=probe)
        (announcement,) = expected_announcements((row,))
    except (BadInput, ModelError) as error:
        text, _, cure = str(error).partition(": set ")
        mend = f"set {cure}" if cure else "correct the environment, .env, the panel or agent file (docs/models.md)"
        lacks(text if text.startswith(("agent", ".env")) else f"agent {row.queue}: {text}", mend)
        return ModelFound(seat=row.queue, model=row.model or "?", status="missing")
    return as_announced(announcement, "ok" if announcement.model == "extractive" else "configured")


def as_announced(w: Announcement, status: str = "announced") -> ModelFound:
    """The model that a worker announces."""
    quotes = any(r.name in w.roles and r.name not in p.needs_model for p in PROTOCOLS.values() for r in p.roles)
    return ModelFound(
        seat=w.queue,
        model=w.model,
        family=w.family,
        metered=w.metered,
        usd_per_million_input=w.usd_per_million_input,
        usd_per_million_output=w.usd_per_million_output,
        status="no model" if w.keyless and not quotes else status,
    )


async def _of_server(seat: str, model: "OpenAIModel", lacks: Lacks, *, probe: bool) -> ModelFound:
    from parley.agents.openai.providers import NAMES

    o = model.options
    report = ModelFound(
        seat=seat,
        model=model.name,
        family=model.family,
        provider=o.provider,
        metered=True,
        usd_per_million_input=None if o.price is None else o.price.input,
        usd_per_million_output=None if o.price is None else o.price.output,
        structured=NAMES[model.rung()],
        status="configured",
    )
    host = urlsplit(o.base_url).hostname or ""
    if not (probe or host in ("localhost", "::1") or host.startswith("127.")):
        return report
    started = time.perf_counter()
    try:
        why, learned, cure = await _asked_something(model)
    finally:
        await model.aclose()
    if why:
        lacks(f"agent {seat}: model {model.name} does not answer: {why}", remedy(o.provider, model.name, why, cure))
        return msgspec.structs.replace(report, status="missing")
    seconds = round(time.perf_counter() - started, 3)
    rung = NAMES[model.rung()]
    return msgspec.structs.replace(report, status="answers", seconds=seconds, structured=rung, learned=learned)


async def _asked_something(model: "OpenAIModel") -> tuple[str, str, str]:
    """(What is wrong, without key and address; empty if it answered, what was learned of its server on the way, what
    certainly mends it)."""
    from parley.agents.endpoint.endpoint import Failure
    from parley.agents.openai import refusals, small_call

    try:
        async with asyncio.timeout(PROBE_S):
            return "", await small_call.ask(model), ""
    except TimeoutError:
        return f"nothing within {PROBE_S:g} s", "", ""
    except Failure as error:
        return error.why, "", refusals.cure(error, model.options.key_names)


def remedy(provider: str, model: str, why: str, cure: str) -> str:
    """What to do about a model that did not answer; `cure`: what certainly mends it."""
    if provider == "ollama" and (not cure or "HTTP 404" in why):
        return f"ollama serve, and ollama pull {model}"
    if cure:
        return cure
    if "HTTP 5" in why:
        return "its server failed: look into the server's own log, and start it again"
    if why.startswith("no connection") or why.startswith("nothing within"):
        return "start the server, or set LLM_BASE_URL to where it is"
    return "see LLM_MODEL, LLM_BASE_URL and LLM_STRUCTURED (docs/models.md)"
