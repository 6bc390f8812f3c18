"""Panel files: who sits where with which model.

    protocol: consensus
    seats:
      panelist_1: {provider: ollama, model: "qwen3:8b", expertise: [storage]}
      panelist_2: {provider: openai, model: gpt-5-mini, copies: 2}
      panelist_3: {spec: agents/payments.yaml}
      analyst: {}                            # what the environment says, else extractive

A seat's name is that of its queue and credential. Variables of a seat, of its role or for everybody go over the file,
as they go over an agent file (docs/models.md).
"""

import difflib
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from client.errors import BadInput
from client.text import line
from client.yaml_file import read_file
from parley.settings import Section, Settings
from parley.stack.rows import CROWDS, DELIBERATES, AgentRow, names_models, rows_of
from schemas.expert import QUEUE
from schemas.presence import Announcement
from schemas.session import Seat

if TYPE_CHECKING:
    from agents.specs import AgentSpec

_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""`module:attribute`: a factory of the operator's."""
_WITHOUT_PROVIDER = ("extractive", "recorded")
_OPTIONS = ("provider", "base_url", "key_variable", "temperature")


class SeatSection(BaseModel):
    """One seat."""

    model_config = ConfigDict(extra="forbid")

    provider: str = ""
    model: str = ""
    """With a provider its name for the model; else `extractive`, `recorded` or `module:attribute`. Nothing: what the
    environment says, else extractive."""
    base_url: str = ""
    key_variable: str = ""
    temperature: float | None = None
    options: dict[str, Any] = {}
    """Further options of the model."""
    role: str = ""
    """Where the seat's name does not say it."""
    expertise: tuple[str, ...] = ()
    weight: float = Field(default=1.0, ge=0.1, le=10.0)
    copies: int = Field(default=1, ge=1, le=64)
    room: int | None = Field(default=None, ge=1, le=10_000)
    spec: str = ""
    """An agent file, relative to the panel file."""


class PanelFile(Section):
    """The file."""

    protocol: str = "consensus"
    seats: dict[str, SeatSection] = Field(min_length=1, max_length=64)


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """What a file comes to."""

    protocol: str
    rows: tuple[AgentRow, ...]
    """For the embedded stack."""
    seats: tuple[Seat, ...]
    """For the session."""


def read(path: Path) -> Panel:
    """A panel from its file.

    Raises
    ------
    BadInput
        The file cannot be read; a seat or a field that cannot be right, with the nearest known one; a role that the
        protocol needs and nobody has.
    """
    from client.api import known_protocol

    try:
        data = read_file(path)
    except BadInput as error:
        raise BadInput("panel-file", error.why) from error
    _known(data, list(PanelFile.model_fields), "", path)
    for name, section in (data.get("seats") or {}).items() if isinstance(data.get("seats"), dict) else ():
        if section is None:
            data["seats"][name] = {}
        elif isinstance(section, dict):
            _known(section, list(SeatSection.model_fields), f"seats.{name}.", path)
    try:
        found = PanelFile.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        shown = "" if first["type"] == "missing" else f" (got {first['input']!r})"
        raise BadInput(where, f"{first['msg']}{shown} in {path}") from error
    protocol = known_protocol(found.protocol)
    rows = tuple(_row(name, s, path) for name, s in found.seats.items())
    roles = {row.queue: _role(row) for row in rows}
    for role in protocol.roles:
        have = sum(r == role.name for r in roles.values())
        if have < role.least:
            raise BadInput("seats", f"{protocol.name} needs {role.least} of role {role.name}, {path} has {have}")
    wanted = [role.name for role in protocol.roles]
    for queue, role_name in roles.items():
        if role_name not in wanted:
            raise BadInput(
                f"seats.{queue}", f"{protocol.name} has no role {role_name}; its roles are {', '.join(wanted)}"
            )
    seats = tuple(Seat(seat=q, role=r, queue=q, weight=found.seats[q].weight) for q, r in roles.items())
    return Panel(protocol=protocol.name, rows=rows, seats=seats)


