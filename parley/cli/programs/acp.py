"""`parley acp`: an agent for editors over standard input and output."""

import typer

from parley.cli import options
from parley.cli.options import Config, Creds, Nats, PanelFile, Panels, Sets, State


def acp(
    panels: Panels = None,
    panel_file: PanelFile = None,
    sets: Sets = None,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Be an agent of an editor (Agent Client Protocol) on standard input and output.

    Zed, JetBrains or Neovim starts it. With the first prompt it starts the stack on this machine, if none runs and no
    bus is named. An editor that cancels the prompt, or ends, cancels the session.

    \b
    Examples:
      parley acp
      parley acp --panel-file panel.yaml
    """
    with options.errors():
        settings = options.settings(config, sets, state=state, nats__url=nats, nats__creds=creds, panel_file=panel_file)
        from parley.client.errors import BadInput
        from parley.planned.plan import plan_of

        try:
            from parley.serving import acp_stdio
        except ModuleNotFoundError as error:
            raise BadInput(
                "acp", f"it is an extra, and {error.name} is not installed: pip install 'parley[acp]'"
            ) from None
        code = acp_stdio.serve(plan_of(settings).of_every_protocol(), panels)
    raise typer.Exit(code)
