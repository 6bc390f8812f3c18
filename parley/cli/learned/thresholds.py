"""The command line's `thresholds`: each command parses, calls one function, prints."""

from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import CommandGroup, Config, Json, LearnedFile, Nats, State
from parley.client.show.printing import say_all

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Learn a panel's threshold, round limit and quorum from feedback.",
)

Kind = Annotated[
    str | None, typer.Option(metavar="WORD", help="Kind of question (default: all questions for `show`; none named).")
]


@app.command()
def show(
    kind: Kind = None,
    file: LearnedFile = None,
    json: Json = False,
    nats: Nats = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Show which settings the feedback speaks for, and how they did where they were not chosen.

    Other settings are tried on what past sessions recorded, without a call. Half of the sessions choose, the other half
    compares with the defaults. `parley reliability learn` reads new feedback first.

    \b
    Examples:
      parley thresholds show
      parley thresholds show --kind law --json
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, learned__file=file)
        from parley.learned import thresholds

        found, applied = thresholds.thresholds_of(settings, kind or "")
        if json:
            options.print_json({"found": found, "holds": found.holds, "applied": applied})
        else:
            say_all(thresholds.words(found, applied))


@app.command("apply")
def apply_(
    kind: Kind = None,
    defaults: Annotated[bool, typer.Option("--defaults", help="Go back to the defaults.")] = False,
    file: LearnedFile = None,
    json: Json = False,
    nats: Nats = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Let new sessions of a kind of question open with what `show` found.

    Settings that are named for a session, or in the settings file, go before them. An open session keeps its own.

    \b
    Examples:
      parley thresholds apply --kind law
      parley thresholds apply --kind law --defaults
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, learned__file=file)
        from parley.learned import thresholds

        applied = None
        if defaults:
            thresholds.undo(settings, kind or "")
        else:
            applied = thresholds.apply(settings, kind or "")
        if json:
            options.print_json({"applied": applied})
        else:
            say_all(thresholds.applied_words(applied, kind or ""))
