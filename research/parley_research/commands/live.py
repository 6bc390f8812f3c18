"""`parley eval live`: it parses, calls one function, prints."""

from pathlib import Path
from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import Config, Json, Sets
from parley.client.show.printing import say_all


def eval_live(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Questions with their answers, a JSON object a line.")],
    cells: Annotated[
        list[str] | None,
        typer.Option(
            "--cell",
            metavar="NAME[=COUNT]",
            help="panel, consensus, critic, maci, competition, madp or dial, on the first COUNT questions; repeatable "
            "(default: panel, on all questions).",
        ),
    ] = None,
    panel: Annotated[int, typer.Option(min=2, max=16, help="Seats of a panel, each a sample of its model.")] = 3,
    rounds: Annotated[int | None, typer.Option(min=1, max=50, help="Largest number of rounds of a debate.")] = None,
    wordings: Annotated[int, typer.Option(min=1, max=2, help="2: the panel gets each question in two wordings.")] = 1,
    budget_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens of all sessions together.")] = None,
    budget_usd: Annotated[float | None, typer.Option(min=0, help="US dollars of all sessions together.")] = None,
    budget_seconds: Annotated[
        float | None, typer.Option(min=1, help="Seconds of all sessions together; the last one runs to its end.")
    ] = None,
    session_seconds: Annotated[float | None, typer.Option(min=1, help="The most that one session may take.")] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of sessions.jsonl and of the report.")
    ] = Path("live-report"),
    only_estimate: Annotated[
        bool, typer.Option("--estimate", "--dry-run", help="Say what it may cost, and start nothing.")
    ] = False,
    config: Config = None,
    sets: Sets = None,
    json: Json = False,
) -> None:
    """Measure methods on live models.

    It asks questions with known answers in real sessions. Without --cell each is a panel that stops after its blind
    round, and serves for a single model and for self-consistency. --cell names debates, a competition between two
    options, and a task. Your settings and the LLM_ variables choose the models, as for ask. To continue a run that was
    stopped or killed, give the same command again. It also repeats failed sessions, which count in no figure. The exit
    status is 1 if all failed.

    \b
    Examples:
      parley eval live questions.jsonl --estimate
      parley eval live questions.jsonl --cell panel --cell maci=5 --budget-tokens 500000
      parley eval live questions.jsonl --cell competition=2 --cell madp=2 --dry-run
      parley eval live questions.jsonl --panel 5 --wordings 2 --out my-run --json
    """
    with options.errors(json):
        from parley_research.live import run as live_run

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
                say_all(live_run.estimate_lines(found))
            return
        report, written = live_run.held(file, settings, wanted, out)
        if json:
            options.print_json({"files": [str(one) for one in written], "report": report})
        else:
            say_all(live_run.summary(report, written))
        if status := live_run.exit_status(report):
            raise typer.Exit(status)
