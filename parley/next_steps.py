"""Says what to do next if no seat had anything to answer from: no language model, and no document."""

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parley.client.text import line
from parley.schemas.presence import Announcement
from parley.schemas.session import OpenSession

if TYPE_CHECKING:
    from parley.agents.openai.local_servers import LocalServer

PORTS = "PARLEY_LOCAL_PORTS"
"""Where servers of models listen on this machine, if not at their usual ports: `ollama=11500,vllm=8001`."""
_GIVEN = ("folder", "code_snippets", "prior_conversation")
"""Settings that bring something to go by."""


def needed(there: Sequence[Announcement], opening: OpenSession) -> bool:
    """Whether a session had no language model and nothing to read."""
    read = opening.documents or any(opening.settings.get(name) for name in _GIVEN)
    return bool(there) and not read and all(worker.keyless for worker in there)


async def servers() -> "list[LocalServer]":
    """Servers of models that listen on this machine."""
    from parley.agents.openai import local_servers

    return await local_servers.find(_ports())


def _ports() -> dict[str, int]:
    from parley.agents.openai import local_servers

    return local_servers.ports(os.environ.get(PORTS, ""))


def server_words(found: "Sequence[LocalServer]", command: str = 'parley ask "..."') -> list[str]:
    """How to use those servers for a command, a line each; where there is none, who was asked."""
    if found:
        return [_use(server, command) for server in found]
    from parley.agents.openai.local_servers import NAMES

    asked = ", ".join(f"{port} ({NAMES[name]})" for name, port in _ports().items())
    return [f"no model server listens on this machine: 127.0.0.1 was asked at the ports {asked}"]


async def words(protocol: str, *, answered: bool = False) -> list[str]:
    """The advice in lines, for a question put to this protocol; a server of models that listens on this machine comes
    first. `answered`: the session has an answer all the same."""
    found = await servers()
    steps = server_words(found, f'parley ask --protocol {protocol} "..."') if found else []
    steps += [
        "name a model: LLM_PROVIDER and LLM_MODEL, and the provider's key, in the environment or in .env"
        " (docs/models.md)",
        "give documents to answer from: --evidence FOLDER",
        "begin in a folder with .env, a panel file and an example: parley init",
    ]
    so = "the answer rests on neither" if answered else "there was nothing to answer from"
    head = f"parley: no language model and no document was at work, so {so}; what to do next:"
    return [head, *(f"  {n}. {step}" for n, step in enumerate(steps, 1))]


def _use(server: "LocalServer", command: str) -> str:
    where = f"{server.name} listens at {server.base_url}"
    if not server.model:
        return f"{where} and serves no model yet: load one"
    address = "" if server.usual else f" LLM_BASE_URL={server.base_url}"
    model = shlex.quote(line(server.model, 120))
    return f"{where}: LLM_PROVIDER={server.provider} LLM_MODEL={model}{address} {command}"
