"""What the commands share: their common options, how settings are layered, how errors and results are told.

A command is a function that `command` adds: its parameters are the options of its own, and `settings` in place of those
that name the bus. It parses, calls one function and returns what is to be printed, as an `Answer`.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from parley.client.show.printing import ask, give, say_all, warn
from parley.process import INTERRUPTED, report_error, unwritable

if TYPE_CHECKING:
    from parley.settings import Settings


def protocols(incomplete: str) -> list[str]:
    """Names of protocols, for a shell that completes one."""
    from parley.coordinator.protocols import PROTOCOLS

    names = [name for name, protocol in PROTOCOLS.items() if not protocol.standing]
    return sorted(name for name in names if name.startswith(incomplete))


Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document.")]
Plain = Annotated[bool, typer.Option("--plain", help="Print plain lines instead of a live view.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show everything that is said (default: one screen).")]
Config = Annotated[
    Path | None, typer.Option("--config", help="Settings file (default: parley.yaml in this folder, if it exists).")
]
Nats = Annotated[
    str | None,
    typer.Option("--nats", help="Address of a running bus; URL,URL for several servers (default: an embedded stack)."),
]
Creds = Annotated[Path | None, typer.Option("--creds", help="Credentials file for --nats.")]
State = Annotated[Path | None, typer.Option("--state", help="Folder of the embedded stack and its sessions.")]
LearnedFile = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="File of what was learned (default: in the state folder).")
]
Sets = Annotated[list[str] | None, typer.Option("--set", help="A setting, such as consensus.threshold=70; repeatable.")]
PanelFile = Annotated[Path | None, typer.Option("--panel-file", help="File that gives each seat its model (YAML).")]
Experts = Annotated[
    Path | None,
    typer.Option(
        "--experts", metavar="DIR", help="Folder of experts beside the shipped ones; other tools' agent files work too."
    ),
]
Everything = Annotated[
    bool, typer.Option("--all", help="Also show the teams' own channels and the judge's notes (owners only).")
]
HelpAll = Annotated[
    bool, typer.Option("--help-all", expose_value=False, help="Show every option, those of all protocols too.")
]
Humans = Annotated[
    list[str] | None, typer.Option("--human", metavar="SEAT", help="A seat that a person may take; repeatable.")
]
Protocol = Annotated[
    str | None,
    typer.Option(
        help="How it is dealt with: {protocols} (default: {default}, tasks of experts).",
        autocompletion=protocols,
    ),
]
ServedProtocol = Annotated[
    str | None, typer.Option(help="Serve only this protocol (default: every protocol).", autocompletion=protocols)
]
LogMaxAge = Annotated[
    float | None, typer.Option("--log-max-age", help="Days that sessions are kept; 0 for ever (default: 90).")
]
Host = Annotated[str, typer.Option("--metrics-host", help="Address of the metrics and health port.")]
Port = Annotated[int, typer.Option("--metrics-port", help="Port of metrics and health; 0 takes a free one.")]
Level = Annotated[str, typer.Option("--log-level", help="DEBUG, INFO, WARNING or ERROR.")]
Tools = Annotated[
    Path | None, typer.Option("--tools", metavar="FILE", help="Which tools an expert's model may use (YAML), or off.")
]
Subject = Annotated[str, typer.Argument(metavar="ID|FILE", help="A session's id, or an exported file.")]
Sid = Annotated[str, typer.Argument(metavar="ID", help="The session's id.")]
BudgetTokens = Annotated[int | None, typer.Option(help="Tokens that the fork itself may use.")]
BudgetCalls = Annotated[int | None, typer.Option(help="Limit of model calls.")]
BudgetUsd = Annotated[float | None, typer.Option(help="Limit of cost, in US dollars.")]
BudgetSeconds = Annotated[float | None, typer.Option(help="Time limit of the fork, in seconds.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the answer.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

SHARED: Mapping[str, tuple[Any, Any, str]] = {
    "sets": (Sets, None, ""),
    "panel_file": (PanelFile, None, "panel_file"),
    "protocol": (Protocol, None, "protocol"),
    "experts": (Experts, None, "experts"),
    "tools": (Tools, None, "tools"),
    "log_max_age": (LogMaxAge, None, "retention.log_days"),
    "file": (LearnedFile, None, "learned.file"),
    "budget_tokens": (BudgetTokens, None, "budget.tokens"),
    "budget_calls": (BudgetCalls, None, "budget.calls"),
    "budget_usd": (BudgetUsd, None, "budget.cost_usd"),
    "budget_seconds": (BudgetSeconds, None, "budget.seconds"),
    "json": (Json, False, ""),
    "nats": (Nats, None, "nats.url"),
    "creds": (Creds, None, "nats.creds"),
    "state": (State, None, "state"),
    "config": (Config, None, ""),
}
"""Options of several commands: what each is, its default, and the setting that it gives."""
BUS = "json nats creds state config"
"""Those of most commands."""


class Answer(NamedTuple):
    """What a command prints, and its exit status."""

    document: Any
    """With `--json`; a function is called for it then."""
    lines: Iterable[str] | str = ()
    """Without."""
    code: int = 0
    width: int = 0
    """Columns of the terminal, 0 for none."""


def command(
    app: typer.Typer, name: str | None = None, shared: str = BUS, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a command. The options in `shared` come after its own; its parameter `settings` is what they make of all
    layers. Errors are told, and what it returns is printed: an `Answer`, or an exit status alone.

    Parameters
    ----------
    name
        None: the function's. Empty: the command that a group is by itself.
    more
        As typer's `command` takes it.
    """
    add = app.command(name, **more) if name != "" else app.callback()

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        mine = inspect.signature(function).parameters
        options = shared.split()

        def run(**values: Any) -> None:
            if name == "" and values.pop("context").invoked_subcommand is not None:
                return
            as_json = values.get("json", False)
            own = {option: values[option] for option in mine if option != "settings"}
            with errors(as_json):
                if "settings" in mine:
                    given = {SHARED[o][2].replace(".", "__"): values[o] for o in options if SHARED[o][2]}
                    own["settings"] = settings(values.get("config"), values.get("sets"), **given)
                answer = function(**own)
                if not isinstance(answer, Answer):
                    raise typer.Exit(answer or 0)
                if as_json:
                    print_json(answer.document() if callable(answer.document) else answer.document)
                else:
                    say_all([answer.lines] if isinstance(answer.lines, str) else answer.lines, answer.width)
            raise typer.Exit(answer.code)

        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [p.replace(kind=keyword) for p in mine.values() if p.name != "settings"]
        for option in options:
            kind, default, _ = SHARED[option]
            if option not in mine:
                parameters.append(inspect.Parameter(option, keyword, default=default, annotation=kind))
        if name == "":
            parameters.append(inspect.Parameter("context", keyword, annotation=typer.Context))
        setattr(run, "__signature__", inspect.Signature(parameters))  # noqa: B010
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__doc__, run.__name__ = function.__doc__, function.__name__
        add(run)
        return function

    return make


