"""The command line's `experts` group: each command parses, calls one function, prints."""

from pathlib import Path
from typing import Annotated

import typer

from parley.cli import options
from parley.cli.learned.memory import app as memory_app
from parley.cli.options import CommandGroup, Config, Creds, Json, Nats, State
from parley.client.show.printing import say_all

app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, rich_markup_mode=None, help="Check, enroll and list experts of tasks."
)
app.add_typer(memory_app, name="memory")

Keys = Annotated[
    Path | None, typer.Option("--dir", help="Folder of parley bus config (default: the embedded stack's own keys).")
]
Specs = Annotated[list[Path], typer.Argument(metavar="SPEC...", help="Specifications of experts (YAML or Markdown).")]
Given = Annotated[list[Path], typer.Argument(metavar="SPEC|DIR...", help="Specifications, or folders of them.")]


@app.command("enroll")
def experts_enroll(
    specs: Specs,
    folder: Keys = None,
    nats: Annotated[
        str | None, typer.Option("--nats", help="With --dir: the running bus, to read its configuration again.")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Enroll it even if another specification has its id. That one's worker ends."),
    ] = False,
    state: State = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Add experts to the bus, without starting them.

    Each gets a queue and a key of its own, pinned to its specification. parley agent starts one, beside parley up.

    \b
    Example:
      parley experts enroll gardener.yaml --dir deploy/keys --nats nats://127.0.0.1:4222
    """
    with options.errors(json):
        options.apart(dir=folder, state=state)
        settings = options.settings(config, state=state)
        from parley.bus_admin import enrol

        done = enrol.enroll(folder or enrol.keys_of(settings), specs, nats, replace=replace)
        if json:
            options.print_json(done)
        else:
            say_all(enrol.enroll_words(done))


@app.command("list")
def experts_list(
    folder: Keys = None,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List experts that run, and those that are only enrolled.

    An expert runs if the moderators hear from it.

    \b
    Example:
      parley experts list --json
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley.bus_admin import enrol

        rows = enrol.listed(settings, folder)
        if json:
            options.print_json({"experts": rows})
        else:
            say_all(enrol.list_words(rows))


@app.command("check")
def experts_check(paths: Given, json: Json = False) -> None:
    """Check specifications before anything runs with them.

    Exit status: 2 one cannot be used.

    \b
    Example:
      parley experts check agents/experts my-experts/gardener.yaml
    """
    with options.errors(json):
        from parley.bus_admin import expert_files

        report = expert_files.check(paths)
        if json:
            options.print_json(report)
        else:
            say_all(expert_files.check_words(report))
        if not report["ok"]:
            raise typer.Exit(2)
