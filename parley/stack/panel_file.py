"""Panel files: they give each seat its model, in every protocol that has such a seat.

    seats:
      panelist_1: {provider: ollama, model: "qwen3:8b", expertise: [storage]}
      panelist_2: {provider: openai, model: gpt-5-mini, copies: 2}
      panelist_3: {spec: agents/payments.yaml}
      panelist_4: {provider: command, command: [claude, -p]}
      analyst: {}                            # what the environment says, else extractive

A file of a team has `members` in place of `seats`: of them those sit who fit the question (`parley ask --from FILE`).
With a provider, `price: {input: 0.2, output: 0.6}` is US dollars per million tokens.

    members:
      ada: {provider: ollama, model: "qwen3:8b", expertise: [storage, backup]}
      ben: {provider: openai, model: gpt-5-mini, expertise: [law]}

A seat's name is that of its queue and credential. Variables of a seat, of its role or for everybody go over the file,
as they go over an agent file (docs/models.md).
"""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parley.agents.models import BROUGHT
from parley.client.errors import BadInput
from parley.client.opening import known_protocol
from parley.client.strict_files import read_yaml
from parley.schemas.expert import ROLE as EXPERT
from parley.schemas.registry import entries
from parley.schemas.session import Seat
from parley.schemas.wire import model_fault
from parley.settings import Section, nearest
from parley.stack.rows import AgentRow, rows_of

_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""`module:attribute`: a factory of the operator's."""
_WITHOUT_PROVIDER = ("extractive", "recorded")
_COMMAND = "command"
PANELIST = "panelist"
_OPTIONS = ("provider", "base_url", "key_variable", "temperature")


