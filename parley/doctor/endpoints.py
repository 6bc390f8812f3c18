"""Asking a model for a small structured reply, and what to do where it does not answer."""

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from parley.agents.openai.model import OpenAIModel

PROBE_S = 60.0
"""A model may think before it answers, or be loaded first."""


def rung(model: "OpenAIModel") -> str:
    """The form in which the model's next reply is asked for."""
    from parley.agents.openai.providers import NAMES

    return NAMES[model.rung()]


async def asked_something(model: "OpenAIModel") -> tuple[str, str]:
    """Ask for a small structured reply: (what is wrong, without key and address; empty if it answered, what was learned
    of its server on the way)."""
    from parley.agents.endpoint.endpoint import Failure
    from parley.agents.openai import small_call

    try:
        async with asyncio.timeout(PROBE_S):
            return "", await small_call.ask(model)
    except TimeoutError:
        return f"nothing within {PROBE_S:g} s", ""
    except Failure as error:
        return error.why, ""


def remedy(provider: str, model: str, why: str) -> str:
    """What to do about a model that did not answer."""
    if provider == "ollama":
        return f"ollama serve, and ollama pull {model}"
    if "401" in why or "403" in why:
        return "put a key that it takes into LLM_API_KEY, or the provider's own variable"
    if "HTTP 5" in why:
        return "its server failed: look into the server's own log, and start it again"
    if why.startswith("no connection") or why.startswith("nothing within"):
        return "start the server, or set LLM_BASE_URL to where it is"
    return "set LLM_MODEL to one that the server has"


def local(url: str) -> bool:
    """Whether an address is of this machine."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
