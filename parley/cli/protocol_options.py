"""Options of commands that belong to protocols: declared in their SETUPs, and read here.

Which protocols there are is found out when such a command is parsed or explained, and not by every start: it takes as
long as the rest of one.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from typer._click.exceptions import ClickException
from typer.core import TyperCommand

from parley.cli.options import CommandGroup, Json, errors, print_each, print_json, read_question
from parley.client.show.printing import warn
from parley.schemas import rooms

if TYPE_CHECKING:
    from parley.client.faces.setup import Command, Motion, Option

_GROUP = "parley.commands"
Of = Literal["options", "stack_options", "key_options"]
"""Those of `ask`, of `up`, of `bus config`, or of `explain`: a field of Setup."""


class Given(NamedTuple):
    """What was given of the options that belong to protocols."""

    of: Of
    values: Mapping[str, Any]
    """By the option's name; None, False or an empty list: not given."""

    def has(self, name: str) -> bool:
        """Whether an option was given."""
        return is_given(self.values[name])


NOTHING = Given("options", {})


def is_given(value: Any) -> bool:
    """Whether the value of an option says that it was given."""
    return value is not None and value is not False and value != []


def declared(of: Of) -> "tuple[Option, ...]":
    """The options of every protocol, each flag once."""
    from parley.client.protocols import all_setups

    options: dict[str, Option] = {}
    for setup in all_setups():
        for option in getattr(setup, of):
            options.setdefault(option.flag, option)
    return tuple(options.values())


# ---------------------------------------------------------------- as the command line has them


class ProtocolCommand(TyperCommand):
    """A command made by `takes`: it gets its parameters when it is first parsed or explained."""

    def get_params(self, ctx: Any) -> Any:
        """The options of the whole function."""
        make = getattr(inspect.unwrap(self.callback, stop=_is_bare), "whole", None) if self.callback else None
        if make is not None:
            whole = typer.main.get_command(make())
            self.params, self.callback, self.help = whole.params, whole.callback, whole.help
            for parameter in self.params:
                _name_protocols(parameter)
        return super().get_params(ctx)


def _name_protocols(parameter: Any) -> None:
    """Put the protocols' names where an option's help has the word for them."""
    text = getattr(parameter, "help", None) or ""
    if "{protocols}" in text:
        from parley.client.protocols import all_setups
        from parley.coordinator.protocols import DEFAULT

        names = ", ".join(setup.name for setup in all_setups())
        parameter.help = text.replace("{protocols}", names).replace("{default}", DEFAULT)


def takes(of: Of) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the protocols' options where its parameter `own` stands, which gets them as `Given`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def bare() -> None:
            raise AssertionError("a command with protocols' options is a ProtocolCommand")

        def whole() -> typer.Typer:
            app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
            app.command()(_extended(command, of))
            return app

        setattr(bare, "__signature__", inspect.Signature())  # noqa: B010  # its parameters come later
        setattr(bare, "whole", whole)  # noqa: B010
        return bare

    return decorate


def _is_bare(function: Callable[..., Any]) -> bool:
    return hasattr(function, "whole")


def _extended(command: Callable[..., None], of: Of) -> Callable[..., None]:
    """The command with a parameter for each option."""
    options = declared(of)

    def extended(**values: Any) -> None:
        own = {option.name: values.pop(option.name) for option in options}
        command(**values, own=Given(of, own))

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        parameters += [_parameter(o) for o in options] if parameter.name == "own" else [parameter]
    names = [p.name for p in parameters]
    assert len(set(names)) == len(names), f"two options have one name: {names}"
    by_name = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    setattr(extended, "__signature__", inspect.Signature(by_name))  # noqa: B010
    extended.__doc__ = _with_examples(command.__doc__ or "")
    extended.__annotations__ = {p.name: p.annotation for p in by_name}
    return extended


def _with_examples(text: str) -> str:
    """The help, with the protocols' examples in place of the line that says so."""
    from parley.client.protocols import all_setups

    lines = []
    for text_line in text.split("\n"):
        before, marker, _ = text_line.partition("{examples}")
        examples = [f"{before}{example}" for setup in all_setups() for example in setup.examples]
        lines += examples if marker else [text_line]
    return "\n".join(lines)


def _parameter(option: "Option") -> inspect.Parameter:
    info = typer.Option(
        option.flag, help=option.help, metavar=option.metavar, min=option.least, max=option.most, hidden=option.hidden
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[option.kind, info],
    )


# ---------------------------------------------------------------- commands of their own


SECTIONS = {
    "Ask and take part": ("ask", "init", "doctor", "up", "serve", "sit", "inbox"),
    "Look at sessions": ("sessions", "explain", "replay", "fork", "feedback", "top"),
    "Run the parts as services": ("moderator", "agent", "metrics", "bus", "experts"),
    "Work with other programs": ("mcp", "schema", "completion"),
    "Measure and learn": ("reliability", "route"),
}
"""The commands in the order of the help text. A protocol's own and an installed package's come last."""
_FURTHER = "From protocols and packages"


