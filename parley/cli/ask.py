"""The command line's `ask`: it parses, calls one function, prints."""

from pathlib import Path
from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import (
    Config,
    Creds,
    Everything,
    Humans,
    Json,
    Nats,
    PanelFile,
    Plain,
    Protocol,
    Rules,
    Sets,
    State,
    WaitForHuman,
)


def ask(
    question: Annotated[
        str | None, typer.Argument(help="The question; - reads it from standard input. A --topic has one.")
    ] = None,
    protocol: Protocol = None,
    evidence: Annotated[
        Path | None, typer.Option(help="Folder of documents; a subfolder named like a seat is its alone.")
    ] = None,
    panel_file: PanelFile = None,
    continues: Annotated[
        str | None, typer.Option("--continue", metavar="ID", help="A finished session that this question follows up.")
    ] = None,
    sets: Sets = None,
    threshold: Annotated[
        float | None, typer.Option(help="Score from which they agree: above 0 to 100, or a share up to 1.")
    ] = None,
    round_limit: Annotated[int | None, typer.Option(help="Rounds at most.")] = None,
    max_rounds: Annotated[int | None, typer.Option(hidden=True, help="The former name of --round-limit.")] = None,
    panel: Annotated[int | None, typer.Option(help="Panelists.")] = None,
    debaters: Annotated[int | None, typer.Option(help="Debaters of maci.")] = None,
    outcomes: Annotated[
        str | None,
        typer.Option(help="What maci's answer may be: a file with one a line, or 'a, b, c' (default: they propose)."),
    ] = None,
    ordered: Annotated[bool, typer.Option("--ordered", help="The outcomes stand on a scale, in this order.")] = False,
    close_the_loop: Annotated[
        bool, typer.Option("--close-the-loop", help="maci: run the plan's queries on the evidence after each round.")
    ] = False,
    format_: Rules = None,
    topic: Annotated[
        str | None,
        typer.Option(metavar="FILE#NAME", help="competition: a motion with stances and evidence from a file."),
    ] = None,
    topics: Annotated[Path | None, typer.Option(help="The file of --topic, where it gives the name alone.")] = None,
    styles: Annotated[
        list[str] | None, typer.Option("--style", metavar="SEAT=NAME", help="A debater's personality; repeatable.")
    ] = None,
    personalities: Annotated[Path | None, typer.Option(help="A file of personalities of your own.")] = None,
    expert: Annotated[
        str | None, typer.Option(metavar="ID", help="madp: who leads, whatever intake finds; counted as an override.")
    ] = None,
    files: Annotated[
        list[str] | None, typer.Option("--files", metavar="NAME", help="madp: a file that it is about; repeatable.")
    ] = None,
    file: Annotated[list[str] | None, typer.Option("--file", hidden=True, help="The same as --files.")] = None,
    snippets: Annotated[
        list[Path] | None, typer.Option("--snippet", metavar="FILE", help="madp: code to look at; repeatable.")
    ] = None,
    conversation: Annotated[
        Path | None, typer.Option(metavar="FILE", help="madp: what was said before, JSON lines of role and text.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="madp: the folder that is worked on, a copy of it.")
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write the result back into --folder, if it still is what was sent.")
    ] = False,
    humans: Humans = None,
    wait_for_human: WaitForHuman = None,
    everything: Everything = False,
    budget_tokens: Annotated[int | None, typer.Option(help="Tokens, input and output together.")] = None,
    budget_calls: Annotated[int | None, typer.Option(help="Model calls.")] = None,
    budget_usd: Annotated[float | None, typer.Option(help="US dollars.")] = None,
    budget_seconds: Annotated[float | None, typer.Option(help="Seconds for the whole session.")] = None,
    turn_timeout: Annotated[float | None, typer.Option(help="Seconds for one turn.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the order in which positions are shown.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it may cost: turns, calls, tokens, money.")
    ] = False,
    json: Json = False,
    plain: Plain = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer alone.")] = False,
    ephemeral: Annotated[bool, typer.Option("--ephemeral", help="Keep nothing: state in a temporary folder.")] = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Ask one question, and watch them argue.

    Exit status: 0 it ended as its protocol means it to, 1 it failed, 2 bad input, 3 stopped by budget or cap, 130
    interrupted.

    \b
    Examples:
      parley ask "Which backup plan survives a fire?" --evidence docs/
      parley ask - --json < question.txt
      parley ask "..." --threshold 80 --round-limit 3 --budget-seconds 60
      parley ask "..." --panel-file panel.yaml --budget-usd 0.50 --dry-run
      parley ask "..." --protocol maci --evidence docs/ --outcomes "yes, no, not yet"
      parley ask --protocol competition --topic topics.yaml#remote-work --style pro_1=logical
      parley ask --protocol competition --human pro_2 --wait-for-human 600
      parley ask "And at night?" --continue 1f2e3d4c5b6a79880716
      parley ask "..." --nats nats://bus:4222 --creds owner.json
    """
    with options.errors(json):
        options.apart(json=json, quiet=quiet)
        options.apart(ephemeral=ephemeral, state=state)
        given = {
            "protocol": protocol, "turn_timeout_s": turn_timeout, "seed": seed, "state": state, "nats__url": nats,
            "nats__creds": creds, "budget__tokens": budget_tokens, "budget__calls": budget_calls,
            "budget__cost_usd": budget_usd, "budget__seconds": budget_seconds, "panel_file": panel_file,
            "stack__humans": humans, "stack__wait_for_human": wait_for_human,
        }  # fmt: skip
        from client.protocols.maci import outcomes_file as outcomes_of
        from parley import ask as asking
        from parley.cli import commands
        from parley.cli import protocol_options as options_of

        text, stances, found = options_of.motion(question, topic, topics)
        own = {
            "threshold": threshold, "round_limit": options_of.rounds(round_limit, max_rounds), "panel": panel,
            "debaters": debaters,
            "outcomes": outcomes_of.read(outcomes) if outcomes is not None else None, "ordered": ordered or None,
            "close_the_loop": close_the_loop or None, "format": format_, "stances": stances or None,
            "styles": options_of.styles(styles), "personalities": str(personalities) if personalities else None,
            "expert": expert, "files_mentioned": [*(files or []), *(file or [])] or None,
            "code_snippets": options_of.snippets(snippets),
            "prior_conversation": options_of.conversation(conversation),
        }  # fmt: skip
        settings = options_of.with_protocol_settings(config, sets, given, own)
        options_of.own_options(settings, {"folder": folder})
        if dry_run:
            commands.dry_run(settings, text, evidence or found, json=json)
            return
        code, result = asking.ask_command(
            settings, text, evidence or found, json=json, quiet=quiet, plain=plain, ephemeral=ephemeral,
            continues=continues or "", everything=everything, folder=folder, apply=apply,
        )  # fmt: skip
        if json and result is not None:
            options.print_json(result)
    raise typer.Exit(code)
