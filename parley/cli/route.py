"""`parley route`: it parses, calls one function, prints."""

from pathlib import Path
from typing import Annotated

import typer

from parley import process
from parley.cli import options
from parley.cli.options import Json
from parley.client.show.printing import say_all

Experts = Annotated[
    Path | None, typer.Option("--experts", metavar="DIR", help="Folder of specifications (default: the shipped ones).")
]


def route(
    task: Annotated[str | None, typer.Argument(help="The task; - reads it from standard input.")] = None,
    files: Annotated[
        list[str] | None, typer.Option("--files", metavar="NAME", help="A file that the task is about; repeatable.")
    ] = None,
    experts: Experts = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help='File of many tasks, {"prompt": ..., "files": [...]} on each line; - reads standard input.',
        ),
    ] = None,
    keyword: Annotated[
        bool,
        typer.Option("--keyword", help="Route by trigger words and without claims, as degraded coordination does."),
    ] = False,
    json: Json = False,
) -> None:
    """Show which experts would take a task.

    It also shows how much the experts would coordinate. Nobody works on the task, and no bus is needed. With --file it
    prints one JSON document for each task, in their order. The document of a bad line says what is wrong. Exit
    status: 0 all tasks were routed, 1 some lines were bad, 2 all lines were bad.

    \b
    Examples:
      parley route "add JWT authentication" --json
      parley route "the page jumps" --files app/main.css --files app/index.html
      parley route --file prompts.jsonl --experts my-experts > routes.jsonl
    """
    with options.errors(json):
        options.apart(file=file, task=task)
        options.apart(file=file, files=files or None)
        process.one_thread()
        from parley.cli import route_task as commands
        from parley.routing.route import words

        if file is not None:
            raise typer.Exit(commands.route_file(file, experts, keyword=keyword))
        routed = commands.route(task, files or [], experts, keyword=keyword)
        if json:
            options.print_json(routed)
        else:
            say_all(words(routed))
