"""Experts' specifications as people write them (source: seeds/madp.md 2.1): those that come with Parley, and one's own.

    agent:
      id: gardener
      name: Gardener
      triggers: {primary: [hedge, lawn]}
      domain:
        owns: [plants and beds]
        defers:
          - plumber: pipes and pumps
      deliberation: {claim: I look after whatever grows.}

One file is one expert, in YAML as above, or in Markdown: the same keys between two lines `---`, and below them how the
expert works (agents/experts/markdown.py). Beyond the source's schema it may name `triggers.files` (also spelt
`relevantFilePatterns` or `relevant_file_patterns`), `triggers.examples`, `reviews` (`always`, `of`), and its body:
`instructions`, `checklist`, `tools`, `model`, `context`. An agent file of a coding assistant, or a rule (`.mdc`), is
read by what it says (agents/experts/agent_files.py).
"""

import difflib
import functools
import re
import reprlib
import typing
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from parley.agents import strict_yaml
from parley.agents.experts import agent_files, markdown
from parley.bus.files.plain import NotText, plain_text
from parley.schemas.expert import ExpertSpec
from parley.schemas.wire import InvalidValue

BUILTIN = Path(__file__).parent
SUFFIXES = (".yaml", ".yml", ".md", ".mdc")
MARKDOWN = (".md", ".mdc")
NO_FILES = "has no specification (*.yaml, *.md, *.mdc)"
MAX_BYTES = 64_000
"""Of one file."""

_AT = re.compile(r"(?P<what>.*?)(?: - at `\$?(?P<path>[^`]*)`)?", re.DOTALL)
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Turn text around where it is shown."""
_TEXT = "a text (in quotes if it looks like a number)"
_FILES = ("relevantFilePatterns", "relevant_file_patterns")
"""How 3.3 spells `triggers.files`, in the mapping or in its triggers."""
_short = reprlib.Repr()
_short.maxlevel, _short.maxstring, _short.maxother = 2, 60, 60


class ExpertError(ValueError):
    """A specification that cannot be used: names file, field and what is wrong. Its author's fault."""

    def __init__(self, source: str, field: str, why: str) -> None:
        self.source = source
        self.field = field
        self.why = why
        super().__init__(f"{source}: {field}: {why}" if field else f"{source}: {why}")


def load_spec(path: Path) -> ExpertSpec:
    """The specification in a file. Raises ExpertError: the file cannot be read or is too large, is not UTF-8 or YAML,
    has a key twice, or a field that is missing, unknown, of a wrong type or out of its limits."""
    source = str(path)
    try:
        text = plain_text(path, MAX_BYTES)
    except NotText as error:
        raise ExpertError(source, "", error.why) from error
    if path.suffix not in MARKDOWN:
        return read_text(text, source)
    if not _is_agent_file(text):
        return read_markdown(text, source)
    try:
        return _spec(agent_files.agent_values(text, path.stem), source)
    except agent_files.NoAgent as error:
        raise ExpertError(source, "", str(error)) from None


def _is_agent_file(text: str) -> bool:
    """Whether it is one of another tool: a front matter that describes, and has no key that a specification needs."""
    front, _ = markdown.parted(text)
    keys = set(re.findall(r"^([A-Za-z][\w-]*)\s*:", front or "", re.M))
    return bool(keys & {"description", *agent_files.GLOBS}) and not keys & {"triggers", "domain", "deliberation"}


def files_in(folder: Path) -> list[Path]:
    """The files of a folder that are specifications by their names."""
    return sorted(
        p
        for p in folder.iterdir()
        if p.suffix in SUFFIXES and not p.name.startswith(".") and p.stem.upper() != "README"
    )


def read_text(text: str, source: str = "specification") -> ExpertSpec:
    """The specification that a YAML text is; errors as of `load_spec`."""
    try:
        data = strict_yaml.load(text)
    except strict_yaml.BadYaml as error:
        raise ExpertError(source, "", error.why) from error
    if not isinstance(data, dict):
        raise ExpertError(source, "", "expected a mapping with the one key agent")
    _only(data, ("agent",), source, "")
    if "agent" not in data:
        raise ExpertError(source, "agent", "it is missing")
    return _spec(data["agent"], source)


