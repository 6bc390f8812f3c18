"""An agent of the NATS agent protocol (Synadia's, version 0.3) in a seat.

    panelist_3: {model: "parley.agents.remote.nats_agents:make", options: {agent: claude-code, owner: ann}}

Its NATS is named by `url`, and by `creds` where that wants credentials; a session's name by `session`.
"""

from collections.abc import Mapping
from typing import Any

from parley.agents import remote
from parley.agents.model.base import Model, ModelRefused, ModelUnavailable
from parley.agents.models.function import Turn

_NOBODY = "Nobody can answer that here. Decide yourself, and say what you assumed."


def make(options: Mapping[str, Any]) -> Model:
    """The model. Raises ModelMisconfigured."""
    try:
        import synadia_ai.agents  # noqa: F401  # an extra
    except ModuleNotFoundError as error:
        raise remote.missing_extra_text("nats-agents", error) from error
    given = remote.options_of(
        options, agent="?", url="nats://127.0.0.1:4222", creds="", owner="", session="", name="nats-agent"
    )

    async def ask(prompt: str, turn: Turn) -> str:
        return await _ask(given, prompt, turn)

    return remote.seat(given["name"], ask)


async def _ask(where: Mapping[str, str], prompt: str, turn: Turn) -> str:
    """What the agent says to a prompt. Raises ModelError."""
    import nats
    from synadia_ai.agents import Agents, DiscoverFilter, NatsAgentError, Query, ResponseChunk

    wanted = DiscoverFilter(agent=where["agent"], owner=where["owner"] or None, session_name=where["session"] or None)
    said = []
    try:
        connection = await nats.connect(where["url"], user_credentials=where["creds"] or None, connect_timeout=5)
        try:
            agents = Agents(nc=connection)
            found = await agents.discover(filter=wanted)
            if not found:
                raise ModelUnavailable(f"no agent {where['agent']} answers on that NATS")
            async for message in found[0].prompt(prompt, max_wait_s=max(0.1, turn.seconds_left)):
                if isinstance(message, ResponseChunk):
                    said.append(message.text)
                elif isinstance(message, Query):
                    await message.reply(_NOBODY)
            await agents.close()
        finally:
            await connection.close()
    except (nats.errors.Error, NatsAgentError, OSError, TimeoutError) as error:
        raise ModelUnavailable(f"the agent {where['agent']}: {type(error).__name__}") from error
    if not said:
        raise ModelRefused(f"the agent {where['agent']} said nothing")
    return "".join(said)
