"""Providers by name: where they are, which variable holds their key, and what they do differently.

What stands here is only where a client starts: what a server then refuses or ignores is learned
(agents/openai/probe.py)."""

import difflib
from enum import IntEnum
from urllib.parse import urlsplit

import msgspec

from parley.agents.model.base import ModelMisconfigured


class Rung(IntEnum):
    """How a structured reply is asked for; each is tried before the one below it."""

    SCHEMA = 3
    """The server holds the model to a JSON schema."""
    JSON = 2
    """The server holds it to JSON; the schema stands in the prompt."""
    TEXT = 1
    """The schema stands in the prompt, and the reply is taken out of whatever comes."""


RUNGS = {"json_schema": Rung.SCHEMA, "json_object": Rung.JSON, "text": Rung.TEXT}
"""The names that `options.structured` takes."""

NAMES = {rung: name for name, rung in RUNGS.items()}


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """One provider."""

    base_url: str = ""
    keys: tuple[str, ...] = ()
    """Variables that may hold its key, the usual one first; none: it needs no key."""
    rung: Rung = Rung.SCHEMA
    tokens_field: str = "max_tokens"
    stream_usage: bool = True
    """Whether it takes `stream_options`."""
    highest_temperature: float = 2.0
    extra: dict[str, object] = {}
    """What else goes into each request."""
    bounds: bool = False
    """Whether a schema carries ranges and lengths: OpenAI's strict mode refuses some of them."""
    local: bool = False
    """On a machine of one's own: costs nothing."""
    tells_cost: bool = False
    """Whether its usage says what the call cost."""
    model: str = ""
    """The one that is asked where none is named; empty: one must be."""


PRESETS: dict[str, Preset] = {
    "openai": Preset(
        base_url="https://api.openai.com/v1", keys=("OPENAI_API_KEY",), tokens_field="max_completion_tokens"
    ),
    # Ignores response_format without a word, so nothing is asked of it that way.
    "anthropic": Preset(
        base_url="https://api.anthropic.com/v1", keys=("ANTHROPIC_API_KEY",), rung=Rung.TEXT, highest_temperature=1.0
    ),
    "gemini": Preset(
        base_url="https://generativelanguage.googleapis.com/v1beta/openai", keys=("GEMINI_API_KEY", "GOOGLE_API_KEY")
    ),
    "deepseek": Preset(base_url="https://api.deepseek.com/v1", keys=("DEEPSEEK_API_KEY",), rung=Rung.JSON),
    "zhipu": Preset(
        base_url="https://api.z.ai/api/paas/v4",
        keys=("ZAI_API_KEY", "ZHIPUAI_API_KEY"),
        rung=Rung.JSON,
        stream_usage=False,
        highest_temperature=1.0,
        model="glm-4.7",
    ),
    "openrouter": Preset(
        base_url="https://openrouter.ai/api/v1",
        keys=("OPENROUTER_API_KEY",),
        tells_cost=True,
        extra={"provider": {"require_parameters": True}},
    ),
    # Counts tokens in a stream unasked, and takes no field that it does not know.
    "mistral": Preset(
        base_url="https://api.mistral.ai/v1", keys=("MISTRAL_API_KEY",), stream_usage=False, highest_temperature=1.5
    ),
    "groq": Preset(
        base_url="https://api.groq.com/openai/v1", keys=("GROQ_API_KEY",), tokens_field="max_completion_tokens"
    ),
    "ollama": Preset(base_url="http://127.0.0.1:11434/v1", local=True, bounds=True),
    "vllm": Preset(base_url="http://127.0.0.1:8000/v1", local=True, bounds=True),
    "llama.cpp": Preset(base_url="http://127.0.0.1:8080/v1", local=True, bounds=True),
    "lmstudio": Preset(base_url="http://127.0.0.1:1234/v1", local=True, bounds=True),
    "openai_compatible": Preset(bounds=True),
}

ALIASES = {
    "claude": "anthropic", "google": "gemini", "zai": "zhipu", "z.ai": "zhipu", "glm": "zhipu", "llamacpp": "llama.cpp",
    "llama_cpp": "llama.cpp", "lm_studio": "lmstudio", "lm studio": "lmstudio", "compatible": "openai_compatible",
}  # fmt: skip

_FAMILIES = (
    ("gpt", ("gpt", "o1", "o3", "o4", "chatgpt")), ("claude", ("claude",)), ("gemini", ("gemini", "gemma")),
    ("deepseek", ("deepseek",)), ("glm", ("glm",)), ("llama", ("llama",)), ("qwen", ("qwen", "qwq")),
    ("mistral", ("mistral", "mixtral", "ministral", "magistral", "codestral")), ("phi", ("phi",)), ("grok", ("grok",)),
    ("kimi", ("kimi",)),
)  # fmt: skip


def provider(name: str) -> str:
    """The provider that a name stands for. Raises ModelMisconfigured: there is none; the nearest is named."""
    wanted = name.strip().lower()
    wanted = ALIASES.get(wanted, wanted).replace("openai-compatible", "openai_compatible")
    if wanted in PRESETS:
        return wanted
    near = difflib.get_close_matches(wanted, [*PRESETS, *ALIASES], 1)
    hint = f"did you mean {ALIASES.get(near[0], near[0])}?" if near else "known: " + ", ".join(PRESETS)
    raise ModelMisconfigured(f"provider: got {name!r}; {hint}")


def preset_of(name: str, base_url: str = "") -> Preset:
    """What is known of a provider; of `openai_compatible`, what is known of the one whose host its address names."""
    preset = PRESETS[name]
    if name != "openai_compatible" or not base_url:
        return preset
    host = urlsplit(base_url).hostname
    for other in PRESETS.values():
        if not other.local and other.base_url and urlsplit(other.base_url).hostname == host:
            return other
    return preset


def family_of(model: str, default: str) -> str:
    """Whose model it is, by its name: two of one family are not independent witnesses."""
    name = model.lower().rpartition("/")[2]
    for family, starts in _FAMILIES:
        if name.startswith(starts):
            return family
    return default