def of(settings: Settings) -> Panel | None:
    """The panel that the settings name; None if they name none.

    Raises
    ------
    BadInput
        As `read`; also settings that contradict the file.
    """
    path = settings.panel_file
    if path is None:
        return None
    if settings.nats.url:
        raise BadInput("panel-file", f"{path} describes an embedded stack, --nats names a bus that runs elsewhere")
    if settings.stack.agents:
        raise BadInput("panel-file", f"{path} and stack.agents both say who sits where; leave one out")
    found = read(path)
    if "protocol" in settings.model_fields_set and settings.protocol != found.protocol:
        raise BadInput("protocol", f"got {settings.protocol}, the panel in {path} is for {found.protocol}")
    if found.protocol in CROWDS:
        crowd = CROWDS[found.protocol]
        size = getattr(settings, found.protocol).get(crowd.setting)
        seated = sum(s.role == crowd.role for s in found.seats)
        if size is not None and size != seated:
            raise BadInput(f"{found.protocol}.{crowd.setting}", f"got {size}, {path} seats {seated} {crowd.role}s")
    return found


def protocol_of(settings: Settings) -> str:
    """The protocol that the settings, or their panel file, name. Raises as `of`."""
    found = of(settings)
    return found.protocol if found else settings.protocol


def rows(settings: Settings) -> tuple[AgentRow, ...]:
    """The rows of the embedded stack that the settings describe. Raises as `of`."""
    section = settings.stack
    found = of(settings)
    if found:
        return found.rows
    if section.agents:
        for queue, times in Counter(a.queue for a in section.agents).items():
            if times > 1:
                raise BadInput(
                    "stack.agents", f"queue {queue} stands there {times} times; for more of it there is copies"
                )
        return tuple(AgentRow(queue=a.queue, spec=a.spec, copies=a.copies) for a in section.agents)
    found_rows = _own_rows(settings, settings.protocol)
    beneath = deliberation(settings)
    if beneath:
        have = {row.queue for row in found_rows}
        found_rows += tuple(row for row in _own_rows(settings, beneath) if row.queue not in have)
    return found_rows


def deliberation(settings: Settings) -> str:
    """The protocol to which a task's blocked question goes, as the settings name it; empty: none. Whether there is such
    a one is said where all settings are checked."""
    named = settings.madp.get("deliberation", "") if settings.protocol == "madp" else ""
    return named if named in DELIBERATES else ""


def _own_rows(settings: Settings, protocol: str) -> tuple[AgentRow, ...]:
    given: Mapping[str, Any] = getattr(settings, protocol, {})
    if protocol != settings.protocol:
        given = settings.madp.get("deliberation_settings") or {}
    if protocol == "competition":
        from client.protocols.competition import files as formats

        return rows_of(protocol, seats=formats.seats(given), copies=settings.stack.copies)
    crowd = CROWDS.get(protocol)
    return rows_of(protocol, given.get(crowd.setting) if crowd else None, copies=settings.stack.copies)


def roles(settings: Settings, rows: tuple[AgentRow, ...]) -> dict[str, str]:
    """Seat -> role of the embedded stack that the settings describe. Raises as `of`."""
    found = of(settings)
    return {s.seat: s.role for s in found.seats} if found else {row.queue: _role(row) for row in rows}


def spec_of(row: AgentRow) -> "AgentSpec":
    """The row's agent with the model that the environment and `.env` give it. Raises BadInput."""
    from agents.config import environment, resolve
    from agents.models import ModelError
    from agents.specs import SpecError
    from parley.stack import services

    try:
        environ = environment()
    except ModelError as error:
        raise BadInput(".env", str(error)) from error
    try:
        return resolve(services.spec_of(row), environ)
    except (SpecError, ModelError) as error:
        raise BadInput(f"agent {row.queue}", str(error)) from error


def announced(rows: tuple[AgentRow, ...], *, tools: bool = True) -> list[Announcement]:
    """What the rows' workers will announce, without starting them.

    Parameters
    ----------
    tools
        Whether the operator allows any.

    Raises
    ------
    BadInput
        A model cannot be made: whose, and why.
    """
    if names_models(rows) or any(row.options for row in rows):
        found = [_announced(row) for row in rows]
    else:
        found = [_plainly(row) for row in rows]  # without the imports
    return [msgspec.structs.replace(a, tools=tools and a.queue.startswith(QUEUE)) for a in found]


