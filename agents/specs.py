"""Agent files: which queue a worker serves, in which roles, with which model.

    queue: panelist_1
    roles: [panelist]
    model: extractive
    options: {}
    room: 4
    expertise: [storage, backup]

`parley agent panelist_1` works without a file: a role's name, or that name with a number, is a spec of its own.
"""

import difflib
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parley.agents import strict_yaml
from parley.bus.channels import ACCOUNT_OF_ROLE
from parley.bus.files.plain import NotText, plain_text
from parley.schemas.expert import ROLE, ExpertSpec, expert_of, pin, queue_of
from parley.schemas.wire import model_fault


class SpecError(ValueError):
    """An agent file that cannot be used. Names the field, the value and what is allowed. The operator's fault."""

    def __init__(self, source: str, field: str, why: str) -> None:
        self.source = source
        self.field = field
        super().__init__(f"{source}: {field}: {why}" if field else f"{source}: {why}")


class NotEnrolled(SpecError):
    """An expert whose specification is not the one that its credentials pin."""

    def __init__(self, spec: ExpertSpec, pinned: str) -> None:
        self.pinned = pinned
        enrolled = f"enrolled is {pinned}" if pinned else "these credentials are no enrolled expert's"
        why = f"the pin of this specification is {pin(spec)}, {enrolled}; parley experts enroll SPEC enrolls it"
        super().__init__(f"expert {spec.id}", "", why)


class AgentSpec(BaseModel):
    """One worker."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)

    queue: str = Field(min_length=1, max_length=64)
    """The queue that its credential serves. A seat without a name of its own has this name."""
    roles: tuple[str, ...] = Field(min_length=1, strict=False)
    model: str = Field(default="extractive", min_length=1)
    """The model's name, as for parley.agents.models.make_model."""
    options: dict[str, Any] = {}
    room: int = Field(default=4, ge=1, le=10_000)
    """How many turns at once."""
    expertise: tuple[str, ...] = Field(default=(), strict=False)
    """Words for what it knows about, for protocols that weigh seats."""
    expert: ExpertSpec | None = None
    """The expert's specification, from a file of its own (parley.agents.experts); never from an agent file."""

    @property
    def pin(self) -> str:
        """The pin of an expert's specification; empty for all other workers."""
        return pin(self.expert) if self.expert is not None else ""

    def check_pin(self, pinned: str) -> None:
        """Raise NotEnrolled unless credentials with this pin are for this specification."""
        if self.expert is not None and self.pin != pinned:
            raise NotEnrolled(self.expert, pinned)


_FIELDS = [name for name in AgentSpec.model_fields if name != "expert"]


def builtin(name: str) -> AgentSpec | None:
    """The spec that a name stands for: `analyst`, `panelist`, `panelist_2`, a shipped expert's queue (`expert_sre`);
    None if it stands for none."""
    if expert_of(name):
        from parley.agents.experts import builtin as shipped  # a dozen files are load_spec

        return next((of_expert(spec) for spec in shipped() if spec.id == expert_of(name)), None)
    role = re.sub(r"_\d+\Z", "", name)
    return AgentSpec(queue=name, roles=(role,)) if role in ACCOUNT_OF_ROLE and role != ROLE else None


def of_expert(spec: ExpertSpec) -> AgentSpec:
    """The worker that an expert is."""
    return AgentSpec(queue=queue_of(spec.id), roles=(ROLE,), expert=spec)


def load(name_or_path: str) -> AgentSpec:
    """A built-in spec by name, or one from a file: an agent file, or an expert's specification in YAML or Markdown.
    Raises SpecError: neither a known name nor a readable file, or a file with a field that is missing, misspelt or out
    of range."""
    spec = builtin(name_or_path)
    if spec is not None:
        return spec
    path = Path(name_or_path)
    try:
        text = plain_text(path)
    except NotText as error:
        if path.exists():
            raise SpecError(name_or_path, "", error.why) from error
        names = ", ".join(sorted(ACCOUNT_OF_ROLE.keys() - {ROLE}))
        raise SpecError(
            name_or_path,
            "",
            f"no such file, and no built-in agent (those are {names}, also with _1, _2 ..., and expert_ID)",
        ) from None
    return _read_expert(path) if path.suffix in (".md", ".mdc") or _is_expert(text) else parse(text, name_or_path)


def _is_expert(text: str) -> bool:
    try:
        data = strict_yaml.load(text)
    except strict_yaml.BadYaml:
        return False  # whoever reads it says what is wrong
    return isinstance(data, dict) and "agent" in data


def _read_expert(path: Path) -> AgentSpec:
    from parley.agents.experts import ExpertError, load_spec

    try:
        return of_expert(load_spec(path))
    except ExpertError as error:
        raise SpecError(error.source, error.field, error.why) from error


def parse(text: str, source: str = "agent file") -> AgentSpec:
    """A spec from YAML. Raises SpecError: not YAML, a key twice, or a field that is missing, misspelt or out of
    range."""
    try:
        data = strict_yaml.load(text)
    except strict_yaml.BadYaml as error:
        raise SpecError(source, "", error.why) from error
    if not isinstance(data, dict):
        raise SpecError(source, "", "expected a mapping with the field queue")
    for key in data:
        if key not in _FIELDS:
            raise SpecError(source, str(key), "no such field" + _near(str(key), _FIELDS))
    try:
        spec = AgentSpec(**data)
    except ValidationError as error:
        raise SpecError(source, *model_fault(error.errors()[0])) from error
    for role in spec.roles:
        if role not in ACCOUNT_OF_ROLE:
            raise SpecError(source, "roles", f"no such role {role!r}" + _near(role, list(ACCOUNT_OF_ROLE)))
    return spec


def _near(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else f"; known: {', '.join(sorted(known))}"
