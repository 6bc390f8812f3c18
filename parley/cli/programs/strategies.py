"""The command line's `strategies` group: each command parses, calls one function, prints."""

from pathlib import Path
from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import CommandGroup, Json
from parley.client.show.printing import say_all

app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, rich_markup_mode=None, help="Show the strategies that panelists work by."
)

Folder = Annotated[
    Path | None, typer.Option("--strategies", metavar="DIR", help="Folder of strategies beside those that ship.")
]


@app.command("list")
def strategies_list(folder: Folder = None, json: Json = False) -> None:
    """List the strategies by which a panelist may work, with the styles that deal them.

    \b
    Example:
      parley strategies list
    """
    with options.errors(json):
        from parley.client.setup import strategies

        rows = strategies.table(folder)
        if json:
            options.print_json({"strategies": [{**strategies.fields(s), "source": of} for s, of in rows.values()]})
        else:
            say_all(strategies.list_words(rows))


@app.command("show")
def strategies_show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A strategy, such as base-rates.")],
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Show what a strategy tells a panelist.

    \b
    Example:
      parley strategies show base-rates
    """
    with options.errors(json):
        from parley.client.setup import strategies

        strategy, source = strategies.strategy_named(name, folder)
        if json:
            options.print_json({**strategies.fields(strategy), "source": source})
        else:
            say_all(strategies.show_words(strategy))
