"""Checks that agents can be started with the models and tools that are set for them, and that the models' servers
answer, before anything starts."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.bus.files.plain import is_named
from parley.client.errors import BadInput, bad_input
from parley.schemas.expert import expert_of
from parley.stack.announce import agent_of, faults_of, spec_of, variables
from parley.stack.rows import AgentRow, names_models

if TYPE_CHECKING:
    from parley.agents.openai.model import OpenAIModel

_WITHIN_S = 5.0
_TOOLS = "PARLEY_TOOLS"
"""As parley.agents.tools.allow reads it, which is not imported where nobody names one."""


def check_models(rows: tuple[AgentRow, ...], environ: Mapping[str, str] = os.environ) -> None:
    """Refuse a panel whose models cannot be made, before anything starts.

    Where nothing names a model there is nothing to check, and the check's imports are not paid. Raises BadInput: the
    agent, and what is wrong: an unknown provider, a missing key and its variable, a field of its file.
    """
    if not names_models(rows, environ):
        return
    from parley.agents.models import make_model

    over_file = variables(environ)
    for row in rows:
        spec = spec_of(row, over_file)
        if ":" not in spec.model:  # a module of the operator's is loaded where it runs
            with faults_of(f"agent {row.queue}"):
                make_model(spec.model, spec.options, {})


def check_tools(rows: Sequence[AgentRow], environ: Mapping[str, str]) -> None:
    """Refuse an allow list of tools, or a list of hands, that experts could not be started with, before anything
    starts. `environ`: as the agents' user has it. Raises BadInput: the file that PARLEY_TOOLS or PARLEY_HANDS names
    cannot be used, or an expert's specification names hands that are not there: the file, the field and what is
    allowed."""
    own = [row for row in rows if row.spec and expert_of(row.queue)]
    if own:
        _check_hands(own, environ)
    if not any(expert_of(row.queue) for row in rows) or not (_TOOLS in environ or is_named(Path(".env"))):
        return
    from parley.agents.tools import allow

    with bad_input(allow.VARIABLE, allow.ToolsError):
        allow.find(variables(environ))


def _check_hands(rows: Sequence[AgentRow], environ: Mapping[str, str]) -> None:
    from parley.agents.hands.made import variables as variables_of_hands

    for row in rows:
        with faults_of(f"agent {row.queue}"):
            variables_of_hands(agent_of(row).expert, variables(environ))


async def refuse_servers(rows: tuple[AgentRow, ...]) -> None:
    """See that the servers of these agents' language models answer, before a stack starts that would wait for them.
    Each is asked for its list of models, which costs nothing. Raises BadInput: nobody listens at an address, or the key
    is not taken: names the agent, its model's server, and why."""
    if not names_models(rows):
        return
    from parley.agents.models import make_model
    from parley.agents.openai.model import OpenAIModel

    servers: dict[tuple[str, object], tuple[str, OpenAIModel]] = {}
    for row in rows:
        spec = spec_of(row)
        model = None if ":" in spec.model else make_model(spec.model, spec.options, {})
        if isinstance(model, OpenAIModel):
            key = model.options.api_key
            at = model.options.base_url, hash(key.reveal()) if key is not None else None
            servers.setdefault(at, (row.queue, model))
    if servers:
        await _look(list(servers.values()))


async def _look(servers: "list[tuple[str, OpenAIModel]]") -> None:
    async def one(queue: str, model: "OpenAIModel") -> None:
        try:
            why = await model.check(_WITHIN_S)
        finally:
            await model.aclose()
        if why:
            o = model.options
            told = f"provider {o.provider} at {o.base_url} cannot be used: {why}; parley doctor says what mends it"
            raise BadInput(f"agent {queue}", told)

    looks = await asyncio.gather(*(one(*server) for server in servers), return_exceptions=True)
    for failed in looks:
        if failed is not None:
            raise failed
