"""Options of commands that belong to protocols: declared in their SETUPs, and read here.

Which protocols there are is found out when such a command is parsed or explained, and not by every start: it takes as
long as the rest of one.
"""

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer._click.exceptions import ClickException, UsageError
from typer.core import TyperCommand

from parley.cli.options import CommandGroup, Json, errors, print_each, print_json, protocols, read_question
from parley.client.show.printing import warn
from parley.schemas import registry

if TYPE_CHECKING:
    from parley.client.setup.options import Option
    from parley.client.setup.setup import Command

_GROUP = "parley.commands"
Of = Literal["options", "stack_options", "key_options"]
"""Those of `ask`, of `up`, of `bus config`, or of `explain`: a field of Setup."""


Flags = Mapping[str, Any]
"""The options that were given, by their names."""
NOTHING: Flags = {}


def is_given(value: Any) -> bool:
    """Whether the value of an option says that it was given."""
    return value is not None and value is not False and value not in ([], ())


def declared(of: Of) -> "tuple[Option, ...]":
    """The options of every protocol, each flag once; of `ask` also those of any session."""
    from parley.client.protocols import all_setups
    from parley.client.setup.options import base_of, taken

    session = taken("ask") if of == "options" else ()
    options = {option.flag: option for option in session if base_of(option) is not dict}
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
    text = getattr(parameter, "help", None) or ""
    if "{protocols}" in text:
        from parley.client.protocols import all_setups

        names = ", ".join(setup.name for setup in all_setups())
        parameter.help = text.replace("{protocols}", names)


def takes(of: Of) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the protocols' options where its parameter `given` stands."""

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
    options = declared(of)

    def extended(**values: Any) -> None:
        own = {option.name: values.pop(option.name) for option in options}
        command(**values, given={name: value for name, value in own.items() if is_given(value)})

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        parameters += [_parameter(o) for o in options] if parameter.name == "given" else [parameter]
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
    bounds: dict[str, Any] = {"min": option.least, "max": option.most, "metavar": option.metavar}
    if option.words:
        bounds = {"parser": functools.partial(_number_or, option.words), "metavar": "|".join(("N", *option.words))}
    info = typer.Option(
        option.flag,
        help=option.help,
        hidden=option.hidden,
        **bounds,
        autocompletion=protocols if option.flag == "--protocol" else None,
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[option.kind, info],
    )


def _number_or(words: tuple[str, ...], typed: str) -> int | str:
    """A whole number, or one of these words as it is."""
    if typed in words:
        return typed
    try:
        return int(typed)
    except ValueError:
        raise typer.BadParameter(f"got {typed!r}, expected a whole number or {' or '.join(words)}") from None


# ---------------------------------------------------------------- commands of their own


SECTIONS = {
    "Ask and take part": ("ask", "demo", "init", "doctor", "up", "serve", "sit", "inbox", "strategies"),
    "Look at sessions": ("sessions", "explain", "replay", "fork", "feedback", "audit"),
    "Run the parts as services": ("moderator", "agent", "metrics", "bus", "experts"),
    "Work with other programs": ("mcp", "acp", "schema"),
    "Measure and learn": ("reliability", "thresholds", "preferences", "route"),
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
        names = dict.fromkeys((*super().list_commands(ctx), *_commands(), *registry.usable(_GROUP)))
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
        made = registry.load(_GROUP, name)
    except registry.NotUsable as error:
        raise ClickException(f"command {error}") from None
    except KeyError:
        if name == "eval":
            raise UsageError("No such command 'eval': parley-research brings it (docs/evaluation.md)") from None
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


def settings_of(of: Of, given: Flags) -> dict[str, Any]:
    """Settings that options give, by the setting's name; what two options of one setting list is put
    together. Raises BadInput."""
    settings: dict[str, Any] = {}
    for option in declared(of):
        if option.gives == "setting" and option.name in given:
            value = given[option.name]
            read = option.read(value) if option.read else value
            settings[option.setting] = [*settings[option.setting], *read] if option.setting in settings else read
    return settings


def words_of(question: Sequence[str] | None) -> str | None:
    """The question from the words of the command line: one in quotes, or all of them where the quotes were forgotten.
    Raises BadInput where something else stands beside it."""
    from parley.client.errors import BadInput

    if not question:
        return None
    *_, last = question
    if len(question) > 1 and (any(" " in word.strip() or word == "-" for word in question) or os.path.exists(last)):
        why = f"got {last!r} beside the question; put the question in quotes, and give a document as --evidence {last}"
        raise BadInput("question", why)
    return " ".join(question)


def document_of(
    words: Sequence[str] | None, given: Flags, sets: Mapping[str, Any]
) -> tuple[str, dict[str, Any], list[str]]:
    """The question, the options of `ask` as the other doors have them, and what was taken out of what people pasted.

    Parameters
    ----------
    words
        The question as it was typed: `-` reads it; none: an option gives it.
    sets
        What `--set` sets, nested.

    Raises
    ------
    BadInput
        Neither a question nor an option that gives it, or both; as the protocol whose option it is.
    """
    from parley.client.errors import BadInput
    from parley.client.protocols import SETUPS, all_setups
    from parley.client.untrusted import cleaned_values

    question, document = words_of(words), dict[str, Any]()
    for option in declared("options"):
        if option.name in given and option.gives in ("session", "folder"):
            place, _, part = option.setting.partition(".")
            value = given[option.name]
            document[place] = {**document.get(place, {}), part: value} if part else value
    sections = {p: section for p, section in sets.items() if p in SETUPS and isinstance(section, Mapping)}
    named = {f"{p}.{name}": value for p, section in sections.items() for name, value in section.items()}
    document["settings"] = {**named, **settings_of("options", given)}
    text = question
    for setup in all_setups():
        mine = {o.name: given[o.name] for o in setup.options if o.gives == "question" and o.name in given}
        if mine and question is not None:
            flag = next(o.flag for o in setup.options if o.name in mine)
            raise BadInput(flag, f"{flag} gives the question, and you also typed one; leave one out")
        if mine:
            topic = setup.topic(mine)
            text = topic["question"]
            document = {**topic, **document, "settings": {**topic["settings"], **document["settings"]}}
            del document["question"]
    if text is None:
        flags = [next((o.flag for o in setup.options if o.gives == "question"), "") for setup in all_setups()]
        also = "".join(f", or a {flag}" for flag in flags if flag)
        raise BadInput("question", f'nothing was asked: parley ask "YOUR QUESTION", - to read it{also}')
    if question == "-" and "-" in document.get("evidence", ()):
        raise BadInput("--evidence", "the question is read from standard input already, and it can be read only once")
    text, notes = cleaned_values(read_question() if question == "-" else text, "question")
    settings = document["settings"]
    for setting in dict.fromkeys(o.setting for o in declared("options") if o.pasted and o.setting in settings):
        settings[setting], more = cleaned_values(settings[setting], setting)
        notes += more
    for note in notes:
        warn(f"parley: {note}")
    return text, document, notes


def by_protocol(of: Of, given: Flags) -> dict[str, dict[str, Any]]:
    """Settings that options of a stack give, by the protocol that has the option: `--panel` says how many sit in the
    role of which it has several. Raises BadInput."""
    from parley.client.opening import with_panel
    from parley.client.protocols import all_setups
    from parley.client.setup.options import PANEL

    settings = settings_of(of, given)
    sections = {}
    for setup in all_setups():
        mine = {o.setting: settings[o.setting] for o in getattr(setup, of) if o.setting in settings}
        if mine:
            sections[setup.name] = with_panel(setup.name, mine, mine.pop(PANEL.setting, None))
    return sections
