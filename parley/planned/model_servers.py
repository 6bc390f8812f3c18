"""Checks that the servers of language models answer, before a stack starts that would wait for them.

Each is asked for its list of models, which costs nothing. Refused is only what could answer no turn: nobody listens at
the address, or the key is not taken.
"""

import asyncio
from typing import TYPE_CHECKING

from parley.client.errors import BadInput
from parley.planned.plan import Plan
from parley.stack.rows import AgentRow, names_models

if TYPE_CHECKING:
    from parley.agents.openai.model import OpenAIModel

WITHIN_S = 5.0


def refuse(plan: Plan) -> None:
    """Look at the embedded stack's models, unless they are those of a bus elsewhere.

    Raises
    ------
    BadInput
        Names the agent, its model's server, and why it could answer nothing.
    """
    settings = plan.settings
    rows = plan.rows
    if settings.nats.url or not names_models(rows):
        return
    asyncio.run(refuse_rows(rows))


async def refuse_rows(rows: tuple[AgentRow, ...]) -> None:
    """Look at the models of these agents. Raises BadInput as `refuse`."""
    if not names_models(rows):
        return
    from parley.agents.openai.model import OpenAIModel
    from parley.stack.services import model_of, spec_of

    servers: dict[tuple[str, object], tuple[str, OpenAIModel]] = {}
    for row in rows:
        spec = spec_of(row)
        model = None if ":" in spec.model else model_of(spec)
        if isinstance(model, OpenAIModel):
            key = model.options.api_key
            at = model.options.base_url, hash(key.reveal()) if key is not None else None
            servers.setdefault(at, (row.queue, model))
    if servers:
        await _look(list(servers.values()))


async def _look(servers: "list[tuple[str, OpenAIModel]]") -> None:
    async def one(queue: str, model: "OpenAIModel") -> None:
        try:
            answer = await model.check(WITHIN_S)
        finally:
            await model.aclose()
        if not answer.reachable:
            o = model.options
            raise BadInput(f"agent {queue}", f"provider {o.provider} at {o.base_url} cannot be used: {answer.why}")

    looks = await asyncio.gather(*(one(*server) for server in servers), return_exceptions=True)
    for failed in looks:
        if failed is not None:
            raise failed