def unpriced_words(rows: tuple[AgentRow, ...]) -> str:
    """One line that names the rows whose calls count as free because no price is known; empty: none.

    Raises
    ------
    BadInput
        A row's agent cannot be made.
    """
    if not names_models(rows):
        return ""
    from agents.models import ModelError
    from agents.openai.options import parse

    found: dict[str, list[str]] = {}
    for row in rows:
        spec = spec_of(row)
        if spec.model != "openai":
            continue
        try:
            options = parse(spec.options)
        except ModelError as error:
            raise BadInput(f"agent {row.queue}", str(error)) from error
        if options.price is None:
            found.setdefault(options.model, []).append(row.queue)
    told = "; ".join(f"{line(model)} ({line(', '.join(queues), 200)})" for model, queues in found.items())
    return f"no price is known, calls count as free of charge: {told}" if told else ""


def _plainly(row: AgentRow) -> Announcement:
    return Announcement(
        instance=row.queue, queue=row.queue, roles=(_role(row),), model="extractive", family="extractive",
        expertise=row.expertise,
    )  # fmt: skip


def _announced(row: AgentRow) -> Announcement:
    from agents.models import ModelError, make_model
    from agents.openai.options import parse
    from agents.openai.providers import family_of

    spec = spec_of(row)
    try:
        if spec.model == "openai":  # its options say it all, and the client's import costs half a second
            o = parse(spec.options)
            price = o.effective_price
            facts: tuple[Any, ...] = (
                o.model, o.family or family_of(o.model, o.provider), True, price.input, price.output,
            )  # fmt: skip
        else:
            m = make_model(spec.model, spec.options)
            facts = (m.name, m.family, m.metered, m.usd_per_million_input, m.usd_per_million_output)
    except ModelError as error:
        raise BadInput(f"agent {row.queue}", str(error)) from error
    name, family, metered, usd_in, usd_out = facts
    return Announcement(
        instance=row.queue, queue=spec.queue, roles=spec.roles, model=name, family=family, metered=metered,
        usd_per_million_input=usd_in, usd_per_million_output=usd_out, room=spec.room, expertise=spec.expertise,
    )  # fmt: skip


def _row(name: str, s: SeatSection, path: Path) -> AgentRow:
    given = {key: getattr(s, key) for key in _OPTIONS if getattr(s, key) not in ("", None)}
    options, model = {**s.options, **given}, s.model
    where = f"seats.{name}"
    if s.spec and (s.model or options):
        raise BadInput(f"{where}.spec", "an agent file says which model; leave model and options out")
    if s.provider or s.base_url:
        if not model:
            raise BadInput(f"{where}.model", f"which model of {s.provider or s.base_url}?")
        model, options = "openai", {**options, "model": model}
    elif model and model not in _WITHOUT_PROVIDER and not _FACTORY.fullmatch(model):
        raise BadInput(f"{where}.provider", f"whose model is {model!r}? Name its provider, or base_url")
    spec = str((path.parent / s.spec).resolve()) if s.spec else ""
    return AgentRow(
        queue=name, spec=spec, copies=s.copies, model=model, options=options, room=s.room,
        roles=(s.role,) if s.role else (), expertise=s.expertise,
    )  # fmt: skip


def _role(row: AgentRow) -> str:
    from agents.specs import SpecError, load
    from bus.channels import ACCOUNT_OF_ROLE

    known = ", ".join(sorted(ACCOUNT_OF_ROLE))
    if row.roles:
        if row.roles[0] not in ACCOUNT_OF_ROLE:
            raise BadInput(f"seats.{row.queue}.role", f"got {row.roles[0]!r}, known are {known}")
        return row.roles[0]
    try:
        return load(row.spec or row.queue).roles[0]
    except SpecError as error:
        if row.spec:
            raise BadInput(f"seats.{row.queue}.spec", str(error)) from error
        raise BadInput(f"seats.{row.queue}.role", f"the name says none; name one of {known}") from error


def _known(given: Mapping[Any, Any], names: list[str], prefix: str, path: Path) -> None:
    for key in given:
        if key not in names:
            near = difflib.get_close_matches(str(key), names, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(names)}"
            raise BadInput(f"{prefix}{key}", f"{prefix}{key} in {path} is no field; {hint}")