class PriceSection(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid")

    input: float = Field(ge=0, le=1_000_000)
    output: float = Field(ge=0, le=1_000_000)


class SeatSection(BaseModel):
    """One seat."""

    model_config = ConfigDict(extra="forbid")

    provider: str = ""
    model: str = ""
    """With a provider its name for the model; else `extractive`, `recorded`, one that an installed package brings, or
    `module:attribute`. Nothing: what the environment says, else extractive."""
    command: tuple[str, ...] = ()
    """With the provider `command`: the program, and its arguments."""
    base_url: str = ""
    key_variable: str = ""
    temperature: float | None = None
    options: dict[str, Any] = {}
    """Further options of the model."""
    role: str = ""
    """Where the seat's name does not say it."""
    expertise: tuple[str, ...] = Field(default=(), max_length=64)
    price: PriceSection | None = None
    weight: float = Field(default=1.0, ge=0.1, le=10.0)
    copies: int = Field(default=1, ge=1, le=64)
    room: int | None = Field(default=None, ge=1, le=10_000)
    spec: str = ""
    """An agent file, relative to the panel file."""


class PanelFile(Section):
    """The file."""

    protocol: str = ""
    """Of what is asked with it where nobody names one; empty: what is asked decides."""
    seats: dict[str, SeatSection] = Field(min_length=1, max_length=64)


class TeamFile(Section):
    """The file of a team: all of them panelists."""

    members: dict[str, SeatSection] = Field(min_length=2, max_length=64)


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """The seats and settings that a panel file describes."""

    protocol: str
    """Empty: the file names none."""
    rows: tuple[AgentRow, ...]
    """For the embedded stack."""
    seats: tuple[Seat, ...]
    """For the session; none: whoever is there."""
    team: bool = False
    """Of the seats, those are taken that fit the question."""

    def seated(self, role: str) -> int:
        """How many sit there in a role."""
        return sum(seat.role == role for seat in self.seats)

    def playing(self, protocol: str, settings: Mapping[str, Any], copies: int = 1) -> "Panel":
        """With the seats alone that a protocol has, and with whom it needs beside them."""
        known = known_protocol(protocol)
        least = {role.name: role.least for role in known.roles}
        mine = [seat for seat in self.seats if seat.role in least]
        queues, have = {seat.queue for seat in mine}, Counter(seat.role for seat in mine)
        chosen_here = bool(mine) and not known.experts
        more = []
        for row in rows_of(protocol, settings=settings, copies=copies):
            role = role_of(row)
            if row.queue not in queues and not (self._seats(role) and have[role] >= least[role]):
                more.append(row)
                have[role] += 1
                mine.append(Seat(seat=row.queue, role=role, queue=row.queue))
        rows = (*(row for row in self.rows if row.queue in queues), *more)
        return Panel(protocol=protocol, rows=rows, seats=tuple(mine) if chosen_here else (), team=self.team)

    def _seats(self, role: str) -> bool:
        return any(seat.role == role for seat in self.seats)


def read_panel(path: Path) -> Panel:
    """A panel from its file. Raises BadInput: the file cannot be read; a seat or a field that cannot be right, with the
    nearest known one."""
    data = read_yaml(path, "panel-file")
    team = "members" in data
    named, fields = ("members", TeamFile) if team else ("seats", PanelFile)
    _known(data, list(fields.model_fields), "", path)
    for name, section in (data.get(named) or {}).items() if isinstance(data.get(named), dict) else ():
        if section is None:
            data[named][name] = {}
        elif isinstance(section, dict):
            _known(section, list(SeatSection.model_fields), f"{named}.{name}.", path)
    try:
        read = fields.model_validate(data)
    except ValidationError as error:
        where, why = model_fault(error.errors()[0])
        raise BadInput(where, f"{why}; see {path}") from error
    if isinstance(read, TeamFile):
        return _team(read, path)
    panel = read
    needed = known_protocol(panel.protocol).roles if panel.protocol else ()
    rows = tuple(_row(name, s, path) for name, s in panel.seats.items())
    roles = {row.queue: role_of(row) for row in rows}
    for queue in (queue for queue, role in roles.items() if role == EXPERT):
        raise BadInput(f"seats.{queue}", f"an expert is found by its task, and has no seat in {path}; --experts DIR")
    for role in needed:
        have = sum(r == role.name for r in roles.values())
        if 0 < have < role.least:
            raise BadInput("seats", f"{panel.protocol} needs {role.least} of role {role.name}, {path} has {have}")
    wanted = [role.name for role in needed]
    for queue, name in roles.items():
        if needed and name not in wanted:
            why = f"{panel.protocol} has no role {name}; its roles are {', '.join(wanted)}"
            raise BadInput(f"seats.{queue}", why)
    seats = tuple(Seat(seat=q, role=r, queue=q, weight=panel.seats[q].weight) for q, r in roles.items())
    return Panel(protocol=panel.protocol, rows=rows, seats=seats)


def _team(team: TeamFile, path: Path) -> Panel:
    from parley.agents.specs import builtin

    for name in team.members:
        if (known := builtin(name)) is not None and known.roles[0] != PANELIST:
            why = f"{name} in {path} is the name of a seat of role {known.roles[0]}; give the member another name"
            raise BadInput(f"members.{name}", why)
    rows = tuple(_row(name, s, path, "members", PANELIST) for name, s in team.members.items())
    for row in rows:
        if (role := role_of(row)) != PANELIST:
            raise BadInput(f"members.{row.queue}.role", f"got {role!r}, members of a team are {PANELIST}s")
    seats = tuple(
        Seat(seat=row.queue, role=PANELIST, queue=row.queue, weight=team.members[row.queue].weight) for row in rows
    )
    return Panel(protocol="", rows=rows, seats=seats, team=True)


def _row(name: str, s: SeatSection, path: Path, section: str = "seats", role: str = "") -> AgentRow:
    named = {key: getattr(s, key) for key in _OPTIONS if getattr(s, key) not in ("", None)}
    options, model = {**s.options, **named}, s.model
    where = f"{section}.{name}"
    if s.price is not None:
        if not (s.provider or s.base_url) or s.provider == _COMMAND:
            raise BadInput(f"{where}.price", "a price is of a provider's model, and none is named")
        options |= {"usd_per_million_input": s.price.input, "usd_per_million_output": s.price.output}
    if s.spec and (s.model or options):
        raise BadInput(f"{where}.spec", "an agent file says which model; leave model and options out")
    if s.command or s.provider == _COMMAND:
        if s.provider != _COMMAND or not s.command or model or s.base_url:
            why = "a program is {provider: command, command: [program, argument]}, without model and base_url"
            raise BadInput(f"{where}.command", why)
        model, options = _COMMAND, {**s.options, "command": list(s.command)}
    elif s.provider or s.base_url:
        if not model:
            raise BadInput(f"{where}.model", f"no model of {s.provider or s.base_url} is named")
        model, options = "openai", {**options, "model": model}
    elif model and not (model in _WITHOUT_PROVIDER or _FACTORY.fullmatch(model) or model in entries(BROUGHT)):
        why = f"whose model is {model!r}? Name its provider, or base_url; no installed package brings one of this name"
        raise BadInput(f"{where}.provider", why)
    spec = str((path.parent / s.spec).resolve()) if s.spec else ""
    return AgentRow(
        queue=name, spec=spec, copies=s.copies, model=model, options=options, room=s.room,
        roles=(s.role or role,) if s.role or role else (), expertise=s.expertise,
    )  # fmt: skip


def role_of(row: AgentRow) -> str:
    """The first role of a row's agent. Raises BadInput."""
    from parley.agents.specs import SpecError, load
    from parley.bus.channels import ACCOUNT_OF_ROLE

    known = ", ".join(sorted(ACCOUNT_OF_ROLE))
    if row.roles:
        if row.roles[0] not in ACCOUNT_OF_ROLE:
            raise BadInput(f"seats.{row.queue}.role", f"got {row.roles[0]!r}, known: {known}")
        return row.roles[0]
    try:
        return load(row.spec or row.queue).roles[0]
    except SpecError as error:
        if row.spec:
            raise BadInput(f"seats.{row.queue}.spec", str(error)) from error
        raise BadInput(f"seats.{row.queue}.role", f"the name gives no role; add one of {known}") from error


def _known(section: Mapping[Any, Any], names: list[str], prefix: str, path: Path) -> None:
    for key in section:
        if key not in names:
            why = f"{prefix}{key} in {path} is not a known field; {nearest(str(key), names)}"
            raise BadInput(f"{prefix}{key}", why)
