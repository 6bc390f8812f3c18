"""`parley mcp`: the tools over standard input and output."""

import typer

from parley.cli import options
from parley.cli.options import Config, Creds, Nats, PanelFile, Panels, Roots, Sets, State


def mcp(
    roots: Roots = None,
    panels: Panels = None,
    panel_file: PanelFile = None,
    sets: Sets = None,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Serve tools for editors (MCP) on standard input and output.

    An editor or an assistant starts it. With the first question it starts the stack on this machine, if none runs and
    no bus is named. A projectPath must lie in a folder of --root. Without --root no folder
    is read.

    \b
    Examples:
      parley mcp
      parley mcp --root ~/projects
      parley mcp --nats nats://bus:4222 --creds client.json
    """
    with options.errors():
        settings = options.settings(config, sets, state=state, nats__url=nats, nats__creds=creds, panel_file=panel_file)
        from parley.planned.plan import plan_of
        from parley.serving import mcp_stdio

        code = mcp_stdio.serve(plan_of(settings).of_every_protocol(), tuple(roots or ()), panels)
    raise typer.Exit(code)
