"""`parley eval debates`: it parses, calls one function, prints."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from parley import process
from parley.cli import options
from parley.cli.options import Json
from parley.client.show.printing import say_all


def eval_debates(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Files of your own debates, one JSON object on each line."),
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME", help="A data set, from --list; repeatable.")
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option("--method", metavar="NAME", help="A method, from --list; repeatable.")
    ] = None,
    data: Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Folder of the public data sets.")] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of the report, and of what a stopped run finished.")
    ] = Path("debates-report"),
    margin: Annotated[
        float, typer.Option(min=0.01, max=50, help="Points of accuracy within which two methods count as the same.")
    ] = 1.0,
    repeat: Annotated[
        Path | None, typer.Option("--repeat", metavar="FILE", help="Repeat the run of this manifest.json.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--list", help="Show data sets, methods and what each set can show, and run nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Measure methods on recorded debates.

    It asks whether a debate helps, when it should stop, and whom to believe. Methods are votes, single models, stop
    rules, MACI's controller with its ablations, and bounds that know the answer. Methods that learn are fitted on one
    half of the questions, and every figure is measured on the other half. The report is a page with tables, tests and
    plots. No model is called. Files of your own need no other data. The same command continues a run that was stopped.

    \b
    Examples:
      parley eval debates my-debates.jsonl --out my-report
      parley eval debates --list
      parley eval debates --data ../shared/data
      parley eval debates --data ../shared/data --set quality --method judge --method maci
      parley eval debates --repeat debates-report/manifest.json --data ../shared/data
    """
    with options.errors(json):
        for name, given in (("set", sets or None), ("method", methods or None), ("FILE", files or None)):
            options.apart(repeat=repeat, **{name: given})
        options.apart(list=show or None, repeat=repeat)
        process.one_thread()
        from parley.client.errors import BadInput
        from parley_research.debates import recorded
        from parley_research.debates.manifest import Settings
        from parley_research.loaders import DATA

        if show:
            found = recorded.listed(data)
            if json:
                options.print_json(found)
            else:
                say_all(recorded.list_lines(found))
            return
        if not (files or sets or repeat or recorded.is_there(data)):
            print("\n".join(recorded.how_to()), file=sys.stderr)
            raise BadInput("FILE", f"FILE: there is none, and no public set is in {data or DATA}")
        settings = Settings(
            sets=tuple(sets or ()),
            methods=tuple(methods or ()),
            files=tuple(str(file) for file in files or ()),
            margin=margin / 100,
        )
        report, written = recorded.evaluate(settings, data, out, repeat)
        if json:
            options.print_json({"files": [str(file) for file in written], "report": report})
        else:
            say_all(recorded.summary(report, written))