def group(help_: str, **more: Any) -> typer.Typer:
    """A group of commands."""
    given = {"no_args_is_help": True, **more}
    return typer.Typer(cls=CommandGroup, rich_markup_mode=None, help=help_, **given)


@contextmanager
def errors(json: bool = False, then: Callable[[str], None] | None = None) -> Iterator[None]:
    """Errors as one line on stderr, and with --json as the one document; the exit status is theirs. `then`: is called
    with what an error says, once that is told."""
    from parley.bus.errors import BusError
    from parley.client.errors import ParleyError

    try:
        yield
    except (ParleyError, BusError) as error:
        field = getattr(error, "field", "nats")
        status = report_error(getattr(error, "plain", str(error)), field, getattr(error, "exit_code", 1), json=json)
        if then is not None:
            then(str(error))
        raise typer.Exit(status) from None
    except KeyboardInterrupt:
        raise typer.Exit(report_error("interrupted", "interrupted", INTERRUPTED, json=json)) from None
    except OSError as error:
        raise typer.Exit(unwritable(error)) from None


def settings(config: Path | None, sets: list[str] | None = None, **given: Any) -> "Settings":
    """All layers; `given` has dots as `__` and overrides `--set`."""
    from parley.settings import load, merge, parse_sets

    layer = parse_sets(sets or [])
    pairs = [(name.split("__"), value) for name, value in given.items() if value is not None]
    for path, value in pairs:
        part: Any = value
        for key in reversed(path):
            part = {key: part}
        layer = merge(layer, part)
    return load(config, layer)


