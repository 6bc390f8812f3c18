"""The command line: each command parses, calls one function, prints."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from parley import process
from parley.cli import completing, options
from parley.cli.ask import ask
from parley.cli.ask_help import AskCommand
from parley.cli.bus import app as bus_app
from parley.cli.experts import app as experts_app
from parley.cli.feedback import feedback
from parley.cli.fork import fork
from parley.cli.inbox import app as inbox_app
from parley.cli.learned.preferences import app as preferences_app
from parley.cli.learned.reliability import app as reliability_app
from parley.cli.learned.thresholds import app as thresholds_app
from parley.cli.metrics import metrics
from parley.cli.options import (
    Config,
    Creds,
    Experts,
    Host,
    Humans,
    Json,
    Level,
    LogMaxAge,
    Nats,
    PanelFile,
    Port,
    Protocol,
    ServedProtocol,
    ServiceNats,
    Sets,
    Sid,
    State,
    Subject,
    Tools,
)
from parley.cli.programs.acp import acp
from parley.cli.programs.audit import audit
from parley.cli.programs.demo import demo
from parley.cli.programs.mcp import mcp
from parley.cli.programs.serve import serve
from parley.cli.programs.strategies import app as strategies_app
from parley.cli.protocol_options import (
    NOTHING,
    Flags,
    ProtocolCommand,
    ProtocolGroup,
    by_protocol,
    settings_of,
    takes,
)
from parley.cli.route import route
from parley.cli.sessions import app as sessions_app
from parley.client.show.printing import give, say, say_all, terminal_width, warn
from parley.client.text import line

app = typer.Typer(
    cls=ProtocolGroup,
    name="parley",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    help="Several agents, each its own process, argue over a question on a NATS bus.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata
        from pathlib import Path

        from parley.stack.beginning import commit_of

        try:
            commit = commit_of(Path(__file__).resolve().parents[1])
            say(f"parley {metadata.version('parley')}" + (f" ({commit})" if commit else ""))
        except metadata.PackageNotFoundError:
            say("parley, run from its source, not installed")
        raise typer.Exit


@app.callback()
def everything(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Several agents, each its own process, argue over a question on a NATS bus."""


app.add_typer(sessions_app, name="sessions")
app.add_typer(bus_app, name="bus")
app.add_typer(inbox_app, name="inbox")
app.add_typer(experts_app, name="experts")
app.add_typer(strategies_app, name="strategies")
app.add_typer(reliability_app, name="reliability")
app.add_typer(preferences_app, name="preferences")
app.add_typer(thresholds_app, name="thresholds")
app.command("route")(route)
app.command("metrics")(metrics)
app.command("serve")(serve)
app.command("demo")(demo)
app.command("feedback")(feedback)
app.command("fork")(fork)
app.command("mcp")(mcp)
app.command("acp")(acp)
app.command("audit")(audit)
app.command("ask", cls=AskCommand)(ask)


@app.command(cls=ProtocolCommand, context_settings={"allow_extra_args": True})
@takes("stack_options")
def up(
    context: typer.Context,
    protocol: ServedProtocol = None,
    panel_file: PanelFile = None,
    experts: Experts = None,
    given: Flags = NOTHING,
    moderators: Annotated[int | None, typer.Option(help="Moderators (default: 1).", min=1, max=16)] = None,
    copies: Annotated[int | None, typer.Option(help="Copies of each agent (default: 1).", min=1, max=64)] = None,
    cluster: Annotated[
        int | None,
        typer.Option(metavar="3|5", help="Number of servers of the bus. It goes on if one of several is lost."),
    ] = None,
    clients: Annotated[
        list[str] | None, typer.Option("--client", help="Name of a further client that gets credentials; repeatable.")
    ] = None,
    humans: Humans = None,
    free: Annotated[
        list[str] | None,
        typer.Option(
            "--free", metavar="QUEUE", help="Start no agent for this queue, because you run it yourself; repeatable."
        ),
    ] = None,
    log_max_age: LogMaxAge = None,
    sets: Sets = None,
    json: Json = False,
    state: State = None,
    config: Config = None,
) -> None:
    """Run the stack on this machine until it is interrupted.

    It prints its addresses. Without --protocol it serves every protocol.

    \b
    Examples:
      parley up
      parley up --panel-file panel.yaml
      parley up --panel 5 --moderators 2 --copies 2 --state ./stack
      parley up --protocol consensus --free panelist_1
    """
    with options.errors(json):
        options.check_cluster(cluster)
        settings = options.settings(
            config, sets, protocol=protocol, state=state, panel_file=panel_file, experts=experts,
            retention__log_days=log_max_age,
            stack__moderators=moderators, stack__copies=copies, stack__servers=cluster, stack__humans=humans,
            stack__free=free,
        )  # fmt: skip
        from parley.client.opening import own_settings, spelling
        from parley.planned import foreground
        from parley.planned.plan import plan_of

        for name, section in by_protocol("stack_options", given).items():
            settings = settings.over(name, section)
        plan = plan_of(settings).of_every_protocol()
        if not plan.every:
            with spelling("ask", plan.protocol, given):
                own_settings(plan.protocol, settings_of("stack_options", given))
        foreground.check_none(plan, context.args)
        raise typer.Exit(foreground.up(plan, clients=tuple(clients or ("client",)), json=json))


