"""The command line's `demo`: it parses, calls one function, prints."""

from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import Json, Plain, State, Verbose
from parley.client.show.printing import say_all


def demo(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which demo. Without a name, the demos are listed.")] = "",
    pace: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Seconds between replies (default: 1.5).", min=0, max=60)
    ] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Do not wait between replies.")] = False,
    json: Json = False,
    plain: Plain = False,
    verbose: Verbose = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the answer.")] = False,
    open_: Annotated[
        bool, typer.Option("--open", help="Also show the session on a page in the browser, while this command runs.")
    ] = False,
    state: State = None,
) -> None:
    """Play a session whose replies are recorded: no model, no key, no network.

    A language model wrote the replies, each from what its seat was shown. Everything else is real: the bus, the
    processes, the moderator, the checks. The session is kept in a new temporary folder, or in --state.

    Exit status: as of parley ask.

    \b
    Examples:
      parley demo
      parley demo consensus
      parley demo task --pace 3 --verbose
      parley demo panel --fast --state ./demos
    """
    with options.errors(json):
        options.apart(pace=pace, fast=fast)
        options.apart(json=json, quiet=quiet)
        from parley.demos import demo as demos

        if not name and json:
            options.print_json({"demos": demos.rows()})
        elif not name:
            say_all(f"{row['name']:<12} {row['about']}" for row in demos.rows())
        if not name:
            return
        from parley.demos import play

        given = {"--json": json, "--plain": plain, "--verbose": verbose, "--quiet": quiet, "--open": open_}
        play.play(
            name,
            state=state,
            pace_s=0.0 if fast else play.PACE_S if pace is None else pace,
            options=[flag for flag, wanted in given.items() if wanted],
            quietly=json or quiet,
        )
