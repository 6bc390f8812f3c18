"""Says which servers of models on this machine could answer."""

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parley.client.text import line

if TYPE_CHECKING:
    from parley.agents.openai.local_servers import LocalServer

PORTS = "PARLEY_LOCAL_PORTS"
"""Where servers of models listen on this machine, if not at their usual ports: `ollama=11500,vllm=8001`."""


async def servers() -> "list[LocalServer]":
    """Servers of models that listen on this machine."""
    from parley.agents.openai import local_servers

    return await local_servers.find(_ports())


def _ports() -> dict[str, int]:
    from parley.agents.openai import local_servers

    return local_servers.ports(os.environ.get(PORTS, ""))


def server_words(found: "Sequence[LocalServer]") -> list[str]:
    """How to use those servers, a line each; where there is none, who was asked."""
    if found:
        return [_use(server) for server in found]
    from parley.agents.openai.local_servers import NAMES

    asked = ", ".join(f"{port} ({NAMES[name]})" for name, port in _ports().items())
    return [f"no model server listens on this machine: 127.0.0.1 was asked at the ports {asked}"]


def _use(server: "LocalServer") -> str:
    where = f"{server.name} listens at {server.base_url}"
    if not server.model:
        return f"{where} and serves no model yet: load one"
    address = "" if server.usual else f" LLM_BASE_URL={server.base_url}"
    model = shlex.quote(line(server.model, 120))
    return f'{where}: LLM_PROVIDER={server.provider} LLM_MODEL={model}{address} parley ask "..."'
