"""Reads the files of a competition (formats, personalities, topics) into settings of its protocol.

    parley ask --protocol competition --format oxford --topic topics.yaml#four-day-week --style pro_1=logical

A format is a built-in name or a YAML file (parley.schemas.protocols.competition.format.Format). A file of
personalities holds `name: {name, characteristics}`; one of topics holds `name: {motion, stances: {pro, con},
evidence}`, of which only the motion is needed: `stances` are what the teams hold, `evidence` is a folder relative to
the file.
"""

import difflib
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from parley.client.errors import BadInput, bad_input
from parley.client.strict_files import read_yaml, struct_of
from parley.coordinator.admission import refuse_controls
from parley.coordinator.protocols.competition.seats import due, texts
from parley.coordinator.table import Inadmissible
from parley.schemas.protocols.competition.format import TEAMS, Format, Team, seats_of
from parley.schemas.protocols.competition.messages import Personality
from parley.schemas.wire import SchemaError, not_empty

DEFAULT = "four_stage"
_OWN = re.compile(r"^(?:format|topic|personalit(?:y|ies))\.")
"""What the types put in front of their fields in errors."""
FORMATS = Path(str(resources.files("parley.schemas"))) / "formats"
PERSONALITIES = Path(__file__).parent / "personalities.yaml"


class Topic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A motion, and what may come with it."""

    motion: str
    stances: dict[Team, str] = {}
    """What each team holds; a team that has none is for the motion, or against it."""
    evidence: str = ""
    """A folder of documents, relative to the file."""

    def __post_init__(self) -> None:
        not_empty("topic.motion", self.motion, 20_000)


def built_in() -> tuple[str, ...]:
    """Names of the formats that are shipped."""
    return tuple(sorted(path.stem for path in FORMATS.glob("*.yaml")))


def read_format(name: str) -> Format:
    """A format by its built-in name, or from a YAML file. Raises BadInput: neither; a file that cannot be read; a field
    that cannot be right, with file, field, value and limit."""
    path = FORMATS / f"{name}.yaml" if name in built_in() else Path(name)
    if not path.is_file():
        near = difflib.get_close_matches(name, built_in(), 1)
        hint = f"did you mean {near[0]}?" if near else f"built in are {', '.join(built_in())}"
        raise BadInput("format", f"{name!r} is no format and no file; {hint}")
    return parse_format(read_yaml(path, "format"), str(path))


def parse_format(data: Mapping[str, Any], where: str) -> Format:
    """A format from plain values. Raises BadInput, which names `where`, the field, the value and what is allowed."""
    parsed_format: Format = _converted(dict(data), Format, "format", where)
    _refuse_controls(data, f"{where}: format")
    return parsed_format


def personalities(path: Path = PERSONALITIES) -> dict[str, Personality]:
    """Personalities by name, from a YAML file. Raises BadInput."""
    return _personalities(read_yaml(path, "personalities"), str(path))


def _personalities(data: Mapping[Any, Any], where: str) -> dict[str, Personality]:
    found: dict[str, Personality] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            value = {k: " ".join(v.split()) if isinstance(v, str) else v for k, v in value.items()}
        found[str(name)] = _converted(value, Personality, f"personalities.{name}", where)
    _refuse_controls(msgspec.to_builtins(found), f"{where}: personalities")
    return found


def topic(reference: str) -> tuple[Topic, Path | None]:
    """A topic and the folder of its evidence, if it has one.

    Parameters
    ----------
    reference
        `FILE#NAME`; a file with a single topic needs no name.

    Raises
    ------
    BadInput
        No such file, no such topic (with the nearest one), or one that cannot be right.
    """
    text, _, name = reference.partition("#")
    path = Path(text)
    data = read_yaml(path, "topic")
    topics = data.get("topics", data)
    if not isinstance(topics, dict) or not topics:
        raise BadInput("topic", f"{path} holds no topics: expected names with a motion each")
    names = [str(n) for n in topics]
    if not name:
        if len(names) > 1:
            raise BadInput("topic", f"which one of {path}? Name it: {path}#{names[0]}; there are {', '.join(names)}")
        name = names[0]
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        raise BadInput(
            "topic",
            f"{path} has no topic {name!r}; " + (f"did you mean {near[0]}?" if near else f"it has {', '.join(names)}"),
        )
    value = next(v for k, v in topics.items() if str(k) == name)
    topic: Topic = _converted({"motion": value} if isinstance(value, str) else value, Topic, f"topic.{name}", str(path))
    _refuse_controls(msgspec.to_builtins(topic), f"{path}: topic.{name}")
    folder = path.parent / topic.evidence if topic.evidence else None
    return topic, folder


def whole(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a competition with its format and its personalities read: `format` may be a name, a file or the
    format itself, `personalities` a file or the personalities. Only those that a seat has are kept. Raises BadInput: as
    `read` and `personalities`; a style of a seat that is not there, or of a name that nobody knows."""
    format_ = given.get("format", DEFAULT)
    rules = parse_format(format_, "competition.format") if isinstance(format_, dict) else read_format(str(format_))
    named = given.get("styles") or {}
    settings = {**given, "format": msgspec.to_builtins(rules)}
    if not isinstance(named, dict):
        raise BadInput("competition.styles", f"got {named!r}, expected seats with the name of a style each")
    if not named and not given.get("personalities"):
        return settings
    source = given.get("personalities")
    known = personalities()
    if isinstance(source, dict):
        known |= _personalities(source, "competition.personalities")
    elif source:
        known |= personalities(Path(str(source)))
    seats = [seat for team in TEAMS for seat in seats_of(rules, team)]
    for seat, name in named.items():
        if seat not in seats:
            raise BadInput(
                f"competition.styles.{seat}", f"{rules.name} has no seat {seat!r}; seats are {', '.join(seats)}"
            )
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise BadInput(f"competition.styles.{seat}", f"{seat}: {name!r} is no personality; {hint}")
    used = {name: msgspec.to_builtins(known[name]) for name in dict.fromkeys(named.values())}
    return {**settings, "personalities": used}


def refuse_paths(given: Mapping[str, Any]) -> None:
    """Raise BadInput where a format is no built-in name and not whole, or personalities are not whole."""
    rules, known = given.get("format", DEFAULT), given.get("personalities")
    if not isinstance(rules, dict) and rules not in built_in():
        named = ", ".join(built_in())
        raise BadInput("format", f"got {str(rules)[:80]!r}, expected one of {named}, or a whole format")
    if known is not None and not isinstance(known, dict):
        raise BadInput("personalities", f"got {str(known)[:80]!r}, expected the personalities themselves")


def of(given: Mapping[str, Any]) -> Format:
    """The format of a competition's settings, as `whole` takes them. Raises BadInput."""
    return msgspec.convert(whole({"format": given.get("format", DEFAULT)})["format"], Format)


def seats(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Every seat that a competition of these settings has: debaters, judge, audience. Raises BadInput."""
    return tuple(due(of(given)))


def _converted(data: Any, wanted: type, field: str, where: str) -> Any:
    """Plain values as a type. What is wrong is told with the file, the field, the value and what is allowed."""
    with bad_input(field, SchemaError, what=where):
        return struct_of(data, wanted, field, sections=_OWN)


def _refuse_controls(data: Any, field: str) -> None:
    with bad_input("", Inadmissible):
        for where, text in texts(data, field):
            refuse_controls(where, text)
