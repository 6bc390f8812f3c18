"""`parley eval routing`: it parses, calls one function, prints."""

from pathlib import Path
from typing import Annotated

import typer

from parley import process
from parley.cli import options
from parley.cli.experts import Experts
from parley.cli.options import Json


def eval_routing(
    golden: Annotated[
        Path | None,
        typer.Option(help="A golden file (default: the shipped set; docs/reports/routing.md has its form)."),
    ] = None,
    half: Annotated[
        str, typer.Option(help="Half of the shipped set: test, or dev, on which the matcher's figures were chosen.")
    ] = "test",
    experts: Experts = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the public sets, to measure them too (takes minutes).")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME",
            help="Measure only this set: golden, clinc150, nlbse24_issues or marge_experts; repeatable.",
        ),
    ] = None,
    registries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Measure only the registries of this file, one JSON object on each line. No model is called.",
        ),
    ] = None,
    replies: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --registries: a language model's replies, one JSON object on each line."
        ),
    ] = None,
    ask_below: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Confidence below which a model is asked (default: 0.9, as in sessions)."),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --registries: write the questions for a model into this file, and measure nothing.",
        ),
    ] = None,
    most: Annotated[
        float,
        typer.Option(min=0, max=0.99, help="With --questions, without --ask-below: the share of prompts to ask about."),
    ] = 0.3,
    json: Json = False,
) -> None:
    """Measure how often tasks find a right lead, with intervals.

    It compares the source's score with the matcher, without and with its encoder. For each it prints the share of right
    leads by kind and by depth, abstention, calibration, and which experts are confused. "After claims" counts who leads
    once experts have claimed and challenged. A public set that is missing is named and left out.

    \b
    Examples:
      parley eval routing
      parley eval routing --golden my-golden.jsonl --experts my-experts --json
      parley eval routing --data ../shared/data
      parley eval routing --registries research/parley_research/registries/test.jsonl
      parley eval routing --registries research/parley_research/registries/dev.jsonl --questions questions.jsonl
    """
    with options.errors(json):
        options.apart(golden=golden, set=sets or None)
        for name, value in (("golden", golden), ("experts", experts), ("set", sets or None)):
            options.apart(registries=registries, **{name: value})
        options.apart(replies=replies, questions=questions)
        process.one_thread()
        from parley.client.errors import BadInput
        from parley_research import routing_run as evaluate

        if registries is None and (replies or questions or ask_below is not None):
            raise BadInput("--registries", "--replies, --questions and --ask-below need --registries, which is missing")
        if registries is not None and questions is not None:
            count, of, below = evaluate.write_questions(registries, questions, ask_below, most)
            print(f"{count:,} of {of:,} prompts would be asked about, below a confidence of {below:g}: {questions}")
            return
        if registries is not None:
            below = evaluate.BELOW if ask_below is None else ask_below
            reports = evaluate.evaluate_registries(registries, replies, below)
        else:
            reports = evaluate.evaluate(golden, half, experts, data, sets or [])
        if json:
            options.print_json({"reports": reports})
        else:
            print(evaluate.tables(reports))
