"""The command line: each command parses, calls one function, prints."""

import json as json_module
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from parley.settings import Settings

app = typer.Typer(
    name="parley", rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, no_args_is_help=True,
    help="Several agents, each its own process, argue over a question on a NATS bus.",
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
sessions_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Sessions that run or ran.")
bus_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The bus's configuration.")
app.add_typer(sessions_app, name="sessions")
app.add_typer(bus_app, name="bus")

Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document.")]
Plain = Annotated[bool, typer.Option("--plain", help="Plain lines, no live view.")]
Config = Annotated[
    Path | None, typer.Option("--config", help="Settings file (default: parley.yaml here, if there is one).")
]
Nats = Annotated[str | None, typer.Option("--nats", help="Address of a running bus; without it, an embedded stack.")]
Creds = Annotated[Path | None, typer.Option("--creds", help="Credentials file for --nats.")]
State = Annotated[Path | None, typer.Option("--state", help="Folder of the embedded stack and its sessions.")]
Sets = Annotated[
    list[str] | None, typer.Option("--set", help="A setting, such as consensus.threshold=0.7; repeatable.")
]
Host = Annotated[str, typer.Option("--metrics-host", help="Address of the metrics and health port.")]
Port = Annotated[int, typer.Option("--metrics-port", help="Port of metrics and health; 0 takes a free one.")]
Level = Annotated[str, typer.Option("--log-level", help="DEBUG, INFO, WARNING or ERROR.")]
Subject = Annotated[str, typer.Argument(metavar="ID|FILE", help="A session's id, or an exported file.")]
Sid = Annotated[str, typer.Argument(metavar="ID", help="The session's id.")]


@contextmanager
def _errors(json: bool = False) -> Iterator[None]:
    """Errors as one line on stderr, and with --json as the one document; the exit status is theirs."""
    from bus.errors import BusError
    from parley.errors import ParleyError
    from parley.text import clean

    try:
        yield
    except (ParleyError, BusError) as error:
        code = getattr(error, "exit_code", 1)
        print(f"parley: {clean(str(error))}", file=sys.stderr)
        if json:
            print(
                json_module.dumps(
                    {"error": {"field": getattr(error, "field", ""), "message": str(error)}, "exit_code": code}
                )
            )
        raise typer.Exit(code) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None


def _settings(config: Path | None, sets: list[str] | None = None, **given: Any) -> "Settings":
    """All layers; `given` has dots as `__` and overrides `--set`."""
    from parley import settings

    layer = settings.parse_sets(sets or [])
    pairs = [(name.split("__"), value) for name, value in given.items() if value is not None]
    for path, value in pairs:
        part: Any = value
        for key in reversed(path):
            part = {key: part}
        layer = settings.merge(layer, part)
    return settings.load(config, layer)


def _print_json(value: object) -> None:
    import msgspec

    print(msgspec.json.encode(value).decode(), flush=True)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question; - reads it from standard input.")],
    protocol: Annotated[str | None, typer.Option(help="How they argue (default: consensus).")] = None,
    evidence: Annotated[
        Path | None, typer.Option(help="Folder of documents; a subfolder named like a seat is its alone.")
    ] = None,
    sets: Sets = None,
    threshold: Annotated[
        float | None, typer.Option(help="Score from which they agree: above 0 to 100, or a share up to 1.")
    ] = None,
    max_rounds: Annotated[int | None, typer.Option(help="Rounds at most.")] = None,
    panel: Annotated[int | None, typer.Option(help="Panelists.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Tokens, input and output together.")] = None,
    budget_calls: Annotated[int | None, typer.Option(help="Model calls.")] = None,
    budget_usd: Annotated[float | None, typer.Option(help="US dollars.")] = None,
    budget_seconds: Annotated[float | None, typer.Option(help="Seconds for the whole session.")] = None,
    turn_timeout: Annotated[float | None, typer.Option(help="Seconds for one turn.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the order in which positions are shown.")] = None,
    json: Json = False,
    plain: Plain = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer alone.")] = False,
    ephemeral: Annotated[bool, typer.Option("--ephemeral", help="Keep nothing: state in a temporary folder.")] = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Ask one question, and watch them argue.

    Exit status: 0 it ended as its protocol means it to, 1 it failed, 2 bad input, 3 stopped by budget or cap, 130
    interrupted.

    \b
    Examples:
      parley ask "Which backup plan survives a fire?" --evidence docs/
      parley ask - --json < question.txt
      parley ask "..." --threshold 80 --max-rounds 3 --budget-seconds 60
      parley ask "..." --nats nats://bus:4222 --creds owner.json
    """
    with _errors(json):
        text = sys.stdin.read() if question == "-" else question
        own = {"threshold": threshold, "max_rounds": max_rounds, "panel": panel}
        settings = _settings(
            config, sets, protocol=protocol, turn_timeout_s=turn_timeout, seed=seed, state=state, nats__url=nats,
            nats__creds=creds, budget__tokens=budget_tokens, budget__calls=budget_calls, budget__cost_usd=budget_usd,
            budget__seconds=budget_seconds, **{f"{protocol or 'consensus'}__{k}": v for k, v in own.items()},
        )  # fmt: skip
        from parley import asking

        code, result = asking.ask_command(
            settings, text, evidence, json=json, quiet=quiet, plain=plain, ephemeral=ephemeral
        )
        if json and result is not None:
            _print_json(result)
    raise typer.Exit(code)


@app.command()
def up(
    protocol: Annotated[str | None, typer.Option(help="Whose seats are served (default: consensus).")] = None,
    panel: Annotated[int, typer.Option(help="Panelists.", min=2, max=16)] = 3,
    moderators: Annotated[int, typer.Option(help="Moderators.", min=1, max=16)] = 1,
    copies: Annotated[int, typer.Option(help="Copies of each agent.", min=1, max=64)] = 1,
    clients: Annotated[
        list[str] | None, typer.Option("--client", help="Further client credentials by name; repeatable.")
    ] = None,
    json: Json = False,
    state: State = None,
    config: Config = None,
) -> None:
    """Run the stack on this machine until it is interrupted, and print its addresses.

    \b
    Examples:
      parley up
      parley up --panel 5 --moderators 2 --copies 2 --state ./stack
    """
    with _errors(json):
        settings = _settings(config, protocol=protocol, state=state)
        from parley import commands

        code = commands.up(
            settings, moderators=moderators, size=panel, copies=copies, clients=tuple(clients or ("client",)), json=json
        )
    raise typer.Exit(code)


@app.command()
def moderator(
    token_key: Annotated[Path, typer.Option(help="The moderators' key.", envvar="PARLEY_TOKEN_KEY")],
    nats: Nats = None,
    creds: Creds = None,
    metrics_host: Host = "127.0.0.1",
    metrics_port: Port = 0,
    log_level: Level = "INFO",
    config: Config = None,
) -> None:
    """Run one moderator until SIGTERM.

    \b
    Example:
      parley moderator --nats nats://bus:4222 --creds moderator-1.json --token-key token.key --metrics-port 9100
    """
    with _errors():
        settings = _settings(config, nats__url=nats, nats__creds=creds)
        from parley import commands

        code = commands.moderator(
            settings, token_key=token_key, host=metrics_host, port=metrics_port, log_level=log_level
        )
    raise typer.Exit(code)


@app.command()
def agent(
    spec: Annotated[str, typer.Argument(help="An agent file, or a built-in name: panelist_1, analyst.")],
    nats: Nats = None,
    creds: Creds = None,
    metrics_host: Host = "127.0.0.1",
    metrics_port: Port = 0,
    log_level: Level = "INFO",
    config: Config = None,
) -> None:
    """Run one worker until SIGTERM; more copies of it share its queue.

    \b
    Examples:
      parley agent panelist_1 --nats nats://bus:4222 --creds panelist_1.json
      parley agent agents/storage.yaml --nats nats://bus:4222 --creds storage.json
    """
    with _errors():
        settings = _settings(config, nats__url=nats, nats__creds=creds)
        from parley import commands

        code = commands.agent(settings, spec, host=metrics_host, port=metrics_port, log_level=log_level)
    raise typer.Exit(code)


@sessions_app.command("list")
def sessions_list(
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=100_000)] = 50,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """The newest sessions.

    \b
    Example:
      parley sessions list --limit 10
    """
    with _errors(json):
        settings = _settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import commands, records

        rows = commands.list_sessions(settings, limit)
        if json:
            _print_json({"sessions": rows})
        else:
            commands.write_lines(records.sessions_table(rows), None)


@sessions_app.command("show")
def sessions_show(
    session: Subject,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Everything that was said in a session.

    \b
    Example:
      parley sessions show 1f2e3d4c5b6a79880716
    """
    with _errors(json):
        settings = _settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import commands, records

        found = commands.record(settings, session)
        if json:
            _print_json(records.document(found))
        else:
            commands.write_lines(records.show(found), None)


@sessions_app.command("watch")
def sessions_watch(
    session: Sid,
    json: Json = False,
    plain: Plain = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Follow a session to its end; with --json, print its result.

    \b
    Example:
      parley sessions watch 1f2e3d4c5b6a79880716 --nats nats://bus:4222 --creds owner.json
    """
    with _errors(json):
        settings = _settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import asking, commands

        result = commands.watch(settings, session, json=json, plain=plain)
        if json and result is not None:
            _print_json(result)
    raise typer.Exit(asking.INTERRUPTED if result is None else asking.exit_code(result))


@sessions_app.command("cancel")
def sessions_cancel(
    session: Sid,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """End a session before its protocol does.

    \b
    Example:
      parley sessions cancel 1f2e3d4c5b6a79880716 --reason "asked the wrong thing"
    """
    with _errors(json):
        settings = _settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import commands

        commands.cancel(settings, session, reason)
        if json:
            _print_json({"session": session, "cancelled": True})
        else:
            print(f"session {session} is cancelled")


@sessions_app.command("export")
def sessions_export(
    session: Subject,
    form: Annotated[str, typer.Option("--format", help="jsonl (log entries verbatim), json or markdown.")] = "jsonl",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File (default: standard output).")] = None,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """A session's log, to keep, to replay or to read.

    \b
    Examples:
      parley sessions export 1f2e3d4c5b6a79880716 -o session.jsonl
      parley sessions export session.jsonl --format markdown
    """
    with _errors():
        settings = _settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import commands

        commands.write_lines(commands.export(commands.record(settings, session), form), output)


@app.command()
def replay(
    session: Subject,
    sets: Sets = None,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Recompute a session from its events alone; with --set, say where it parts from the record.

    \b
    Examples:
      parley replay session.jsonl
      parley replay 1f2e3d4c5b6a79880716 --set consensus.threshold=0.7
    """
    with _errors(json):
        from parley import commands, records
        from parley.settings import parse_sets

        overrides = parse_sets(sets or [])
        settings = _settings(config, sets, state=state, nats__url=nats, nats__creds=creds)
        found = commands.record(settings, session)
        outcome = records.compare(found, overrides) if overrides else records.verify(found)
        if json:
            _print_json(outcome)
        elif overrides:
            commands.write_lines(records.comparison_words(outcome), None)
        else:
            print(f"session {outcome['session']}: {outcome['transitions']} transitions recompute to the same entries")


@app.command()
def explain(
    session: Subject,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Why a session stopped, in words and figures.

    \b
    Example:
      parley explain session.jsonl
    """
    with _errors(json):
        settings = _settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import commands
        from parley import explain as explaining

        found = commands.record(settings, session)
        if json:
            _print_json(explaining.figures(found))
        else:
            commands.write_lines(explaining.words(found), None)


@bus_app.command("config")
def bus_config(
    folder: Annotated[Path, typer.Option("--dir", help="Where to write; what is there already is kept.")],
    panel: Annotated[int, typer.Option(help="Panelists.", min=2, max=16)] = 3,
    moderators: Annotated[int, typer.Option(help="Moderators.", min=1, max=16)] = 1,
    clients: Annotated[
        list[str] | None, typer.Option("--client", help="Client credentials by name; repeatable.")
    ] = None,
    host: Annotated[str, typer.Option(help="Where the server listens.")] = "0.0.0.0",
    port: Annotated[int, typer.Option(help="On which port.", min=1, max=65_535)] = 4222,
    store: Annotated[
        str, typer.Option("--store-dir", help="JetStream's folder, as the server sees it.")
    ] = "/data/jetstream",
    json: Json = False,
) -> None:
    """Write a nats-server configuration and everybody's credentials (mode 600).

    \b
    Example:
      parley bus config --dir deploy/keys --panel 3 --moderators 2
    """
    with _errors(json):
        from parley import commands

        written = commands.bus_config(
            folder,
            size=panel,
            moderators=moderators,
            clients=tuple(clients or ("client",)),
            host=host,
            port=port,
            store=store,
        )
        if json:
            _print_json(written)
        else:
            commands.write_lines((f"{name:14} {path}" for name, path in written.items()), None)


@app.command()
def schema(
    name: Annotated[str | None, typer.Argument(help="One module's messages, such as consensus or log.")] = None,
) -> None:
    """JSON Schemas of all messages, as one JSON document.

    \b
    Example:
      parley schema result
    """
    with _errors():
        from parley import commands

        _print_json(commands.schema(name))


def main() -> None:
    """The entry point."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    app()
