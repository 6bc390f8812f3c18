"""Checks that agents can be started with the models and tools that are set for them, before anything starts."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from parley.bus.files.plain import is_named
from parley.client.errors import BadInput
from parley.schemas.expert import expert_of
from parley.stack.rows import AgentRow, names_models

_TOOLS = "PARLEY_TOOLS"
"""As parley.agents.tools.allow reads it, which is not imported where nobody names one."""


def check_models(rows: tuple[AgentRow, ...], environ: Mapping[str, str] = os.environ) -> None:
    """Refuse a panel whose models cannot be made, before anything starts.

    Where nothing names a model there is nothing to check, and the check's imports are not paid.

    Raises
    ------
    BadInput
        The agent, and what is wrong: an unknown provider, a missing key and its variable, a field of its file.
    """
    if not names_models(rows, environ):
        return
    from parley.agents.config import environment
    from parley.agents.models import ModelError
    from parley.agents.specs import SpecError
    from parley.stack import services

    try:
        over_file = environment(environ=environ)
    except ModelError as error:
        raise BadInput(".env", str(error)) from error
    for row in rows:
        try:
            spec = services.spec_of(row)
            if ":" not in spec.model:  # a module of the operator's is loaded where it runs
                services.model_of(spec, over_file)
        except (SpecError, ModelError) as error:
            raise BadInput(f"agent {row.queue}", str(error)) from error


def check_tools(rows: Sequence[AgentRow], environ: Mapping[str, str]) -> None:
    """Refuse an allow list of tools, or a list of hands, that experts could not be started with, before anything
    starts. `environ`: as the agents' user has it.

    Raises
    ------
    BadInput
        The file that PARLEY_TOOLS or PARLEY_HANDS names cannot be used, or an expert's specification names hands that
        are not there: the file, the field and what is allowed.
    """
    own = [row for row in rows if row.spec and expert_of(row.queue)]
    if own:
        _check_hands(own, environ)
    if not any(expert_of(row.queue) for row in rows) or not (_TOOLS in environ or is_named(Path(".env"))):
        return
    from parley.agents.config import environment
    from parley.agents.models import ModelError
    from parley.agents.tools import allow

    try:
        allow.find(environment(environ=environ))
    except allow.ToolsError as error:
        raise BadInput(allow.VARIABLE, str(error)) from error
    except ModelError as error:
        raise BadInput(".env", str(error)) from error


def _check_hands(rows: Sequence[AgentRow], environ: Mapping[str, str]) -> None:
    from parley.agents.config import environment
    from parley.agents.hands.made import variables
    from parley.agents.models import ModelError
    from parley.stack.services import spec_of

    for row in rows:
        try:
            variables(spec_of(row).expert, environment(environ=environ))
        except ModelError as error:
            raise BadInput(f"agent {row.queue}", str(error)) from error