def apart(**given: Any) -> None:
    """Refuse two options that contradict each other; those not given are None or False. Raises BadInput: names both.
    A name in capitals is an argument's."""
    from parley.client.errors import BadInput

    names = [
        name if name.isupper() else f"--{name.replace('_', '-')}"
        for name, value in given.items()
        if value not in (None, False)
    ]
    if len(names) > 1:
        raise BadInput(names[0], f"{names[0]} and {names[1]} contradict each other; leave one out")


def read_question() -> str:
    """All of standard input. Raises BadInput where it is no text."""
    from parley.client.errors import bad_input

    with bad_input("question", UnicodeDecodeError, what="cannot read standard input"):
        return sys.stdin.buffer.read().decode("utf-8-sig")


def with_more(document: object, more: Mapping[str, Any]) -> object:
    """The document with what else is to be said; as it is where there is nothing."""
    import msgspec

    return {**msgspec.to_builtins(document), **more} if more else document


def print_json(value: object) -> None:
    """The one document."""
    import msgspec

    give(msgspec.json.encode(value).decode())


def print_each(documents: Iterable[object]) -> int:
    """A document a line, as soon as it is there; of a bad line one that says why.

    Returns
    -------
    The exit status: 1 where a line was bad, 2 where none was good.
    """
    from parley.client.setup.setup import BadLine
    from parley.client.text import clean

    good = bad = 0
    for document in documents:
        if isinstance(document, BadLine):
            bad += 1
            why = clean(document.why)
            warn(f"parley: {why}")
            print_json({"line": document.number, "error": {"field": clean(document.field), "message": why}})
        else:
            good += 1
            print_json(document)
    if not good:
        warn("parley: it has no line that can be read")
    return (1 if bad else 0) if good else 2


def write_document(lines: Iterator[str], output: Path | None) -> None:
    """Writes lines as they are to a file, and says so; or to standard output."""
    if output is None:
        for text in lines:
            give(text)
        return
    from parley.client.errors import bad_input

    with bad_input("output", OSError, what=f"cannot write {output}"), output.open("w", encoding="utf-8") as file:
        file.writelines(f"{text}\n" for text in lines)
    warn(f"parley: wrote {output}, {output.stat().st_size:,} bytes")


def at_terminal() -> bool:
    """Whether a person sits there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, *, json: bool) -> None:
    """Ask on the terminal. Raises BadInput where the answer is no, or nobody can be asked."""
    from parley.client.errors import BadInput

    if json or not at_terminal():
        raise BadInput("--yes", f"there is no terminal to ask: {question} Confirm with --yes")
    ask(f"{question} [y/N] ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BadInput("--yes", "not confirmed; nothing was done")


class CommandGroup(TyperGroup):
    """A group of commands whose help text tells each command in a whole sentence, which wraps."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the sections; the lines wrap."""
        for title, names in self.sections(ctx):
            commands = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, c.get_short_help_str(1_000)) for name, c in commands if c is not None and not c.hidden]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def sections(self, ctx: Any) -> list[tuple[str, Sequence[str]]]:
        """Title and names of each."""
        return [("Commands", self.list_commands(ctx))]