def read_markdown(text: str, source: str = "specification") -> ExpertSpec:
    """The specification that a Markdown text with front matter is; errors as of `load_spec`."""
    front, body = markdown.parted(text)
    if front is None:
        raise ExpertError(source, "", "has no front matter: its first line is not ---, or no other one ends it")
    try:
        data = strict_yaml.load(front)
    except strict_yaml.BadYaml as error:
        raise ExpertError(source, "front matter", error.why) from error
    if not isinstance(data, dict):
        raise ExpertError(source, "front matter", "expected a mapping")
    agent = markdown.agent_of(data)
    instructions, checklist = markdown.body_of(body)
    for field, value in (("instructions", instructions), ("checklist", checklist)):
        if value and field in agent:
            raise ExpertError(source, field, "it stands in the front matter and below it")
        if value:
            agent[field] = value
    return _spec(agent, source)


def _spec(data: Any, source: str) -> ExpertSpec:
    agent = _struct(_renamed(data, source), ExpertSpec, source, "")
    try:
        return msgspec.convert(agent, ExpertSpec)
    except (msgspec.ValidationError, InvalidValue) as error:
        raise _named(error, agent, source) from error


def _renamed(agent: Any, source: str) -> Any:
    """With `triggers.files` where the source spells it otherwise."""
    if not isinstance(agent, dict) or not isinstance(agent.get("triggers"), dict):
        return agent
    triggers = dict(agent["triggers"])
    agent = {**agent, "triggers": triggers}
    for at in (agent, triggers):
        for name in _FILES:
            if name in at:
                if "files" in triggers:
                    raise ExpertError(source, name, "it is triggers.files, which stands there too")
                triggers["files"] = at.pop(name)
    return agent


def read_files(folder: Path) -> dict[str, tuple[ExpertSpec, Path]]:
    """The specifications of a folder (`*.yaml`, `*.yml`, `*.md` but a README, `*.mdc`), by id, each with its file.
    Raises ExpertError: as of `load_spec`; it is no folder, has no specification, or two of one id."""
    if not folder.is_dir():
        raise ExpertError(str(folder), "", "is not a folder")
    paths = files_in(folder)
    if not paths:
        raise ExpertError(str(folder), "", NO_FILES)
    specs: dict[str, tuple[ExpertSpec, Path]] = {}
    for path in paths:
        spec = load_spec(path)
        if spec.id in specs:
            raise ExpertError(str(path), "id", f"got {spec.id!r}, which {specs[spec.id][1]} has already")
        specs[spec.id] = spec, path
    return specs


def read_all(folder: Path) -> tuple[ExpertSpec, ...]:
    """The specifications of a folder, in the order of their ids; errors as of `read_files`."""
    specs = read_files(folder)
    return tuple(specs[name][0] for name in sorted(specs))


@functools.cache
def builtin() -> tuple[ExpertSpec, ...]:
    """The experts that come with Parley, by id."""
    return read_all(BUILTIN)


def warnings(specs: Sequence[ExpertSpec]) -> list[str]:
    """What is allowed but hardly meant: deferring to somebody who is not among them; a claim, or a trigger, twice."""
    ids = {spec.id for spec in specs}
    claims: dict[str, str] = {}
    lines = []
    for spec in specs:
        for other in spec.domain.defers:
            if other not in ids:
                lines.append(f"{spec.id}: domain.defers: got {other!r}, {_hint(other, ids - {spec.id}, 'expert')}")
        claim = spec.deliberation.claim.casefold()
        first = claims.setdefault(claim, spec.id)
        if first != spec.id:
            lines.append(f"{spec.id}: deliberation.claim: it is the same as that of {first}")
        triggers: set[str] = set()
        for trigger in (*spec.triggers.primary, *spec.triggers.secondary):
            if trigger.casefold() in triggers:
                lines.append(f"{spec.id}: triggers: {trigger!r} stands twice, and counts twice")
            triggers.add(trigger.casefold())
    return lines


def _struct(value: Any, wanted: type[msgspec.Struct], source: str, path: str) -> dict[str, Any]:
    """A mapping with the fields of `wanted`, none missing and none unknown, its texts checked and on one line each."""
    if not isinstance(value, dict):
        names = ", ".join(f.name for f in msgspec.structs.fields(wanted))
        raise ExpertError(source, path or "agent", f"got {_short.repr(value)}, expected a mapping of {names}")
    fields = {f.name: f for f in msgspec.structs.fields(wanted)}
    _only(value, fields, source, path)
    for name, field in fields.items():
        if field.required and name not in value:
            raise ExpertError(source, _join(path, name), "it is missing")
    return {name: _value(value[name], fields[name].type, source, _join(path, name)) for name in value}


