"""The command line's `preferences`: each command parses, calls one function, prints."""

from pathlib import Path
from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import CommandGroup, Config, Creds, Json, LearnedFile, Nats, State
from parley.client.show.printing import say_all

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show and forget what your choices in past tasks teach later ones.",
)

Folder = Annotated[Path | None, typer.Option("--folder", metavar="DIR", help="Only tasks of this folder.")]


@app.command("list")
def list_(
    folder: Folder = None,
    file: LearnedFile = None,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Show what past tasks teach: who was chosen, which depth, and what became of the result.

    \b
    Examples:
      parley preferences list
      parley preferences list --folder . --json
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds, learned__file=file)
        from parley.learned import preferences

        found = preferences.known(settings, folder)
        if json:
            rows = [preferences.row(one) for one in found]
            options.print_json({"lessons": rows, "used": settings.learned.preferences})
        else:
            say_all(preferences.words(found, settings.learned.preferences))


@app.command()
def forget(
    sessions: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Sessions, as the list has them.")
    ] = None,
    folder: Folder = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything that was learned of tasks.")] = False,
    file: LearnedFile = None,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Forget what sessions taught. Later tasks are routed as if these had not been. The sessions stay.

    \b
    Examples:
      parley preferences forget 3f9c2a --state .parley
      parley preferences forget --folder .
      parley preferences forget --all
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds, learned__file=file)
        from parley.client.text import count
        from parley.learned import preferences

        gone = preferences.forget(settings, sessions or (), folder, everything=everything)
        if json:
            options.print_json({"forgotten": gone})
        else:
            say_all([f"forgotten: what {count(len(gone), 'task')} taught"])


@app.command()
def export(
    folder: Folder = None,
    file: LearnedFile = None,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Print all that is kept of past tasks as JSON, one on each line.

    \b
    Examples:
      parley preferences export > preferences.jsonl
      parley preferences export --folder .
    """
    with options.errors():
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds, learned__file=file)
        from parley.learned import preferences

        for one in preferences.known(settings, folder, everything=True):
            options.print_json(preferences.row(one))