class ProtocolGroup(CommandGroup):
    """The command line, with the protocols' own commands and those of installed packages."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Parley's in the order of `SECTIONS`, then the protocols' and the packages'."""
        return [name for _, names in self.sections(ctx) for name in names]

    def sections(self, ctx: Any) -> list[tuple[str, Sequence[str]]]:
        """`SECTIONS`, and one for what stands in none of them."""
        placed = {name for names in SECTIONS.values() for name in names}
        names = dict.fromkeys((*super().list_commands(ctx), *_commands(), *rooms.usable(_GROUP)))
        return [*SECTIONS.items(), (_FURTHER, [name for name in names if name not in placed])]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Parley's, else a protocol's, else an installed package's."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            return command
        own = _commands().get(cmd_name)
        return _brought(cmd_name) if own is None else _built(own)


def _commands() -> "dict[str, Command]":
    from parley.client.protocols import all_setups

    return {command.name: command for setup in all_setups() for command in setup.commands}


def _brought(name: str) -> Any:
    """A command of an installed package: a function that typer makes one of, or a Typer. None: there is none."""
    try:
        made = rooms.load(_GROUP, name)
    except rooms.NotUsable as error:
        raise ClickException(f"command {error}") from None
    except KeyError:
        return None
    if not isinstance(made, typer.Typer):
        app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
        app.command(name)(made)
        made = app
    command = typer.main.get_command(made)
    command.name = name
    return command


def _built(own: "Command") -> Any:
    """The command as the command line has it: it prints one JSON document, or one a line of its file."""

    def command(file: str, json: bool, **values: Any) -> None:
        with errors(json):
            result = own.run(file, **values)
            if isinstance(result, Iterator):
                raise typer.Exit(print_each(result))
            print_json(result)

    argument = Annotated[str, typer.Argument(metavar=own.metavar, help=own.about)]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("file", keyword, annotation=argument),
        *(_parameter(option) for option in own.options),
        inspect.Parameter("json", keyword, default=False, annotation=Json),
    ]
    setattr(command, "__signature__", inspect.Signature(parameters))  # noqa: B010
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    app.command(own.name, help=own.help)(command)
    built = typer.main.get_command(app)
    built.name = own.name
    return built


# ---------------------------------------------------------------- what they say


def settings_of(given: Given) -> dict[str, Any]:
    """Settings that options give, by the setting's name; what two options of one setting list is put
    together. Raises BadInput."""
    settings: dict[str, Any] = {}
    for option in declared(given.of):
        value = given.values[option.name]
        if option.gives != "setting" or not is_given(value):
            continue
        read = option.read(value) if option.read else value
        settings[option.setting] = [*settings[option.setting], *read] if option.setting in settings else read
    return settings