@app.command()
def sit(
    session: Sid,
    seat: Annotated[str, typer.Argument(metavar="SEAT", help="The seat, such as pro_2 or panelist_1.")],
    seconds: Annotated[float, typer.Option(help="Seconds for each of your turns, 1 to 86,400.")] = 300.0,
    then: Annotated[
        str,
        typer.Option(
            metavar="agent|miss|wait",
            help="When that time is over, the agent takes the seat, the turn is missed, or everybody waits.",
        ),
    ] = "agent",
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Take a seat of a running session.

    Its turns come to this terminal, and each has a time limit. Ctrl-C gives the seat back to its agent.
    Exit status: 0 the session is over or you left, 3 your time was over and the agent took the seat back.

    \b
    Examples:
      parley sit 1f2e3d4c5b6a79880716 pro_2
      parley sit 1f2e3d4c5b6a79880716 pro_2 --seconds 600 --then wait
      parley sit 1f2e3d4c5b6a79880716 pro_2 --nats nats://bus:4222 --creds pro_2_human.json
    """
    with options.errors():
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import human_seat

        code = human_seat.sit(settings, session, seat, seconds=seconds, then=then)
    raise typer.Exit(code)


@app.command()
def moderator(
    token_key: Annotated[Path, typer.Option(help="The moderators' key.", envvar="PARLEY_TOKEN_KEY")],
    nats: ServiceNats = None,
    creds: Creds = None,
    log_max_age: LogMaxAge = None,
    notify_url: Annotated[
        str | None, typer.Option(help="Webhook that is called when a person is needed.", envvar="PARLEY_NOTIFY_URL")
    ] = None,
    queue: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A queue to create before its first worker starts; repeatable."),
    ] = None,
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
    with options.errors():
        settings = options.settings(
            config, nats__url=nats, nats__creds=creds, retention__log_days=log_max_age, notify__webhook=notify_url
        )
        from parley.planned import foreground

        code = foreground.moderator(
            settings,
            token_key=token_key,
            queues=queue or (),
            host=metrics_host,
            port=metrics_port,
            log_level=log_level,
        )
    raise typer.Exit(code)


@app.command()
def agent(
    spec: Annotated[
        str,
        typer.Argument(help="An agent file, a built-in name (panelist_1), or a function (my_module:answer)."),
    ],
    queue: Annotated[str, typer.Option(help="Which queue a function serves, such as panelist_1.")] = "",
    nats: ServiceNats = None,
    creds: Creds = None,
    room: Annotated[
        int | None,
        typer.Option(help="Turns that it serves at once (default: as its specification says).", min=1, max=10_000),
    ] = None,
    drain: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="Seconds that a turn under way has to finish after SIGTERM. What is left is given back to the queue.",
            min=0,
            max=86_400,
        ),
    ] = 20.0,
    metrics_host: Host = "127.0.0.1",
    metrics_port: Port = 0,
    log_level: Level = "INFO",
    tools: Tools = None,
    config: Config = None,
) -> None:
    """Run one worker until SIGTERM.

    More copies of it share its queue.

    \b
    Examples:
      parley agent panelist_1 --nats nats://bus:4222 --creds panelist_1.json
      parley agent agents/storage.yaml --nats nats://bus:4222 --creds storage.json
      parley agent my_module:answer --queue panelist_2 --nats nats://bus:4222 --creds panelist_2.json
    """
    with options.errors():
        settings = options.settings(config, nats__url=nats, nats__creds=creds, tools=tools)
        from parley.planned import foreground

        code = foreground.agent(
            settings, spec, queue=queue, room=room, drain_s=drain, host=metrics_host, port=metrics_port,
            log_level=log_level,
        )  # fmt: skip
    raise typer.Exit(code)


@app.command()
def replay(
    session: Subject,
    sets: Sets = None,
    constants: Annotated[
        Path | None,
        typer.Option("--constants", metavar="FILE", help="Constants of the session's protocol (YAML or JSON)."),
    ] = None,
    decide: Annotated[
        str, typer.Option("--decide", metavar="RULE", help="Count its ballots by this rule. No model is asked.")
    ] = "",
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Recompute a session from its events alone.

    With --set or --constants, show at which event the new run first differs from the record. With --decide, count the
    recorded ballots anew.

    \b
    Examples:
      parley replay session.jsonl
      parley replay 1f2e3d4c5b6a79880716 --set consensus.threshold=70
      parley replay 1f2e3d4c5b6a79880716 --constants dials.yaml
      parley replay 1f2e3d4c5b6a79880716 --decide borda
    """
    with options.errors(json):
        from parley import sessions
        from parley.client import what_if
        from parley.client.errors import BadInput
        from parley.settings import parse_sets

        overrides = parse_sets(sets or [])
        numbers = what_if.read_constants(constants) if constants else {}
        settings = options.settings(config, sets, state=state, nats__url=nats, nats__creds=creds)
        record = sessions.record(settings, session)
        differs = bool(overrides or numbers)
        if decide and differs:
            raise BadInput("--decide", "it counts what was recorded: leave --set and --constants out")
        if decide:
            outcome = what_if.recount(record, decide)
        else:
            outcome = what_if.compare(record, overrides, numbers) if differs else what_if.verify(record)
        if json:
            options.print_json(outcome)
        elif decide:
            say_all(outcome["words"])
        elif differs:
            say_all(what_if.comparison_words(outcome))
        else:
            say(what_if.replayed_words(outcome))


@app.command()
def explain(
    session: Subject,
    part: Annotated[
        str, typer.Argument(help="Only this part of what stands behind the answer, such as rounds, or all.")
    ] = "",
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Also draw the session's signals or scores into this file (.png or .svg)."),
    ] = None,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Explain why a session stopped, on one screen. It names the parts that you can open.

    \b
    Examples:
      parley explain session.jsonl
      parley explain session.jsonl posts
      parley explain session.jsonl --plot signals.svg
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import sessions
        from parley.client.rendering import documents, explain

        record, drawn = sessions.explained(settings, session, plot)
        if drawn:
            warn(f"parley: wrote {drawn}")
        if json:
            options.print_json(documents.document(record, posts=False))
        else:
            say_all(explain.words(record, part), terminal_width())


@app.command()
def schema(
    name: Annotated[
        str | None, typer.Argument(help="Print only the messages of this module, such as consensus or log.")
    ] = None,
) -> None:
    """Print the JSON Schemas of all messages, as one JSON document.

    \b
    Example:
      parley schema result
    """
    with options.errors():
        from parley.cli import message_schemas

        options.print_json(message_schemas.schema(name))


@app.command()
def doctor(
    probe: Annotated[
        bool, typer.Option("--probe", help="Ask every model for a few tokens, also models that cost money.")
    ] = False,
    protocol: Protocol = None,
    panel_file: PanelFile = None,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Show what works and what is missing.

    It looks at the bus, the credentials, the living workers and the models.

    Exit status: 0 everything that is needed is there, 1 something is missing.

    \b
    Examples:
      parley doctor
      parley doctor --panel-file panel.yaml --probe --json
    """
    with options.errors(json):
        settings = options.settings(
            config, protocol=protocol, state=state, nats__url=nats, nats__creds=creds, panel_file=panel_file
        )
        from parley.doctor import checks, screen
        from parley.planned.access import run
        from parley.planned.plan import plan_of

        report = run(checks.examine(plan_of(settings).of_a_question(), probe=probe))
        if json:
            options.print_json(report)
        else:
            say_all(screen.words(report, terminal_width()))
    raise typer.Exit(0 if report.ok else 1)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder (default: here).")] = Path(),
    json: Json = False,
) -> None:
    """Create the first files of a project in a folder.

    The files are .env, panel.yaml, parley.yaml, and an example with documents. Nothing is overwritten. A server of
    models on this machine is looked for at the usual ports. In a terminal, you are asked whether the agents use it.

    \b
    Example:
      parley init myquestions
    """
    with options.errors(json):
        from parley import next_steps
        from parley.cli import init_folder
        from parley.planned.access import run

        found = run(next_steps.servers())
        server = next((one for one in found if one.model), None)
        told = next_steps.server_words(found)
        used = False
        if server is not None and not json and sys.stdin.isatty():
            used = typer.confirm(f"{server.name} at {server.base_url} has {line(server.model)}. Use it?", default=True)
        written = [str(path) for path in init_folder.write(folder, server, used=used)]
        steps = init_folder.next_steps(folder)
        if json:
            options.print_json({"written": written, "next": steps, "local_servers": told})
        else:
            said = [".env names it"] if used else told
            say_all(
                [
                    *(f"wrote  {path}" for path in written),
                    *(f"model  {text}" for text in said),
                    *(f"next   {text}" for text in steps),
                ]
            )


@app.command()
def completion(shell: Annotated[completing.Shell, typer.Argument(help="Which shell.")]) -> None:
    """Print a script for the shell that completes what you type.

    It completes commands, options, protocols and sessions.

    \b
    Examples:
      parley completion bash >> ~/.bashrc
      parley completion zsh >> ~/.zshrc
      parley completion fish > ~/.config/fish/completions/parley.fish
    """
    give(completing.script(shell))


def main() -> None:
    """The entry point."""
    if "_PARLEY_COMPLETE" in os.environ:
        completing.ready()
    process.main(app)
