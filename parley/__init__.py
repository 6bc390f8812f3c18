"""Parley: several agents, each its own process, argue over a question on a NATS bus.

result = parley.ask("Which of the two designs survives a power cut?", protocol="consensus", evidence="docs/")

async with parley.local(protocol="consensus") as p:
    result = await p.ask("Which of the two designs survives a power cut?", evidence="docs/")

async with parley.connect("nats://bus:4222", "owner.json") as p:
    session = await p.start("...", protocol="consensus", settings={"threshold": 80})
    async for post in session.posts(): ...
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.models.function import Agent, Reply, Turn, agent
    from client.api import Parley, connect
    from client.errors import BadInput, ParleyError, Refusal, StackFailed, Unreachable
    from client.opened_session import Session
    from client.reliability.learning import LearnReport
    from client.show.told import Result
    from parley.blocking import ask, learn
    from parley.local_stack import local
    from parley.stack.lease import Stack
    from parley.stack.rows import AgentRow

_WHERE = {
    "Agent": "agents.models.function",
    "AgentRow": "parley.stack.rows",
    "BadInput": "client.errors",
    "LearnReport": "client.reliability.learning",
    "Parley": "client.api",
    "ParleyError": "client.errors",
    "Refusal": "client.errors",
    "Reply": "agents.models.function",
    "Result": "client.show.told",
    "Session": "client.opened_session",
    "Stack": "parley.stack.lease",
    "StackFailed": "client.errors",
    "Turn": "agents.models.function",
    "Unreachable": "client.errors",
    "agent": "agents.models.function",
    "ask": "parley.blocking",
    "connect": "client.api",
    "learn": "parley.blocking",
    "local": "parley.local_stack",
}

__all__ = [
    "Agent",
    "AgentRow",
    "BadInput",
    "LearnReport",
    "Parley",
    "ParleyError",
    "Refusal",
    "Reply",
    "Result",
    "Session",
    "Stack",
    "StackFailed",
    "Turn",
    "Unreachable",
    "agent",
    "ask",
    "connect",
    "learn",
    "local",
]


def __getattr__(name: str) -> Any:
    """Loaded on first use, so that `import parley` costs nothing."""
    import importlib

    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(where), name)


def __dir__() -> list[str]:
    return sorted(__all__)