def of_protocol(protocol: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that options give, as the protocol calls them: `--panel` says how many sit in the role of which it has
    several. Raises BadInput where another option says otherwise."""
    from parley.client.api import with_panel
    from parley.client.faces.setup import PANEL

    others = {name: value for name, value in settings.items() if name != PANEL.setting}
    return with_panel(protocol, others, settings.get(PANEL.setting))


class Cleaned(NamedTuple):
    """What is asked, as it is used."""

    motion: "Motion"
    settings: dict[str, Any]
    notes: list[str]
    """What was taken out, in words."""


def without_controls(motion: "Motion", settings: Mapping[str, Any], of: Of) -> "Cleaned":
    """The question and what options give of text that people paste, cleaned (parley.client.pasted); what was done is
    told on standard error."""
    from parley.client.pasted import cleaned_values

    question, notes = cleaned_values(motion.question, "question")
    cleaned = dict(settings)
    for setting in dict.fromkeys(o.setting for o in declared(of) if o.pasted and o.setting in settings):
        cleaned[setting], more = cleaned_values(settings[setting], setting)
        notes += more
    for note in notes:
        warn(f"parley: {note}")
    return Cleaned(motion._replace(question=question), cleaned, notes)


def words_of(question: Sequence[str] | None) -> str | None:
    """The question from the words of the command line: one in quotes, or all of them where the quotes were forgotten.
    Raises BadInput where something stands behind one in quotes."""
    from parley.client.errors import BadInput

    if not question:
        return None
    if len(question) > 1 and any(" " in word.strip() or word == "-" for word in question):
        more = question[1] if " " in question[0] else question[0]
        raise BadInput("question", f"got {more!r} beside the question; a document is --evidence {more}")
    return " ".join(question)


def motion_of(question: str | None, given: Given) -> "Motion":
    """The question, as it was asked or as an option gives it, with what comes with it.

    Raises
    ------
    BadInput
        Neither, or both; as the protocol whose option it is.
    """
    from parley.client.errors import BadInput
    from parley.client.faces.setup import Motion
    from parley.client.protocols import all_setups

    flags = []
    for setup in all_setups():
        mine = [o for o in setup.options if o.gives == "question"]
        flags += [o.flag for o in mine[:1]]
        if any(given.has(o.name) for o in mine):
            return setup.motion(question, {o.name: given.values[o.name] for o in mine})
    if question is None:
        also = "".join(f", or a {flag}" for flag in flags)
        raise BadInput("question", f'nothing was asked: parley ask "YOUR QUESTION", - to read it{also}')
    return Motion(read_question() if question == "-" else question, {}, None)


def folder_of(given: Given) -> Path | None:
    """The folder that a session begins with; None: none was given."""
    named = [given.values[o.name] for o in declared(given.of) if o.gives == "folder" and given.has(o.name)]
    return named[0] if named else None


def keeps_history(given: Given) -> bool:
    """Whether the history of that folder stays at home."""
    return any(o.gives == "no_history" and is_given(given.values.get(o.name)) for o in declared(given.of))


def by_protocol(given: Given) -> dict[str, dict[str, Any]]:
    """Settings that options of a stack give, by the protocol that has the option. Raises BadInput."""
    from parley.client.protocols import all_setups

    settings = settings_of(given)
    sections = {}
    for setup in all_setups():
        mine = {o.setting: settings[o.setting] for o in getattr(setup, given.of) if o.setting in settings}
        if mine:
            sections[setup.name] = of_protocol(setup.name, mine)
    return sections


def set_of(sets: Sequence[str] | None, protocol: str) -> dict[str, Any]:
    """The protocol's settings among those of `--set`. Raises BadInput."""
    from parley.settings import parse_sets

    section = parse_sets(sets or ()).get(protocol)
    return section if isinstance(section, dict) else {}


def takers(
    given: Given, settings: Mapping[str, Any], sets: Sequence[str] | None, *, changes: bool = False
) -> frozenset[str]:
    """The protocols that take every option that was given; none: no option is of some alone, or they are of several.

    Parameters
    ----------
    settings
        Those that options give.
    changes
        What only a task has is wanted: that its result is written into a folder.
    """
    from parley.client.protocols import all_setups, task_setup

    wanted = {section for pair in sets or () if (section := pair.partition(".")[0].strip()) in _protocols()}
    names = [setup.name for setup in all_setups()]
    takes = {n for n in names if wanted <= {n} and all(s in _names(n) for s in settings)}
    for setup in all_setups():
        flags = {o.flag for o in setup.options}
        if setup.name in takes and any(
            o.flag not in flags
            for o in declared(given.of)
            if given.has(o.name) and o.gives in ("question", "no_history")
        ):
            takes.remove(setup.name)
    if changes:
        takes &= {task_setup().name}
    return frozenset(takes if len(takes) < len(names) else ())


def refuse_foreign(protocol: str, settings: Mapping[str, Any], sets: Sequence[str] | None = None) -> None:
    """Refuse options for settings that the protocol does not have.

    Parameters
    ----------
    settings
        Name of the setting -> its value; None: not given.
    sets
        What `--set` has, of which sections of other protocols are refused.

    Raises
    ------
    BadInput
        Names the option, and the protocols that have it.
    """
    from parley.client.errors import BadInput
    from parley.coordinator.protocols import PROTOCOLS

    if not _settings_names(protocol):
        return
    for pair in sets or ():
        key = pair.partition("=")[0].strip()
        section = key.partition(".")[0]
        if section != protocol and section in _protocols():
            raise BadInput(
                key, f"{key} is a setting of {section}, and this is asked of {protocol}; --protocol {section}"
            )
    mine = _names(protocol)
    order = [o.setting for o in declared("options")]
    for setting in sorted(settings, key=lambda s: order.index(s) if s in order else len(order)):
        if settings[setting] is not None and setting not in mine:
            having = [name for name in sorted(PROTOCOLS) if setting in _names(name)]
            flag = next((o.flag for o in declared("options") if o.setting == setting), f"--{setting.replace('_', '-')}")
            raise BadInput(flag, f"{flag} is not for {protocol}, but for {' and '.join(having)}")


def _protocols() -> frozenset[str]:
    """Names of protocols of which a session can be opened."""
    from parley.coordinator.protocols import PROTOCOLS

    return frozenset(name for name in PROTOCOLS if _settings_names(name))


def _names(protocol: str) -> frozenset[str]:
    """What a protocol's settings and its options give."""
    from parley.client.protocols import setup_of

    return _settings_names(protocol) | {option.setting for option in setup_of(protocol).options}


def _settings_names(protocol: str) -> frozenset[str]:
    """Names that a protocol's settings have; none: no session of it can be opened."""
    import msgspec

    from parley.coordinator.protocols import PROTOCOLS

    known = PROTOCOLS.get(protocol)
    if known is None or known.standing:
        return frozenset()
    return frozenset(field.encode_name for field in msgspec.structs.fields(known.settings))
