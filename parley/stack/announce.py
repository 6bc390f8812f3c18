"""Works out what the workers of a stack's rows will announce, without starting them: models, prices, expertise."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from parley.client.errors import bad_input
from parley.client.text import line
from parley.schemas.expert import NO_HANDS, QUEUE
from parley.schemas.presence import Announcement
from parley.stack.panel_file import role_of
from parley.stack.rows import AgentRow, names_models

if TYPE_CHECKING:
    from parley.agents.specs import AgentSpec


@contextmanager
def faults_of(where: str) -> Iterator[None]:
    """What is wrong with an agent or its model, as bad input."""
    from parley.agents.models import ModelError
    from parley.agents.specs import SpecError

    with bad_input(where, SpecError, ModelError):
        yield


def variables(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """These over `.env`; None: the environment. Raises BadInput."""
    from parley.agents.config import environment

    with faults_of(".env"):
        return environment(environ=environ)


def spec_of(row: AgentRow, over_file: Mapping[str, str] | None = None) -> "AgentSpec":
    """The row's agent with the model that `variables` give it. Raises BadInput."""
    from parley.agents.config import resolve

    found = variables() if over_file is None else over_file
    with faults_of(f"agent {row.queue}"):
        return resolve(agent_of(row), found)


def agent_of(row: AgentRow) -> "AgentSpec":
    """The row's agent, as its file has it. Raises BadInput."""
    from parley.stack import services

    with faults_of(f"agent {row.queue}"):
        return services.spec_of(row)


def expected_announcements(rows: tuple[AgentRow, ...], *, tools: bool = True) -> list[Announcement]:
    """What the rows' workers will announce, without starting them.

    Parameters
    ----------
    tools
        Whether the operator allows any; only language models use them.

    Raises
    ------
    BadInput
        A model cannot be made: whose, and why.
    """
    if names_models(rows) or any(row.options for row in rows):
        announcements = [_announced(row, tools=tools) for row in rows]
    else:
        announcements = [_plainly(row) for row in rows]  # without the imports
    uses = (tools and a.queue.startswith(QUEUE) and a.metered and not a.keyless for a in announcements)
    return [msgspec.structs.replace(a, tools=may or a.tools) for a, may in zip(announcements, uses, strict=True)]


def unpriced_words(rows: tuple[AgentRow, ...]) -> str:
    """One line that names the rows whose calls count as free because no price is known; empty: none. Raises BadInput: a
    row's agent cannot be made."""
    if not names_models(rows):
        return ""
    from parley.agents.openai.options import parse

    unpriced: dict[str, list[str]] = {}
    for row in rows:
        spec = spec_of(row)
        if spec.model != "openai":
            continue
        with faults_of(f"agent {row.queue}"):
            options = parse(spec.options)
        if options.price is None:
            unpriced.setdefault(options.model, []).append(row.queue)
    models = "; ".join(f"{line(model)} ({line(', '.join(queues), 200)})" for model, queues in unpriced.items())
    return f"no price is known, calls count as free of charge: {models}" if models else ""


def wishes_words(rows: tuple[AgentRow, ...]) -> str:
    """One line that names the experts whose specification wishes a model that nothing maps; empty: there are none.
    Those that ship wish none. Raises BadInput: a row's agent cannot be made."""
    specs = [agent_of(row) for row in rows if row.spec]
    return wish_words([spec for spec in specs if spec.expert is not None])


def overridden_words(rows: tuple[AgentRow, ...]) -> str:
    """One line that names the seats whose model the panel file names and a variable overrides; empty: there is none.
    Raises BadInput as `wishes_words`."""
    seats = []
    for row in rows:
        if not row.model:
            continue
        spec, named = spec_of(row), row.options.get("model", row.model)
        if (used := spec.options.get("model", spec.model)) != named:
            seats.append(f"{row.queue} has {line(str(used))}, not {line(str(named))}")
    if not seats:
        return ""
    return f"LLM_ variables of the environment or .env go before the panel file: {'; '.join(seats)}"


def wish_words(specs: Sequence["AgentSpec"]) -> str:
    """The same, for agents that were read. Raises BadInput where `.env` cannot be used."""
    if not any(spec.expert is not None and spec.expert.model for spec in specs):
        return ""
    from parley.agents.config import unmet_wish

    environ = variables()
    wishes = [
        f"{spec.queue} wishes the model {line(spec.expert.model)!r} ({variable})"
        for spec in specs
        if spec.expert is not None and (variable := unmet_wish(spec, environ))
    ]
    return f"no variable maps a wish, so these have the default model: {'; '.join(wishes)}" if wishes else ""


def _plainly(row: AgentRow) -> Announcement:
    return Announcement(
        instance=row.queue,
        queue=row.queue,
        roles=(role_of(row),),
        model="extractive",
        family="extractive",
        expertise=row.expertise,
    )


def _announced(row: AgentRow, *, tools: bool) -> Announcement:
    from parley.agents.models import make_model
    from parley.agents.openai.options import parse
    from parley.agents.openai.providers import family_of

    spec, steps = spec_of(row), False
    with faults_of(f"agent {row.queue}"):
        if spec.model == "openai":  # its options say it all, and the client's import costs half a second
            o = parse(spec.options)
            price = o.effective_price
            family = o.family or family_of(o.model, o.provider)
            facts: tuple[Any, ...] = o.model, family, True, price.input, price.output, o.reasoning_tokens * 2
        else:
            m = make_model(spec.model, spec.options)
            steps = bool(getattr(m, "steps", False))
            reasoning = getattr(m, "reasoning_tokens", msgspec.UNSET)
            facts = m.name, m.family, m.metered, m.usd_per_million_input, m.usd_per_million_output, reasoning
    name, family, metered, usd_in, usd_out, reasoning = facts
    hands = spec.expert is not None and spec.expert.hands not in NO_HANDS
    return Announcement(
        instance=row.queue,
        queue=spec.queue,
        roles=spec.roles,
        model=name,
        family=family,
        metered=metered or hands,
        tools=hands or (tools and steps and spec.queue.startswith(QUEUE)),
        usd_per_million_input=usd_in,
        usd_per_million_output=usd_out,
        reasoning_tokens=reasoning,
        room=spec.room,
        expertise=spec.expertise,
    )
