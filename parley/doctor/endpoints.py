"""Asking a model a tiny question, and what to do where it does not answer."""

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from parley.agents.openai.model import OpenAIModel

PROBE_S = 20.0
_PROBE_TOKENS = 16
_PROBE = "Reply with the word ok."


def rung(model: "OpenAIModel") -> str:
    """The form in which the model's next reply is asked for."""
    from parley.agents.openai.providers import NAMES

    return NAMES[model.rung()]


async def asked_something(model: "OpenAIModel") -> str:
    """Ask a few tokens' worth; empty if it answered, else what is wrong (no key, no address)."""
    from parley.agents.endpoint.endpoint import Failure

    o = model.options
    field = model.memory.get().tokens_field or o.preset.tokens_field
    body = {
        "model": model.name, "messages": [{"role": "user", "content": _PROBE}], field: _PROBE_TOKENS, **o.extra,
    }  # fmt: skip
    try:
        async with asyncio.timeout(PROBE_S):
            await model.open()[0].complete(body, lambda _text: None)
    except TimeoutError:
        return f"nothing within {PROBE_S:g} s"
    except Failure as error:
        return error.why
    return ""


def remedy(provider: str, model: str, why: str) -> str:
    """What to do about a model that did not answer."""
    if provider == "ollama":
        return f"ollama serve, and ollama pull {model}"
    if "401" in why or "403" in why:
        return "put a key that it takes into LLM_API_KEY, or the provider's own variable"
    if why.startswith("no connection") or why.startswith("nothing within"):
        return "start the server, or set LLM_BASE_URL to where it is"
    return "set LLM_MODEL to one that the server has"


def local(url: str) -> bool:
    """Whether an address is of this machine."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
