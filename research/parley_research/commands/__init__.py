"""The group `eval` of the command line: how well parts of Parley do, on data."""

import typer

from parley.cli.options import CommandGroup
from parley_research.commands.debates import eval_debates
from parley_research.commands.live import eval_live
from parley_research.commands.routing import eval_routing

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Measure how well parts of Parley do, on data.",
)
app.command("debates")(eval_debates)
app.command("live")(eval_live)
app.command("routing")(eval_routing)
