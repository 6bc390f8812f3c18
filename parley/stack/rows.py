"""Who sits in a stack: the queues that each protocol needs, as rows."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from schemas.expert import queue_of


class Crowd(msgspec.Struct, frozen=True):
    """The role of which a protocol seats as many as a setting says, or `size` where nothing is set."""

    role: str
    setting: str
    size: int


CROWDS = {"consensus": Crowd("panelist", "panel", 3), "maci": Crowd("debater", "debaters", 2)}
"""By protocol. A competition's seats are those of its format."""
_OTHERS = {
    "consensus": ("analyst",),
    "critic": ("answerer", "critic", "judge", "helper"),
    "maci": ("judge", "analyst", "helper"),
    "madp": ("helper",),
}
"""Queues that a protocol has one of each, by protocol; madp has the shipped experts beside."""
DELIBERATES = ("consensus", "critic", "maci", "competition")
"""Protocols to which a task's blocked question may go."""
_EXPERTS = Path(__file__).parents[2] / "agents" / "experts"


class AgentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One queue of the stack and how many copies serve it."""

    queue: str
    spec: str = ""
    """A built-in name or an agent file; empty: the queue's name."""
    copies: int = 1
    model: str = ""
    """In place of the spec's: as agents.models.make_model takes it."""
    options: dict[str, Any] = {}
    room: int | None = None
    roles: tuple[str, ...] = ()
    """In place of the spec's; with roles a queue needs no spec."""
    expertise: tuple[str, ...] = ()


def panel(size: int = 3, **given: Any) -> tuple[AgentRow, ...]:
    """Rows for a panel of so many seats and its analyst; `given` as `rows_of` takes them."""
    return rows_of("consensus", size, **given)


def rows_of(
    protocol: str,
    size: int | None = None,
    *,
    seats: Sequence[str] = (),
    copies: int = 1,
    model: str = "",
    options: dict[str, Any] | None = None,
) -> tuple[AgentRow, ...]:
    """Rows for what a protocol seats. `size`: of the role of which there are several. `seats`: those of a
    competition's format (client.protocols.competition.files.seats); none: of the default one. `copies`, `model`,
    `options`: of each row."""
    crowd = CROWDS.get(protocol)
    several = [f"{crowd.role}_{i}" for i in range(1, (size or crowd.size) + 1)] if crowd else []
    if protocol == "competition":
        from client.protocols.competition import files as formats

        several = [*(seats or formats.seats({}))]
    if protocol == "madp":
        several = experts()
    queues = (*several, *_OTHERS.get(protocol, ()))
    return tuple(AgentRow(queue=q, copies=copies, model=model, options=options or {}) for q in queues)


def experts() -> list[str]:
    """Queues of the experts that come with Parley, each file of which has its expert's name: none is read."""
    return sorted(queue_of(path.stem) for path in _EXPERTS.glob("*.yaml"))


def names_models(rows: tuple[AgentRow, ...], environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a row, the environment or `.env` may name another model than the extractive one."""
    if any(row.spec or row.model not in ("", "extractive") for row in rows):
        return True
    return Path(".env").is_file() or any("LLM_" in name or name.endswith("ENCODER") for name in environment)
