"""The command line's `ask`: it parses, calls one function, prints."""

from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import (
    Config,
    Creds,
    Everything,
    HelpAll,
    Json,
    Nats,
    Plain,
    Quiet,
    Sets,
    State,
    Verbose,
    at_terminal,
)
from parley.cli.protocol_options import NOTHING, Flags, document_of, takes
from parley.client.show.printing import warn


@takes("options")
def ask(
    question: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUESTION", help="What is asked; - reads it from standard input. Leave it out with --topic."
        ),
    ] = None,
    given: Flags = NOTHING,
    sets: Sets = None,
    help_all: HelpAll = False,
    apply: Annotated[
        bool,
        typer.Option(
            "--apply", help="Write an approved change into --folder, if the folder has not changed meanwhile."
        ),
    ] = False,
    everything: Everything = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Start nothing. Print the turns, calls, tokens and money that the session may take."
        ),
    ] = False,
    json: Json = False,
    plain: Plain = False,
    verbose: Verbose = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nobody at this terminal: what a model proposes is taken.")
    ] = False,
    quiet: Quiet = False,
    open_: Annotated[
        bool, typer.Option("--open", help="Also show the session on a page in the browser, while this command runs.")
    ] = False,
    ephemeral: Annotated[
        bool, typer.Option("--ephemeral", help="Keep nothing: the state is in a temporary folder.")
    ] = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Ask one question and watch the agents argue.

    Exit status: 0 the session is settled or was played to its end; 1 it failed, or an approved change could not be
    applied; 2 the input is bad; 3 it ended and nothing is settled; 130 it was interrupted.

    What only some protocols take stands in the help of each: parley ask --protocol madp --help. The examples use such
    options too; parley ask --help-all explains every option.

    \b
    Examples:
      parley ask "Which backup plan survives a fire?" --evidence docs/
      parley ask "Rename the option" --folder . --apply
      parley ask "What did it cost?" --evidence report.pdf --evidence 'notes/*.md'
      parley ask - --json < question.txt
      parley ask "..." --threshold 80 --round-limit 3 --budget-seconds 60
      parley ask "..." --panel-file panel.yaml --budget-usd 0.50 --dry-run
      parley ask "..." --from team.yaml --panel auto --dry-run
      parley ask "..." --open
      {examples}
      parley ask "And at night?" --continue 1f2e3d4c5b6a79880716
      parley ask "..." --nats nats://bus:4222 --creds owner.json
    """
    with options.errors(json, _name_servers):
        options.apart(json=json, quiet=quiet)
        options.apart(quiet=quiet, verbose=verbose)
        options.apart(ephemeral=ephemeral, state=state)
        options.apart(dry_run=dry_run, open=open_)
        from parley.applying import Into
        from parley.client.errors import BadInput
        from parley.client.opening import spelling
        from parley.planned.plan import plan_of
        from parley.question import ask_question
        from parley.run import Run
        from parley.settings import parse_sets

        with spelling("ask", "", given):
            text, document, notes = document_of(question, given, parse_sets(sets or []))
        panel_file, team = document.pop("panel_file", None), document.pop("team", None)
        options.apart(**{"panel_file": panel_file, "from": team})
        settings = options.settings(
            config, sets, state=state, nats__url=nats, nats__creds=creds, protocol=document.get("protocol"),
            panel_file=panel_file or team, experts=document.pop("experts", None),
            stack__humans=document.get("humans"),
        )  # fmt: skip
        plan = plan_of(settings)
        if team and plan.file is not None and not plan.file.team:
            raise BadInput("--from", f"{team} seats its members itself; a team has `members` in place of `seats`")
        run = Run(
            plan=plan, json=json, quiet=quiet, plain=plain, verbose=verbose or everything,
            everything=everything, page=open_, dry=dry_run, ephemeral=ephemeral,
            person=not (yes or json or quiet) and at_terminal(), into=Into(apply=apply),
        )  # fmt: skip
        code, found = ask_question(run, text, document, given)
        if json and found is not None:
            options.print_json(options.with_more(found, {"cleaned": notes} if notes else {}))
    raise typer.Exit(code)


def _name_servers(why: str) -> None:
    """Where a language model is missing, say which server of this machine has one, or where none was found."""
    from parley.coordinator.admission import SET_A_MODEL

    if SET_A_MODEL in why:
        import asyncio

        from parley import next_steps

        for told in next_steps.server_words(asyncio.run(next_steps.servers())):
            warn(f"parley: {told}")
