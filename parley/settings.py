"""Settings: the command line overrides the environment, the environment a file, and the file the defaults.

The file is `parley.yaml` in the working folder, or the one that `--config` names.
In the environment, `PARLEY__BUDGET__TOKENS=5000` is `budget.tokens`. A key that no layer knows is refused with the
layer's name and the nearest key that there is.
"""

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from parley.agents import strict_yaml
from parley.bus.files.plain import is_named
from parley.client.errors import BadInput, bad_input
from parley.client.strict_files import read_yaml
from parley.coordinator.protocols import DEFAULT, PROTOCOLS
from parley.schemas.wire import model_fault

if TYPE_CHECKING:
    from parley.agents.tools.allow import AllowList

DEFAULT_FILE = "parley.yaml"
PREFIX = "PARLEY__"
_SECTIONS = "sections"
"""The field that holds the protocols' sections, which no layer names."""
SCHEMES = ("nats", "tls", "ws", "wss")
"""Of a bus's address; without one it is nats."""


class Section(BaseModel):
    """A part of the settings."""

    model_config = ConfigDict(extra="forbid")


class BudgetSection(Section):
    """Limits of a session; nothing is no limit."""

    tokens: int | None = Field(default=None, gt=0)
    calls: int | None = Field(default=None, gt=0)
    cost_usd: float | None = Field(default=None, gt=0)
    seconds: float | None = Field(default=None, gt=0)


class NatsSection(Section):
    """A bus that runs elsewhere, with commas between the addresses of several servers; without one, an embedded bus is
    started."""

    url: str | None = None
    creds: Path | None = None

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: str | None) -> str | None:
        for one in (url or "").split(",") if url is not None else ():
            scheme, separator, rest = one.strip().partition("://")
            if not (rest if separator else scheme):
                what = "it must not be empty, expected an address such as nats://bus:4222"
                raise PydanticCustomError("address", what)
            if separator and scheme not in SCHEMES:
                raise PydanticCustomError("address", "no such scheme, known: " + ", ".join(SCHEMES))
        return url


class StackSection(Section):
    """The embedded stack."""

    moderators: int = Field(default=1, ge=1, le=16)
    copies: int = Field(default=1, ge=1, le=64)
    humans: list[str] = []
    """Seats that a person may take (parley sit): each gets credentials for that."""
    free: list[str] = []
    """Queues that a service of the operator's own serves (parley agent): no agent of the stack starts for them."""
    wait_for_human: float | None = Field(default=None, ge=1, le=86_400)
    """Seconds for which each turn of those seats waits for its person, from the first one on, before the agent has the
    seat; None: the agent has it until the person sits down."""


class RetentionSection(Section):
    """How long things are kept."""

    log_days: float = Field(default=90.0, ge=0, le=36_500)
    """Days after which the entries of a session's log are removed; 0: never."""


class LearnedSection(Section):
    """What past outcomes may change in a session (docs/reliability.md)."""

    used: bool = True
    """Whether members weigh by their records, confidence is told as past outcomes say it should be read, and past tasks
    of a folder say who leads one like them, how deep it goes, and how sure routing is."""
    file: Path | None = None
    """Where it is kept; None: `learned.json` in the state folder, and nothing for a bus that runs elsewhere."""


class SpendSection(Section):
    """What sessions may cost together."""

    tenant: str = Field(default="default", min_length=1, max_length=64)
    """What whoever shares the bus is called in the series of `parley metrics`."""
    day_usd: float | None = Field(default=None, gt=0)
    """US dollars for a day, in UTC: an alert tells at 80 %. Nothing is stopped by it. None: no budget."""


class WatchSection(Section):
    """What `parley metrics` watches beside the sessions. A stack of this machine has none of it."""

    expect: tuple[str, ...] = ()
    """Queues that must have a worker, or protocols, whose queues must: an alert tells of one without. With the answerer
    among them a synthetic question is asked every minute, which costs one or two model calls."""


