"""The command line's `experts memory`: each command parses, calls one function, prints."""

from pathlib import Path
from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import CommandGroup, Config, Creds, Json, Nats, State
from parley.client.show.printing import say, say_all

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show, change and forget what experts remember of accepted tasks.",
)

NoteId = Annotated[str, typer.Argument(metavar="NOTE", help="The note, as the list names it: SESSION.NUMBER.")]


@app.command("list")
def list_(
    folder: Annotated[Path, typer.Option("--folder", metavar="DIR", help="The folder (default: this one).")] = Path(),
    everything: Annotated[bool, typer.Option("--all", help="List the notes of every folder.")] = False,
    task: Annotated[
        str | None, typer.Option("--for", metavar="TASK", help="List only what experts would see with this task.")
    ] = None,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """List the notes of a folder.

    A note that is marked as resting is not used: its file or line is gone, or a newer note is about its subject.

    \b
    Examples:
      parley experts memory list
      parley experts memory list --for "add a discount to invoices" --json
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley.learned import remembered

        found = remembered.listed(settings, None if everything else folder, task)
        if json:
            options.print_json({"notes": found})
        else:
            say_all(remembered.list_words(found))


@app.command()
def edit(
    note: NoteId,
    text: Annotated[str, typer.Argument(help="The new words, at most 300 characters.")],
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Give a note other words.

    \b
    Example:
      parley experts memory edit 1f2e3d4c5b6a79880716.2 "Amounts are integers of cents, never floats."
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley.learned import remembered

        was = remembered.change(settings, note, text)
        if json:
            options.print_json({"note": note, "text": text, "was": was.text})
        else:
            say(f"note {note} is changed; later tasks see the new words")


@app.command()
def forget(
    note: NoteId,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Forget a note: no later task sees it.

    Its words stay in the record of its session until that is erased (parley sessions erase).

    \b
    Example:
      parley experts memory forget 1f2e3d4c5b6a79880716.2
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley.learned import remembered

        was = remembered.change(settings, note, None)
        if json:
            options.print_json({"note": note, "was": was.text})
        else:
            say(f"note {note} is forgotten; its words stay in session {was.session} until that is erased")
