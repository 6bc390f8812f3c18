"""The command line's `ask`: it parses, calls one function, prints."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from parley.cli import options
from parley.cli.options import (
    Branch,
    Config,
    Creds,
    Everything,
    HelpAll,
    Humans,
    Json,
    Nats,
    PanelFile,
    Plain,
    Protocol,
    Sets,
    State,
    Verbose,
    WaitForHuman,
)
from parley.cli.protocol_options import (
    NOTHING,
    Given,
    folder_of,
    keeps_history,
    motion_of,
    of_protocol,
    refuse_foreign,
    set_of,
    settings_of,
    takers,
    takes,
    without_controls,
    words_of,
)
from parley.client.show.printing import say_all, warn


@takes("options")
def ask(
    question: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUESTION", help="What is asked; - reads it from standard input. Leave it out with --topic."
        ),
    ] = None,
    protocol: Protocol = None,
    evidence: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="Folder, file or pattern of documents, or - for standard input; repeatable."),
    ] = None,
    panel_file: PanelFile = None,
    continues: Annotated[
        str | None, typer.Option("--continue", metavar="ID", help="Ask a follow-up question to this finished session.")
    ] = None,
    sets: Sets = None,
    own: Given = NOTHING,
    help_all: HelpAll = False,
    apply: Annotated[
        bool,
        typer.Option(
            "--apply", help="Write an approved change into --folder, if the folder has not changed meanwhile."
        ),
    ] = False,
    branch: Branch = "",
    kind: Annotated[
        str | None, typer.Option(metavar="WORD", help="Kind of the question. Records of this kind count first.")
    ] = None,
    humans: Humans = None,
    wait_for_human: WaitForHuman = None,
    everything: Everything = False,
    budget_tokens: Annotated[int | None, typer.Option(help="Limit of tokens, input and output together.")] = None,
    budget_calls: Annotated[int | None, typer.Option(help="Limit of model calls.")] = None,
    budget_usd: Annotated[float | None, typer.Option(help="Limit of cost, in US dollars.")] = None,
    budget_seconds: Annotated[float | None, typer.Option(help="Time limit of the session, in seconds.")] = None,
    turn_timeout: Annotated[float | None, typer.Option(help="Time limit of one turn, in seconds.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the order in which positions are shown.")] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Start nothing. Print the turns, calls, tokens and money that the session may take."
        ),
    ] = False,
    json: Json = False,
    plain: Plain = False,
    verbose: Verbose = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the answer.")] = False,
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

    What only some protocols take stands in the help of each: parley ask --protocol madp --help.

    \b
    Examples:
      parley ask "Which backup plan survives a fire?" --evidence docs/
      parley ask "Rename the option" --folder . --apply
      parley ask "What did it cost?" --evidence report.pdf --evidence 'notes/*.md'
      parley ask - --json < question.txt
      parley ask "..." --threshold 80 --round-limit 3 --budget-seconds 60
      parley ask "..." --panel-file panel.yaml --budget-usd 0.50 --dry-run
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
        layers = {
            "protocol": protocol, "turn_timeout_s": turn_timeout, "seed": seed, "state": state, "nats__url": nats,
            "nats__creds": creds, "budget__tokens": budget_tokens, "budget__calls": budget_calls,
            "budget__cost_usd": budget_usd, "budget__seconds": budget_seconds, "panel_file": panel_file,
            "learned__kind": kind, "stack__humans": humans, "stack__wait_for_human": wait_for_human,
        }  # fmt: skip
        from parley.applying import Into
        from parley.client import estimate, task_folder
        from parley.client.errors import BadInput
        from parley.cost import estimated
        from parley.planned.chosen import chosen, earlier
        from parley.planned.plan import plan_of
        from parley.request import Look, request_of

        motion = motion_of(words_of(question), own)
        motion, given, notes = without_controls(motion, settings_of(own), "options")
        settings_given, folder = {**motion.settings, **given}, folder_of(own)
        sources: list[Path | str] = list(evidence or ())
        if not sources and motion.evidence is not None:
            sources = [motion.evidence]
        settings = options.settings(config, sets, **layers)
        before = earlier(settings, continues, ephemeral=ephemeral) if continues else None
        plan, choice = chosen(
            plan_of(settings), motion.question, folder=folder is not None,
            documents=bool(sources or (before and before.documents)), ephemeral=ephemeral,
            allowed=takers(own, settings_given, sets, changes=apply or bool(branch)),
            named=protocol is not None, before=before,
        )  # fmt: skip
        for told in () if quiet or json else choice.words():
            _note(told)
        if before is not None and not (quiet or json):
            _note(before.words(plan.protocol))
        copy: contextlib.AbstractContextManager[Path | None] = contextlib.nullcontext()
        if folder is not None and not plan.setup.changes_folder:
            copy, folder = task_folder.as_documents(folder), None
        refuse_foreign(plan.protocol, {**settings_given, "folder": folder}, sets)
        settings_given = of_protocol(plan.protocol, settings_given)
        if before is not None:
            set_now = {**set_of(sets, plan.protocol), **settings_given}
            settings_given = before.whole(plan.protocol, set_now, folder=folder is not None)
        if settings_given:
            plan = plan.over(settings_given)
        if question == ["-"] and "-" in (evidence or ()):
            raise BadInput("evidence", "the question is read from standard input already, and it can be read only once")
        if folder is None:
            plan = plan.without_folder()
        look = Look(
            json=json, quiet=quiet, plain=plain, verbose=verbose or everything, everything=everything, page=open_
        )
        with copy as read:
            request = request_of(
                plan, motion.question, [*sources, *([read] if read else ())] or None, look=look, ephemeral=ephemeral,
                before=before, folder=folder, history=not keeps_history(own),
                into=Into(apply=apply, branch=branch),
            )  # fmt: skip
        if dry_run:
            expected = estimated(request)
            if json and not expected.shortfall:
                options.print_json(_noted(estimate.document(expected), notes, choice.told()))
            elif not json:
                say_all(estimate.table(expected))
            estimate.refuse(expected)
            return
        from parley.asking import ask_command

        code, result, more = ask_command(request)
        if json and result is not None:
            options.print_json(_noted(result, notes, {**choice.told(), **more}))
    raise typer.Exit(code)


def _name_servers(why: str) -> None:
    """Where a language model is missing, say which server of this machine has one, or where none was found."""
    from parley.coordinator.admission import SET_A_MODEL

    if SET_A_MODEL in why:
        import asyncio

        from parley import next_steps

        for told in next_steps.server_words(asyncio.run(next_steps.servers())):
            _note(told)


def _note(text: str) -> None:
    warn(f"parley: {text}")


def _noted(document: Any, notes: list[str], more: Mapping[str, Any] | None = None) -> Any:
    """The document with what was taken out of the question, and what else is to be said; as it is where there is
    nothing."""
    import msgspec

    told = {**(more or {}), **({"cleaned": notes} if notes else {})}
    return {**msgspec.to_builtins(document), **told} if told else document
