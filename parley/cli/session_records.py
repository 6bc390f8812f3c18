"""Commands that read a session's record, go on from it, or say what its result is worth."""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parley.cli.options import Answer, Json, Plain, Sets, Sid, Subject, Verbose
from parley.client.show.printing import cuts, terminal_width, warn

if TYPE_CHECKING:
    from parley.settings import Settings


def replay(
    settings: "Settings",
    session: Subject,
    sets: Sets = None,
    constants: Annotated[
        Path | None,
        typer.Option("--constants", metavar="FILE", help="Constants of the session's protocol (YAML or JSON)."),
    ] = None,
    decide: Annotated[
        str, typer.Option("--decide", metavar="RULE", help="Count its ballots by this rule. No model is asked.")
    ] = "",
) -> Answer:
    """Recompute a session from its events alone.

    With --set or --constants, show at which event the new run first differs from the record. With --decide, count the
    recorded ballots anew.

    \b
    Examples:
      parley replay session.jsonl
      parley replay 1f2e3d4c5b6a79880716 --set consensus.threshold=70
      parley replay 1f2e3d4c5b6a79880716 --decide borda
    """
    from parley import sessions
    from parley.client import what_if
    from parley.client.errors import BadInput
    from parley.settings import parse_sets

    overrides = parse_sets(sets or [])
    numbers = what_if.read_constants(constants) if constants else {}
    record = sessions.record(settings, session)
    if decide and (overrides or numbers):
        raise BadInput("--decide", "it counts what was recorded: leave --set and --constants out")
    if decide:
        recounted = what_if.recount(record, decide)
        return Answer(recounted, recounted["words"])
    if overrides or numbers:
        compared = what_if.compare(record, overrides, numbers)
        return Answer(compared, what_if.comparison_words(compared))
    verified = what_if.verify(record)
    return Answer(verified, what_if.replayed_words(verified))


def explain(
    settings: "Settings",
    session: Subject,
    part: Annotated[
        str, typer.Argument(help="Only this part of what stands behind the answer, such as rounds, or all.")
    ] = "",
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Also draw the session's signals or scores into this file (.png or .svg)."),
    ] = None,
) -> Answer:
    """Explain why a session stopped, on one screen. It names the parts that you can open.

    \b
    Examples:
      parley explain session.jsonl
      parley explain session.jsonl posts
      parley explain session.jsonl --plot signals.svg
    """
    from parley import sessions
    from parley.client.rendering import documents, explain
    from parley.planned.access import bus_options

    record, drawn = sessions.load_explained_record(settings, session, plot)
    if drawn:
        warn(f"parley: wrote {drawn}")
    return Answer(
        lambda: documents.document(record, posts=False),
        explain.explanation_lines(record, part, cut=cuts(), named=shlex.quote(session), where=bus_options(settings)),
        width=terminal_width(),
    )


class ResultVerdict(StrEnum):
    """What a person says of a result."""

    RIGHT = "right"
    WRONG = "wrong"


def feedback(
    settings: "Settings",
    session: Sid,
    verdict: Annotated[ResultVerdict, typer.Argument(help="Whether the result is right or wrong.")],
    answer: Annotated[str, typer.Option(help="What the answer should have been; at most 4,000 characters.")] = "",
    note: Annotated[str, typer.Option(help="The reason; at most 4,000 characters.")] = "",
) -> Answer:
    """Say whether a closed session's result is right.

    The session keeps the feedback and shows it. If you give feedback several times, the last one counts.

    \b
    Examples:
      parley feedback 1f2e3d4c5b6a79880716 right
      parley feedback 1f2e3d4c5b6a79880716 wrong --answer "blue-green" --note "the canary has no traffic"
    """
    from parley import sessions
    from parley.planned.access import bus_options

    sessions.feedback(settings, session, right=verdict is ResultVerdict.RIGHT, answer=answer, note=note)
    learns = f"parley reliability learn{bus_options(settings)}"
    lines = [
        f"session {session}: its result is {verdict.value}, as you say",
        f"to take it into the records, for sessions that open afterwards: {learns}",
    ]
    return Answer({"session": session, "feedback": verdict.value, "answer": answer, "note": note}, lines)


def fork(
    settings: "Settings",
    session: Sid,
    round_: Annotated[
        int | None,
        typer.Option("--round", min=0, help="Carry the record up to the end of this round (default: the last)."),
    ] = None,
    sets: Sets = None,
    json: Json = False,
    plain: Plain = False,
    verbose: Verbose = False,
) -> Answer:
    """Continue a closed session with other settings or models.

    The fork keeps the recorded answers up to the point where the two sessions differ. After that it calls models. The
    environment or a panel file names the models, as for `parley ask`.

    The exit status is that of `parley ask`.

    \b
    Examples:
      parley fork 1f2e3d4c5b6a79880716 --set consensus.threshold=90
      parley fork 1f2e3d4c5b6a79880716 --round 1 --panel-file other-models.yaml
    """
    from parley import forking
    from parley.ask_session import run_session
    from parley.planned.plan import plan_of
    from parley.run import Run
    from parley.settings import parse_sets

    source = forking.source_of(settings, session)
    plan = plan_of(settings.model_copy(update={"protocol": source.protocol}))
    run = Run(plan=plan, json=json, plain=plain, verbose=verbose)
    code, result = run_session(*forking.read_fork_request(run, source, parse_sets(sets or []), round_))
    return Answer(result, code=code)
