"""`parley eval live`: it parses, calls one function, prints."""

from pathlib import Path
from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import Config, Json, Sets
from parley.cli.output import write_lines


def eval_live(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Questions with their answers, one JSON object on each line.")
    ],
    cells: Annotated[
        list[str] | None,
        typer.Option(
            "--cell", metavar="NAME[=COUNT]", help="panel, consensus, critic, maci or dial, on COUNT questions."
        ),
    ] = None,
    panel: Annotated[int, typer.Option(min=2, max=16, help="Seats of a panel, each of which gives one sample.")] = 3,
    rounds: Annotated[int | None, typer.Option(min=1, max=50, help="Largest number of rounds of a debate.")] = None,
    wordings: Annotated[int, typer.Option(min=1, max=2, help="2: the panel gets each question in two wordings.")] = 1,
    budget_tokens: Annotated[int | None, typer.Option(min=1, help="Limit of tokens of all sessions together.")] = None,
    budget_usd: Annotated[
        float | None, typer.Option(min=0, help="Limit of cost of all sessions together, in US dollars.")
    ] = None,
    budget_seconds: Annotated[
        float | None,
        typer.Option(min=1, help="Time limit of all sessions, in seconds. A session that has begun is finished."),
    ] = None,
    session_seconds: Annotated[float | None, typer.Option(min=1, help="Time limit of one session, in seconds.")] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of sessions.jsonl and of the report.")
    ] = Path("live-report"),
    only_estimate: Annotated[
        bool, typer.Option("--estimate", help="Print what the run may cost, and start nothing.")
    ] = False,
    config: Config = None,
    sets: Sets = None,
    json: Json = False,
) -> None:
    """Measure methods on live models.

    Real sessions answer each question: a panel that stops after its blind round, and debates. The panel also gives the
    figures of a single model and of self-consistency. Your settings and the LLM_ variables choose the models, as for
    ask. Each session is on the disk before the next begins. The same command continues a run that was stopped or
    killed. A session that failed counts in no figure, and the same command runs it again. The exit status is 1 if
    all sessions failed.

    \b
    Examples:
      parley eval live questions.jsonl --estimate
      parley eval live questions.jsonl --cell panel --cell maci=5 --budget-tokens 500000
      parley eval live questions.jsonl --panel 5 --wordings 2 --out my-run --json
    """
    with options.errors(json):
        from parley.debates import live_run

        wanted = live_run.wanted_of(
            cells or (), panel=panel, rounds=rounds, wordings=wordings, tokens=budget_tokens, usd=budget_usd,
            seconds=budget_seconds, session_s=session_seconds,
        )  # fmt: skip
        settings = options.settings(config, sets)
        if only_estimate:
            found = live_run.estimated(file, settings, wanted)
            if json:
                options.print_json(found)
            else:
                write_lines(live_run.estimate_lines(found), None)
            return
        report, written = live_run.held(file, settings, wanted, out)
        if json:
            options.print_json({"files": [str(one) for one in written], "report": report})
        else:
            write_lines(live_run.summary(report, written), None)
        if status := live_run.exit_status(report):
            raise typer.Exit(status)