class Settings(Section):
    """Everything that a file, the environment or the command line may set."""

    protocol: str = DEFAULT
    """How a question is dealt with; one that names none goes to the experts that it calls for."""
    turn_timeout_s: float = Field(default=120.0, ge=0.25, le=86_400)
    seed: int | None = None
    state: Path | None = None
    """Folder of the embedded stack."""
    budget: BudgetSection = BudgetSection()
    nats: NatsSection = NatsSection()
    stack: StackSection = StackSection()
    retention: RetentionSection = RetentionSection()
    tools: Path | None = None
    """Which tools experts' models may use (parley.agents.tools.allow): a file, or `off`. Nothing: what PARLEY_TOOLS
    names, or those that ship, for tasks that begin with a folder."""
    doors: dict[str, dict[str, Any]] = {}
    """Doors that `parley serve` opens beside its own (docs/doors.md), by name, each with its options."""
    hands: Path | None = None
    """Which agents of others may do experts' work (parley.agents.hands.catalogue): a file. Nothing: what PARLEY_HANDS
    names."""
    spend: SpendSection = SpendSection()
    watch: WatchSection = WatchSection()
    learned: LearnedSection = LearnedSection()
    experts: Path | None = None
    """Folder of further experts for the embedded stack: specifications, and agent files of other tools as they are. One
    with the id of a shipped expert takes its place."""
    panel_file: Path | None = None
    """File with the model of each seat (parley.stack.panel_file), for the embedded stack."""
    sections: dict[str, dict[str, Any]] = {}
    """Settings of protocols, by the protocol's name. In every layer a section of that name, beside the others."""

    @field_validator("tools", mode="before")
    @classmethod
    def _off(cls, tools: Any) -> Any:
        """YAML reads a bare `off` as false."""
        return "off" if tools is False else tools

    def of(self, protocol: str) -> dict[str, Any]:
        """The settings of one protocol, as all layers have them."""
        return dict(self.sections.get(protocol, {}))

    def over(self, protocol: str, own: Mapping[str, Any]) -> "Settings":
        """With further settings of a protocol, over all layers. Raises BadInput where there is no such protocol or
        setting."""
        layer = {protocol: dict(own)}
        _known(layer, "the command line")
        sections = merge(self.sections, layer)
        return self.model_copy(update={"sections": sections})


def load(config: Path | None = None, given: Mapping[str, Any] | None = None) -> Settings:
    """Settings from all layers.

    Parameters
    ----------
    config
        A settings file; None reads `parley.yaml` of the working folder if there is one.
    given
        What the command line gave, nested as in the file; highest.

    Raises
    ------
    BadInput
        An unknown key (with its layer and the nearest known one), a value outside its range, a file that is not YAML,
        settings that contradict each other.
    """
    path = config or (Path(DEFAULT_FILE) if is_named(Path(DEFAULT_FILE)) else None)
    file = read_yaml(path) if path else {}
    environment = read_environment(os.environ)
    command_line = dict(given or {})
    for layer, origin in ((file, str(path)), (environment, "the environment"), (command_line, "the command line")):
        _known(layer, origin)
    try:
        settings = Settings.model_validate(_sectioned(merge(merge(file, environment), command_line)))
    except ValidationError as error:
        where, why = model_fault(error.errors()[0])
        raise BadInput(where.removeprefix(f"{_SECTIONS}."), why) from error
    if settings.nats.creds is not None and settings.nats.url is None:
        raise BadInput("nats.creds", f"{settings.nats.creds} is for a bus that runs elsewhere; name it with --nats URL")
    return settings


def _sectioned(layer: Mapping[str, Any]) -> dict[str, Any]:
    known = {key: value for key, value in layer.items() if key in Settings.model_fields}
    sections = {key: value for key, value in layer.items() if key not in known}
    return {**known, _SECTIONS: sections} if sections else known


def read_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """What variables such as `PARLEY__BUDGET__TOKENS` set, nested."""
    pairs = [(k[len(PREFIX) :].lower().split("__"), v) for k, v in environment.items() if k.upper().startswith(PREFIX)]
    return nest(pairs, "the environment")


def parse_sets(pairs: Sequence[str]) -> dict[str, Any]:
    """What `--set consensus.threshold=70` sets, nested. Raises BadInput: a pair without `=`, or two that contradict
    each other."""
    split = []
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise BadInput("--set", f"got {pair!r}, expected key=value, for example consensus.threshold=70")
        split.append((key.strip().split("."), value))
    return nest(split, "the command line")


