"""The command line: each command parses, calls one function, prints."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parley import process
from parley.cli import audit, experts, learned, people, serve, services, session_records, sessions
from parley.cli.ask import ask
from parley.cli.ask_help import AskCommand
from parley.cli.bus import app as bus_app
from parley.cli.options import BUS, Answer, Json, command
from parley.cli.protocol_options import ProtocolCommand, ProtocolGroup
from parley.client.show.printing import say, terminal_width
from parley.client.text import line

if TYPE_CHECKING:
    from parley.settings import Settings

app = typer.Typer(
    cls=ProtocolGroup,
    name="parley",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Several agents, each its own process, argue over a question on a NATS bus.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

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


app.add_typer(sessions.app, name="sessions")
app.add_typer(bus_app, name="bus")
app.add_typer(people.app, name="inbox")
app.add_typer(experts.app, name="experts")
app.add_typer(experts.strategies, name="strategies")
app.add_typer(learned.reliability, name="reliability")
app.add_typer(learned.preferences, name="preferences")
app.add_typer(learned.thresholds, name="thresholds")
app.command("ask", cls=AskCommand)(ask)
app.command("up", cls=ProtocolCommand, context_settings={"allow_extra_args": True})(services.up)
command(app, "sit", BUS.replace("json ", ""))(people.sit)
command(app, "replay")(session_records.replay)
command(app, "explain")(session_records.explain)
command(app, "feedback")(session_records.feedback)
command(app, "fork", f"panel_file budget_tokens budget_calls budget_usd budget_seconds {BUS}")(session_records.fork)
command(app, "audit")(audit.audit)
command(app, "route", "json")(experts.route)
command(app, "serve", serve.SERVED)(serve.serve)
command(app, "mcp", serve.SERVED)(serve.mcp)
command(app, "acp", serve.SERVED)(serve.acp)
command(app, "demo", "")(serve.demo)
command(app, "moderator", f"log_max_age {services.SERVICE}")(services.moderator)
command(app, "agent", f"tools {services.SERVICE}")(services.agent)
command(app, "metrics", services.SERVICE)(services.metrics)


@command(app, "schema", "")
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
    from parley.cli.options import print_json
    from parley.client.errors import BadInput
    from parley.schemas.export import documents

    everything = documents()
    if name is not None and name not in everything:
        raise BadInput("schema", f"got {name!r}, known: {', '.join(everything)}")
    print_json(everything[name] if name else everything)


@command(app, "doctor", f"protocol panel_file {BUS}")
def doctor(
    settings: "Settings",
    probe: Annotated[
        bool, typer.Option("--probe", help="Ask every model for a few tokens, also models that cost money.")
    ] = False,
) -> Answer:
    """Show what works and what is missing.

    It looks at the bus, the credentials, the living workers and the models.

    Exit status: 0 everything that is needed is there, 1 something is missing.

    \b
    Examples:
      parley doctor
      parley doctor --panel-file panel.yaml --probe --json
    """
    from parley.doctor import checks, screen
    from parley.planned.access import run
    from parley.planned.plan import plan_of

    report = run(checks.examine(plan_of(settings).of_a_question(), probe=probe))
    return Answer(report, screen.report_lines(report, terminal_width()), 0 if report.ok else 1)


@command(app, "init", "")
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder (default: here).")] = Path(),
    json: Json = False,
) -> Answer:
    """Create the first files of a project in a folder.

    The files are .env, panel.yaml, parley.yaml, and an example with documents. Nothing is overwritten. A server of
    models on this machine is looked for at the usual ports. In a terminal, you are asked whether the agents use it.

    \b
    Example:
      parley init myquestions
    """
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
    rows = {"wrote": written, "model": [".env names it"] if used else told, "next": steps}
    lines = [f"{what:5}  {text}" for what, texts in rows.items() for text in texts]
    return Answer({"written": written, "next": steps, "local_servers": told}, lines)


def main() -> None:
    """The entry point."""
    process.main(app)
