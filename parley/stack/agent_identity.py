"""Compares the agents of a shared stack with those that a command names. A digest stands for whatever may be a key,
so keys never leave.
"""

import os
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from parley.client.errors import BadInput
from parley.observability.plain_files import is_named
from parley.schemas.expert import ROLE, expert_of
from parley.stack.rows import AgentRow, names_models

_PLAIN = ("provider", "model", "temperature")
"""Options that are shown as they are."""
_KEYS = ("api_key",)
"""Options that two users may have each their own."""
_ROOM = 4
_TOOLS = "PARLEY_TOOLS"
"""As parley.agents.tools.allow reads it, which is not imported where nobody names one."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """One queue: model, options, room, roles, expertise and the pin of a specification of one's own, as words."""

    queue: str
    facts: dict[str, str]


def served(rows: Sequence[AgentRow], environment: Mapping[str, str]) -> tuple[Served, ...]:
    """The rows as they come out under this environment and `.env`."""
    if not names_models(tuple(rows), environment):
        return tuple(Served(queue=row.queue, facts=_plainly(row)) for row in rows)
    from parley.agents.config import environment as over_file

    full = over_file(environ=environment)
    return tuple(Served(queue=row.queue, facts=_resolved(row, full)) for row in rows)


def check_models(rows: tuple[AgentRow, ...]) -> None:
    """Refuse a panel whose models cannot be made, before anything starts.

    Where nothing names a model there is nothing to check, and the check's imports are not paid.

    Raises
    ------
    BadInput
        The agent, and what is wrong: an unknown provider, a missing key and its variable, a field of its file.
    """
    if not names_models(rows):
        return
    from parley.agents.models import ModelError
    from parley.agents.specs import SpecError
    from parley.stack import services

    for row in rows:
        try:
            spec = services.spec_of(row)
            if ":" not in spec.model:  # a module of the operator's is loaded where it runs
                services.model_of(spec)
        except (SpecError, ModelError) as error:
            raise BadInput(f"agent {row.queue}", str(error)) from error


def check_tools(rows: tuple[AgentRow, ...], env: Mapping[str, str]) -> None:
    """Refuse an allow list of tools that experts could not be started with, before anything starts.

    Parameters
    ----------
    env
        What the stack's services get beside this process's environment.

    Raises
    ------
    BadInput
        The file that PARLEY_TOOLS names cannot be used: the file, the field and what is allowed.
    """
    named = env.keys() | os.environ.keys()
    if not any(expert_of(row.queue) for row in rows) or not (_TOOLS in named or is_named(Path(".env"))):
        return
    from parley.agents.config import environment
    from parley.agents.models import ModelError
    from parley.agents.tools import allow

    try:
        allow.find(environment(environ={**os.environ, **env}))
    except allow.ToolsError as error:
        raise BadInput(allow.VARIABLE, str(error)) from error
    except ModelError as error:
        raise BadInput(".env", str(error)) from error


def differences(wanted: Sequence[Served], there: Sequence[Served]) -> list[str]:
    """In words, how what is there differs from what is wanted; queues that nobody wants do not count."""
    have = {s.queue: s.facts for s in there}
    differing = []
    for s in wanted:
        other = have.get(s.queue)
        if other is None:
            differing.append(f"{s.queue} is not served there")
            continue
        for name in sorted(s.facts.keys() | other.keys()):
            mine, theirs = s.facts.get(name, "nothing"), other.get(name, "nothing")
            if mine != theirs:
                shown = name.startswith("options.") and name.partition(".")[2] not in _PLAIN
                what = "differs" if shown else f"is {theirs} there, {mine} here"
                differing.append(f"{s.queue}: {name} {what}")
    return differing


def _plainly(row: AgentRow) -> dict[str, str]:
    """Without the imports that models need."""
    roles = row.roles or (ROLE if expert_of(row.queue) else re.sub(r"_\d+\Z", "", row.queue),)
    return _facts("extractive", row.options if row.model else {}, row.room or _ROOM, roles, row.expertise)


def _resolved(row: AgentRow, environment: Mapping[str, str]) -> dict[str, str]:
    from parley.agents.config import resolve
    from parley.agents.models import ModelError
    from parley.agents.specs import SpecError
    from parley.stack import services

    try:
        spec = resolve(services.spec_of(row), environment)
    except (SpecError, ModelError) as error:
        return {"model": f"none ({error})"}
    facts = _facts(spec.model, spec.options, spec.room, spec.roles, spec.expertise)
    return facts | ({"pin": spec.pin} if row.spec and spec.expert else {})


def _facts(
    model: str, options: Mapping[str, Any], room: int, roles: Sequence[str], expertise: Sequence[str]
) -> dict[str, str]:
    shown = {f"options.{k}": str(v) if k in _PLAIN else _digest(v) for k, v in options.items() if k not in _KEYS}
    lists = {"roles": ", ".join(roles), "expertise": ", ".join(expertise) or "nothing"}
    return {"model": model, **shown, **lists, "room": str(room)}


def _digest(value: Any) -> str:
    return blake2b(repr(value).encode(), digest_size=6).hexdigest()
