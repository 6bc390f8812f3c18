"""Parley: several agents, each its own process, argue over a question on a NATS bus.

async with parley.local(protocol="consensus") as p:
    result = await p.ask("Which of the two designs survives a power cut?", evidence="docs/")

async with parley.connect("nats://bus:4222", "owner.json") as p:
    session = await p.start("...", protocol="consensus", settings={"threshold": 80})
    async for post in session.posts(): ...
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parley.api import Parley, Session, connect, local
    from parley.errors import BadInput, ParleyError, Refusal, StackFailed, Unreachable
    from parley.rows import AgentRow
    from parley.stack import Stack
    from schemas.result import Result

_WHERE = {
    "AgentRow": "parley.rows",
    "BadInput": "parley.errors",
    "Parley": "parley.api",
    "ParleyError": "parley.errors",
    "Refusal": "parley.errors",
    "Result": "schemas.result",
    "Session": "parley.api",
    "Stack": "parley.stack",
    "StackFailed": "parley.errors",
    "Unreachable": "parley.errors",
    "connect": "parley.api",
    "local": "parley.api",
}

__all__ = [
    "AgentRow",
    "BadInput",
    "Parley",
    "ParleyError",
    "Refusal",
    "Result",
    "Session",
    "Stack",
    "StackFailed",
    "Unreachable",
    "connect",
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
