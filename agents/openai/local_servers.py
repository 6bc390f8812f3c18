"""Servers of language models on this machine: who listens at the usual ports, and with which models.

The loopback address alone is asked, for the list of models, which costs nothing.
"""

import asyncio
from collections.abc import Mapping

import aiohttp
import msgspec

from parley.agents.openai.providers import PRESETS

NAMES = {"ollama": "Ollama", "llama.cpp": "llama.cpp", "lmstudio": "LM Studio", "vllm": "vLLM"}
"""Providers that are looked for, in the order of the advice, and how they call themselves."""
WITHIN_S = 0.8
_MOST_BYTES = 1_000_000
_NO_TALK = ("embed", "rerank", "whisper", "tts", "bge-", "clip")
"""In names of models that answer no question."""


class LocalServer(msgspec.Struct, frozen=True, kw_only=True):
    """One that listens."""

    provider: str
    port: int
    model: str
    """One that it serves; empty: it has none."""

    @property
    def name(self) -> str:
        """As people call it."""
        return NAMES[self.provider]

    @property
    def base_url(self) -> str:
        """Its address."""
        return _address(self.port)

    @property
    def usual(self) -> bool:
        """Whether the provider's name stands for the address."""
        return self.base_url == PRESETS[self.provider].base_url


def _address(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"


class _Listed(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Listed] | None


def ports(overrides: str = "") -> dict[str, int]:
    """Provider -> port: the usual ones, and over them those that are given as `ollama=11500,vllm=8001`. What cannot be
    read is passed over: it is no more than advice that hangs on it."""
    by_name = {name: int(PRESETS[name].base_url.rpartition(":")[2].removesuffix("/v1")) for name in NAMES}
    for pair in overrides.split(","):
        name, _, port = pair.partition("=")
        if name.strip() in NAMES and port.strip().isdecimal() and 0 < int(port) < 65_536:
            by_name[name.strip()] = int(port)
    return by_name


async def find(where: Mapping[str, int]) -> list[LocalServer]:
    """Those that listen, in the order of the advice."""
    time = aiohttp.ClientTimeout(total=WITHIN_S)
    async with aiohttp.ClientSession(timeout=time, trust_env=False) as session:
        servers = await asyncio.gather(*(_ask(session, name, where[name]) for name in NAMES if name in where))
    return [server for server in servers if server is not None]


async def _ask(session: aiohttp.ClientSession, name: str, port: int) -> LocalServer | None:
    try:
        async with session.get(f"{_address(port)}/models", allow_redirects=False) as answer:
            data = b""
            async for piece in answer.content.iter_any():
                data += piece
                if len(data) > _MOST_BYTES:
                    return None
        if answer.status != 200:
            return None
        listed = msgspec.json.decode(data, type=_Models)
    except (aiohttp.ClientError, TimeoutError, OSError, msgspec.MsgspecError, ValueError):
        return None
    names = [model.id for model in listed.data or ()]
    talks = [n for n in names if not any(part in n.lower() for part in _NO_TALK)]
    return LocalServer(provider=name, port=port, model=next(iter(talks), ""))
