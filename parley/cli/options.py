"""What the commands share: their common options, how settings are layered, how errors are told."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from parley.cli import completing
from parley.client.show.printing import give, warn
from parley.process import INTERRUPTED, report_error, unwritable

if TYPE_CHECKING:
    from parley.settings import Settings

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
ServiceNats = Annotated[
    str | None, typer.Option("--nats", help="Address of the bus; URL,URL for several servers (default: nats.url).")
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
Panels = Annotated[
    Path | None,
    typer.Option("--panels", metavar="DIR", help="Folder of saved panel files. Each is a panel with the file's name."),
]
Roots = Annotated[
    list[Path] | None,
    typer.Option("--root", metavar="DIR", help="A folder in which a projectPath may lie; repeatable."),
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
        autocompletion=completing.protocols,
    ),
]
ServedProtocol = Annotated[
    str | None,
    typer.Option(help="Serve only this protocol (default: every protocol).", autocompletion=completing.protocols),
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
Subject = Annotated[
    str,
    typer.Argument(metavar="ID|FILE", help="A session's id, or an exported file.", autocompletion=completing.sessions),
]
Sid = Annotated[str, typer.Argument(metavar="ID", help="The session's id.", autocompletion=completing.sessions)]


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
    """Refuse two options that contradict each other; those not given are None or False.

    Raises
    ------
    BadInput
        Names both.
    """
    from parley.client.errors import BadInput

    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value not in (None, False)]
    if len(names) > 1:
        raise BadInput(names[0], f"{names[0]} and {names[1]} contradict each other; leave one out")


def check_cluster(size: int | None) -> None:
    """Refuse a number of servers that makes no sense. Raises BadInput, with the option's name."""
    if size in (None, 1):
        return
    from parley.bus.cluster import WHY_ODD
    from parley.bus.cluster.servers import SIZES
    from parley.client.errors import BadInput

    if size not in SIZES:
        raise BadInput("cluster", f"got {size}, expected 1, " + " or ".join(map(str, SIZES)) + f". {WHY_ODD}")


def read_question() -> str:
    """All of standard input. Raises BadInput where it is no text."""
    from parley.client.errors import BadInput

    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput("question", f"standard input is not UTF-8 text (byte {error.start})") from error


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