def _value(value: Any, wanted: Any, source: str, path: str) -> Any:
    """A field's value; what has a wrong type is left for the conversion to refuse."""
    if path == "instructions":
        return _lines(value, source, path)
    if path == "domain.defers":
        value = _defers(value, source, path)
        return {name: _text(what, source, _join(path, name)) for name, what in value.items()}
    structs = [t for t in (wanted, *typing.get_args(wanted)) if isinstance(t, type) and issubclass(t, msgspec.Struct)]
    if structs and value is not None:
        return _struct(value, structs[0], source, path)
    if isinstance(value, list):
        return [_text(item, source, f"{path}[{i}]") for i, item in enumerate(value)]
    return _text(value, source, path)


def _defers(value: Any, source: str, path: str) -> dict[str, Any]:
    """Expert -> what is theirs, from a mapping or from a list of mappings with one entry each (2.1)."""
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list) and all(isinstance(entry, dict) and len(entry) == 1 for entry in value):
        entries = [pair for entry in value for pair in entry.items()]
    else:
        why = "expected a mapping of experts to what is theirs, or a list of such mappings with one entry each"
        raise ExpertError(source, path, f"got {_short.repr(value)}, {why}")
    topics: dict[str, Any] = {}
    for name, what in entries:
        if not isinstance(name, str):
            raise ExpertError(source, path, f"got {_short.repr(name)}, expected an expert's id")
        if name in topics:
            raise ExpertError(source, path, f"{_short.repr(name)} stands twice")
        if not isinstance(what, str):
            raise ExpertError(source, _join(path, _key(name)), f"got {_short.repr(what)}, expected {_TEXT}")
        topics[name] = what
    return topics


def _text(value: Any, source: str, path: str) -> Any:
    """A text on one line; anything else as it is."""
    return " ".join(_clean(value, source, path).split()) if isinstance(value, str) else value


def _lines(value: Any, source: str, path: str) -> Any:
    """A text with its lines; anything else as it is."""
    if not isinstance(value, str):
        return value
    text = _clean(value.replace("\r\n", "\n").expandtabs(4), source, path)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def _clean(value: str, source: str, path: str) -> str:
    bad = next((c for c in value if c in _BIDI or (c != "\n" and unicodedata.category(c) in ("Cc", "Cs"))), "")
    if bad:
        raise ExpertError(source, path, f"control character U+{ord(bad):04X}; none is allowed")
    return value


def _only(value: dict[Any, Any], known: Iterable[str], source: str, path: str) -> None:
    names = list(known)
    for key in value:
        if key not in names:
            raise ExpertError(source, _join(path, _key(key)), f"no such field; {_hint(str(key), names, 'field')}")


def _hint(name: str, known: Iterable[str], what: str) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f"did you mean {near[0]}?"
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"known: {shown}" if names else f"no {what} is known"


def _named(error: Exception, agent: dict[str, Any], source: str) -> ExpertError:
    """The conversion's error with field, value and limit."""
    cause = error if isinstance(error, InvalidValue) else error.__cause__
    if isinstance(cause, InvalidValue):
        return ExpertError(source, cause.field, str(cause).removeprefix(f"{cause.field}: "))
    match = _AT.fullmatch(str(error))
    what, path = (match["what"], match["path"] or "") if match else (str(error), "")
    value: Any = agent
    for name, number in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        value = value[name] if name else value[int(number)]
    return ExpertError(source, path.lstrip("."), f"got {_short.repr(value)}, {_wanted(what)}")


def _wanted(what: str) -> str:
    """msgspec's words for what a type allows, in ours."""
    kinds = {"str": _TEXT, "array": "a list", "object": "a mapping"}
    kinds |= {"int": "a whole number", "float": "a number", "bool": "true or false"}
    wanted, _, limit = what.removeprefix("Expected ").partition(", got")[0].replace("`", "").partition(" ")
    return f"expected {kinds.get(wanted.partition('|')[0], wanted)} {limit}".strip()


def _key(key: object) -> str:
    """A key as errors show it: short, without anything that a terminal obeys."""
    text = str(key)[:80]
    return text if text.isprintable() else ascii(text)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
