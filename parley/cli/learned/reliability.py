"""The command line's `reliability`: each command parses, calls one function, prints."""

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
    help="Show how reliable members were in past sessions.",
)


@app.command("list")
def list_(
    kind: Annotated[
        str | None, typer.Option(metavar="WORD", help="Show only records of this kind of question.")
    ] = None,
    file: LearnedFile = None,
    json: Json = False,
    nats: Nats = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Show the record of each model and seat.

    An older answer counts less. The interval is the 95 % credible interval of the reliability.

    \b
    Examples:
      parley reliability list
      parley reliability list --kind law --json
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, learned__file=file)
        from parley.learned import learning

        records = learning.listed(settings, kind or "")
        if json:
            import msgspec

            options.print_json({**msgspec.to_builtins(records), "used": settings.learned.reliability})
        else:
            known = learning.kinds(settings) if kind else ()
            say_all(learning.table_words(records, settings.learned.reliability, kind or "", known))


@app.command()
def learn(
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Also learn from this file of known answers, {"question", "model", "right"} on each line.',
        ),
    ] = None,
    file: LearnedFile = None,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Update the records from the feedback on stored sessions.

    Sessions that open afterwards use them. An open session keeps the records that it was opened with.

    \b
    Examples:
      parley reliability learn
      parley reliability learn --known answers.jsonl
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds, learned__file=file)
        from parley.learned import learning

        report = learning.learn(settings, known)
        if json:
            options.print_json(report)
        else:
            say_all(learning.learned_words(report))
