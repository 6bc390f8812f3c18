"""The options of a session, a row each. Every door is made of these rows: the flags and the help of `parley ask`, the
form of the page, the schema of MCP, the parameters of /v1, the keywords of the Python API, and docs/options.md.

The command line reads every row when it starts, so this module imports nothing of ours.
"""

import difflib
import keyword
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

Door = Literal["ask", "page", "mcp", "v1", "python"]
"""The command line, the form and its JSON, the tools of MCP, the OpenAI-compatible interface, the Python API."""
ALL: tuple[Door, ...] = get_args(Door)
HERE: tuple[Door, ...] = ("ask", "python")
"""Doors of whoever sits at this machine: what they name may be a file of it."""


class Option(NamedTuple):
    """What one may ask for. Protocols with the same flag share the option."""

    flag: str
    """`--style`: what the command line calls it."""
    kind: Any
    """Type of its value: `str | None`, `list[Path] | None`, `bool` and so on; one with `default` may be `int`."""
    help: str
    sets: str = ""
    """Its place among what is asked, `budget.tokens`, or the setting that it gives; empty: its own name."""
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    default: Any = None
    hidden: bool = False
    read: Callable[[Any], Any] | None = None
    """From the value as it was typed to the setting's. Raises BadInput."""
    gives: Literal["setting", "session", "question", "folder"] = "setting"
    """A setting of a protocol; an option of any session; the question (Setup.topic reads it); or the folder that a
    session begins with."""
    pasted: bool = False
    """Its texts are what people paste: what would steer a terminal is taken out of them, and that is said."""
    doors: tuple[Door, ...] = ALL
    """Those that take it."""
    words: tuple[str, ...] = ()
    """Words that stand in place of a number."""

    @property
    def name(self) -> str:
        """The flag as an argument's name."""
        name = self.flag.removeprefix("--").replace("-", "_")
        return f"{name}_" if keyword.iskeyword(name) else name

    @property
    def setting(self) -> str:
        """The setting that it gives, or its place."""
        return self.sets or self.name


ROUND_LIMIT = Option("--round-limit", int | None, "Largest number of rounds.")
"""Of every protocol that argues in rounds."""
LOOK_UPS = Option(
    "--look-ups",
    int | None,
    "Calls of tools that each panelist or debater may make before it answers, at most 8 (default: 0).",
)
"""Of protocols whose seats may look things up."""
EVERY_SEAT = "*"
"""In place of a seat: all that are not named."""


def read_styles(texts: Sequence[str]) -> dict[str, str]:
    """What `--style pro_1=logical` and `--style mixed` give, by seat. Raises BadInput for a text without a seat or a
    name beside its `=`, and for a seat that is given two."""
    from parley.client.errors import BadInput

    by_seat: dict[str, str] = {}
    for text in texts:
        before, equals, name = (part.strip() for part in text.rpartition("="))
        seat = before if equals else EVERY_SEAT
        if not name or not seat:
            raise BadInput("style", f"got {text!r}, expected SEAT=NAME, for example pro_1=logical")
        if by_seat.setdefault(seat, name) != name:
            whose = "all seats are" if seat == EVERY_SEAT else f"seat {seat} is"
            raise BadInput("style", f"{whose} given two styles, {by_seat[seat]} and {name}")
    return by_seat


STYLE = Option(
    "--style",
    list[str] | None,
    "A seat's personality (competition) or strategy (consensus), or a style of all of them (consensus); repeatable.",
    sets="styles",
    metavar="SEAT=NAME|STYLE",
    read=read_styles,
)
"""Of protocols whose seats have a way of their own."""
PANEL = Option(
    "--panel",
    int | None,
    "Number of panelists (default: 3) or debaters (default: 2). auto: as many panelists as the question calls for.",
    words=("auto",),
)
"""Of every protocol that seats as many in one role as a setting says: it gives that setting, whatever its name is."""


def _session(flag: str, kind: Any, help_: str, **more: Any) -> Option:
    return Option(flag, kind, help_, gives="session", **more)


SESSION: tuple[Option, ...] = (
    _session(
        "--protocol", str | None, "How it is dealt with: {protocols} (default: chosen by what is asked).",
        doors=("ask", "page", "mcp", "python"),
    ),
    _session(
        "--evidence", list[str] | None, "Folder, file or pattern of documents, or - for standard input; repeatable.",
        metavar="PATH", doors=HERE,
    ),
    _session("--panel-file", Path | None, "File that gives each seat its model (YAML).", doors=("ask",)),
    _session(
        "--from", Path | None, "File of a team (YAML): of its members those are seated who fit the question.",
        metavar="FILE", sets="team", doors=("ask",),
    ),
    _session(
        "--experts", Path | None, "Folder of experts beside the shipped ones; other tools' agent files work too.",
        metavar="DIR", doors=("ask",),
    ),
    _session("--continue", str | None, "Ask a follow-up question to this finished session.", metavar="ID",
             sets="continues"),
    _session("--kind", str | None, "Kind of the question. Records of this kind count first.", metavar="WORD"),
    _session(
        "--human", list[str] | None, "A seat that a person may take; repeatable.", metavar="SEAT", sets="humans",
        doors=("ask", "page"),
    ),
    _session(
        "--wait-for-human", float | None,
        "With --human: seconds that each turn of the seat waits for the person, from the first turn on.",
        metavar="SECONDS", least=1, most=86_400, doors=("ask", "page"),
    ),
    _session("--budget-tokens", int | None, "Limit of tokens, input and output together.", sets="budget.tokens"),
    _session("--budget-usd", float | None, "Limit of cost, in US dollars.", sets="budget.cost_usd"),
    _session("--budget-calls", int | None, "Limit of model calls.", sets="budget.calls"),
    _session("--budget-seconds", float | None, "Time limit of the session, in seconds.", sets="budget.seconds"),
    _session("--turn-timeout", float | None, "Time limit of one turn, in seconds.", sets="turn_timeout_s"),
    _session("--seed", int | None, "Seed of the order in which positions are shown."),
    PANEL._replace(gives="session"),
    _session(
        "--set", dict[str, Any] | None, "Settings of the protocol by name, such as threshold and round_limit.",
        sets="settings",
    ),
)  # fmt: skip
"""What a session of any protocol takes."""
_BY_PLACE = {option.setting: option for option in SESSION}
_SHOWN = 80
_WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    Path: "a path",
}


