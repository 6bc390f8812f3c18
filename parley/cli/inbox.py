"""The command line's `inbox` group: each command parses, calls one function, prints."""

from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import CommandGroup, Config, Creds, Json, Nats, Sid, State
from parley.client.show.printing import say_all

app = typer.Typer(
    cls=CommandGroup,
    invoke_without_command=True,
    rich_markup_mode=None,
    help="List and answer questions of tasks that wait for a human.",
)


@app.callback()
def inbox(
    ctx: typer.Context,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="Only questions of this session (default: of all; owners only)."),
    ] = None,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Questions of tasks that wait for a human, the most urgent first.

    \b
    Examples:
      parley inbox
      parley inbox --session 1f2e3d4c5b6a79880716 --json
    """
    if ctx.invoked_subcommand is not None:
        return
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import inbox as items
        from parley.planned.access import bus_options

        waiting = items.of(settings, session or "")
        if json:
            options.print_json({"items": waiting})
        else:
            say_all(items.words(waiting, bus_options(settings)))


@app.command("answer")
def inbox_answer(
    session: Sid,
    item: Annotated[
        str, typer.Argument(metavar="ITEM", help="The number of the question, or the word expert to change who leads.")
    ],
    choice: Annotated[str, typer.Argument(metavar="CHOICE", help="One of its choices, free text, or an expert's id.")],
    note: Annotated[str, typer.Option(help="A comment on the choice.")] = "",
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Answer a question of a task, or change who leads it.

    \b
    Examples:
      parley inbox answer 1f2e3d4c5b6a79880716 1 revise --note "name the limit"
      parley inbox answer 1f2e3d4c5b6a79880716 expert database-engineer
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import inbox as items

        items.decide(settings, session, item, choice, note)
        if json:
            options.print_json({"session": session, "item": item, "choice": choice, "taken": True})
        else:
            items.print_answered(session, item, choice)