def nest(pairs: Sequence[tuple[list[str], str]], origin: str) -> dict[str, Any]:
    """Key paths and their values as YAML scalars, as nested mappings."""
    result: dict[str, Any] = {}
    for path, text in pairs:
        here = result
        for part in path[:-1]:
            here = here.setdefault(part, {})
            if not isinstance(here, dict):
                raise BadInput(".".join(path), f"{part} is set as a value and as a section by {origin}")
        value = scalar(text)
        if here.setdefault(path[-1], value) != value:
            raise BadInput(".".join(path), f"{'.'.join(path)} is set twice by {origin}, to different values")
    return result


def scalar(text: str) -> Any:
    """A value as YAML reads it: numbers and true/false as such, everything else as text."""
    try:
        value = strict_yaml.load(text)
    except strict_yaml.BadYaml:
        return text
    return value if isinstance(value, int | float | str | list | dict | None) else text


def merge(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """`high` over `low`, section by section."""
    result = dict(low)
    for key, value in high.items():
        old = result.get(key)
        result[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def nearest(name: str, known: Sequence[str]) -> str:
    """Words that point from an unknown name to a known one."""
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known))}"


def _known(layer: Mapping[str, Any], origin: str) -> None:
    for path, keys in _sections(layer):
        names = _names(path)
        for key in map(str, keys):
            if names is None or key in names or (not path and protocol_settings(key) is not None):
                continue
            full = ".".join((*path, key))
            if not path:
                names += [name for name in PROTOCOLS if protocol_settings(name) is not None]
            brought = ", and no installed package brings a protocol of this name" if not path else ""
            why = f"{full} in {origin} is not a known setting{brought if isinstance(layer.get(key), dict) else ''}"
            raise BadInput(full, f"{why}; {nearest(key, names)}")


def _sections(layer: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    yield path, list(layer)
    for key, value in layer.items():
        if isinstance(value, dict):
            yield from _sections(value, (*path, str(key)))


def _names(path: tuple[str, ...]) -> list[str] | None:
    """Names that a section has, at the top without the protocols'; None where anything goes (checked elsewhere)."""
    if not path:
        return [name for name in Settings.model_fields if name != _SECTIONS]
    if len(path) > 1:
        return None
    if path[0] not in Settings.model_fields:
        return protocol_settings(path[0])
    annotation = Settings.model_fields[path[0]].annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return list(annotation.model_fields)
    return None


def protocol_settings(protocol: str) -> list[str] | None:
    """Names of a protocol's settings; None if it is none that a session can be opened of."""
    known = PROTOCOLS.get(protocol)
    if known is None or known.standing:
        return None
    return [field.encode_name for field in msgspec.structs.fields(known.settings)]


def has_tools(settings: Settings) -> bool:
    """Whether experts' models may use a tool: of the allow list that the settings or the environment name, or of the
    one that ships. Raises BadInput where it is none."""
    allowed = _allowed(settings)
    return allowed is not None and bool(allowed.servers)


def _allowed(settings: Settings) -> "AllowList | None":
    from parley.agents.tools import allow

    with bad_input(allow.VARIABLE if settings.tools is None else "tools", allow.ToolsError):
        return allow.find(os.environ, settings.tools)


def no_run_of(settings: Settings) -> str:
    """Why no tool of that list can run commands here, though it has one; empty: one can, or it has none. Raises
    BadInput."""
    from parley.agents.tools import sandbox

    allowed = _allowed(settings)
    return "" if allowed is None else sandbox.possible(allowed)[1]


def names_tools(settings: Settings) -> bool:
    """Whether the settings or the environment say which tools there are."""
    from parley.agents.tools import allow

    return bool(allow.named_file(os.environ, settings.tools))


def lists_of(settings: Settings) -> dict[str, str]:
    """The allow list of tools and the list of hands that the settings name, as the services read them. Raises BadInput
    where one cannot be used."""
    return _tools_of(settings) | _hands_of(settings)


def _hands_of(settings: Settings) -> dict[str, str]:
    if settings.hands is None:
        return {}
    from parley.agents.hands import catalogue

    with bad_input("hands", catalogue.HandsError):
        catalogue.load(settings.hands)
    return {catalogue.VARIABLE: str(settings.hands.absolute())}


def _tools_of(settings: Settings) -> dict[str, str]:
    if settings.tools is None:
        return {}
    from parley.agents.tools import allow

    if str(settings.tools) == allow.OFF:
        return {allow.VARIABLE: allow.OFF}
    with bad_input("tools", allow.ToolsError):
        allow.load(settings.tools)
    return {allow.VARIABLE: str(settings.tools.absolute())}