def taken(door: Door) -> tuple[Option, ...]:
    """The options of any session that a door takes."""
    return tuple(option for option in SESSION if door in option.doors)


def base_of(option: Option) -> type:
    """The type of its value, without what it may be left out for."""
    kinds = (option.kind,) if option.kind in _WORDS else get_args(option.kind)
    of = next(t for t in kinds if t is not type(None))
    found: type = get_origin(of) or of
    return found


def by_place(given: Mapping[str, Any], door: Door) -> dict[str, Any]:
    """What a door was given, by its place, without what says nothing.

    Parameters
    ----------
    given
        Nested as in a document: `{"budget": {"tokens": 9}}`.

    Raises
    ------
    ValueError
        (place, why): there is no such option here, or the value is of another type.
    """
    options = {option.setting: option for option in taken(door)}
    before = f"{_V1}." if door == "v1" else ""
    flat: dict[str, Any] = {}
    for name, value in given.items():
        inner = [place for place in options if place.startswith(f"{name}.")]
        if inner and value is not None and not isinstance(value, Mapping):
            raise ValueError(f"{before}{name}", f"got {_shown(value)}, expected an object")
        flat |= {f"{name}.{key}": part for key, part in (value or {}).items()} if inner else {name: value}
    found = {}
    for place, value in flat.items():
        option = options.get(place)
        if option is None:
            near = difflib.get_close_matches(place, options, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(options)}"
            raise ValueError(f"{before}{place}", f"there is no such option; {hint}")
        if value is not None and value != "" and value != () and value != []:
            found[place] = _typed(option, f"{before}{place}", value)
    return found


def _typed(option: Option, place: str, value: Any) -> Any:
    """The value, a whole number also from JSON's `60.0`. Raises ValueError."""
    of = base_of(option)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if of is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if value in option.words:
        return value
    fits = number and (of is float or isinstance(value, int)) if of in (int, float) else _is(of, value)
    if not fits:
        expected = " or ".join((_WORDS[of], *option.words))
        raise ValueError(place, f"got {_shown(value)}, expected {expected}")
    least, most = option.least, option.most
    if number and least is not None and most is not None and not least <= value <= most:
        raise ValueError(place, f"got {value}, allowed are {least:,g} to {most:,g}")
    return value


def _is(of: type, value: Any) -> bool:
    if of is list:
        return isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)
    return isinstance(value, Mapping if of is dict else of)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


# ---------------------------------------------------------------- how each door spells them

_SAME = {"waits": "humans", "continue": "continues", "wait_for_human": "wait_for_human"}
"""What an error calls a place -> the place."""
_NO_SETTING = "evidence"
"""What a flag alone gives, so that it is named also where it is missing."""
_V1 = "parley"
"""The field of /v1 that holds what no other program takes."""
_OF_V1 = {"protocol": "model", "question": "messages", "evidence": "messages"}


def spelled(
    field: str, door: Door, own: Iterable[Option] = (), *, protocol: str = "", given: Container[str] = ()
) -> str:
    """What a door calls the field that an error names.

    Parameters
    ----------
    field
        A place (`budget.tokens`), or a setting with or without its protocol (`consensus.threshold`).
    own
        The protocol's options.
    given
        Names of the flags that were given: what was set in a file, the environment or by `--set` keeps its name there.
    """
    head, _, rest = field.partition(".")
    setting = rest if head in (protocol, "settings") else ""
    place = _SAME.get(field) or _SAME.get(head) or field
    session = None if setting else _BY_PLACE.get(place)
    if door == "ask":
        wanted = (setting or field).partition(".")[0]
        options = [session] if session else [o for o in own if o.setting == wanted]
        named = (o.flag for o in options if o.name in given or o.name == _NO_SETTING)
        return next(named, setting if head == "settings" else field)
    if door == "v1":
        if place in _OF_V1:
            return _OF_V1[place]
        return f"{_V1}.settings.{setting}" if setting else f"{_V1}.{place}" if session else field
    return f"settings.{setting}" if setting else place if session else field
