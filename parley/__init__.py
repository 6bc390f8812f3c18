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
    from parley.agents.models.function import Agent, Reply, Turn, agent
    from parley.blocking import ask, learn
    from parley.client.api import Parley, connect
    from parley.client.errors import BadInput, ParleyError, Refusal, StackFailed, UnknownSession, Unreachable
    from parley.client.learned.learning import LearnReport
    from parley.client.opened_session import Session
    from parley.client.rendering.told import Result
    from parley.planned.local_stack import local, start
    from parley.schemas.post import Live, Post
    from parley.schemas.session import Budget, Document, Seat
    from parley.schemas.turn import Usage
    from parley.serving.mounted import WebApp, web_app
    from parley.stack.lease import Stack
    from parley.stack.rows import AgentRow

_WHERE = {
    "Agent": "parley.agents.models.function",
    "AgentRow": "parley.stack.rows",
    "BadInput": "parley.client.errors",
    "Budget": "parley.schemas.session",
    "Document": "parley.schemas.session",
    "LearnReport": "parley.client.learned.learning",
    "Live": "parley.schemas.post",
    "Parley": "parley.client.api",
    "ParleyError": "parley.client.errors",
    "Post": "parley.schemas.post",
    "Refusal": "parley.client.errors",
    "Reply": "parley.agents.models.function",
    "Result": "parley.client.rendering.told",
    "Seat": "parley.schemas.session",
    "Session": "parley.client.opened_session",
    "Stack": "parley.stack.lease",
    "StackFailed": "parley.client.errors",
    "Turn": "parley.agents.models.function",
    "UnknownSession": "parley.client.errors",
    "Unreachable": "parley.client.errors",
    "Usage": "parley.schemas.turn",
    "WebApp": "parley.serving.mounted",
    "agent": "parley.agents.models.function",
    "ask": "parley.blocking",
    "connect": "parley.client.api",
    "learn": "parley.blocking",
    "local": "parley.planned.local_stack",
    "start": "parley.planned.local_stack",
    "web_app": "parley.serving.mounted",
}

__all__ = [
    "Agent",
    "AgentRow",
    "BadInput",
    "Budget",
    "Document",
    "LearnReport",
    "Live",
    "Parley",
    "ParleyError",
    "Post",
    "Refusal",
    "Reply",
    "Result",
    "Seat",
    "Session",
    "Stack",
    "StackFailed",
    "Turn",
    "UnknownSession",
    "Unreachable",
    "Usage",
    "WebApp",
    "agent",
    "ask",
    "connect",
    "learn",
    "local",
    "start",
    "web_app",
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
