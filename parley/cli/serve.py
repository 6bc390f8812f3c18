"""Commands that serve browsers and other programs, and the demos: `serve`, `mcp`, `acp`, `demo`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parley.cli import options
from parley.cli.options import Answer, Host, Json, Plain, Port, Quiet, State, Verbose

if TYPE_CHECKING:
    from parley.settings import Settings

SERVED = "panel_file sets nats creds state config"
"""Shared options of what serves programs."""
Panels = Annotated[
    Path | None,
    typer.Option("--panels", metavar="DIR", help="Folder of saved panel files. Each is a panel with the file's name."),
]
Roots = Annotated[
    list[Path] | None,
    typer.Option("--root", metavar="DIR", help="A folder in which a projectPath may lie; repeatable."),
]
Open = Annotated[
    bool, typer.Option("--open", help="Also show the session on a page in the browser, while this command runs.")
]


def serve(
    settings: "Settings",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65_535)] = 0,
    keys: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with NAME.json and NAME.token of each user who may sign in."),
    ] = None,
    cookie_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Key that signs cookies (default: web.key in --keys).")
    ] = None,
    public_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further host name of the page; repeatable."),
    ] = None,
    panels: Panels = None,
    roots: Roots = None,
    door: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A further door to open: a2a, nats-agents, webhook, or a package's; repeatable."
        ),
    ] = None,
    secure: Annotated[
        bool, typer.Option("--secure", help="Browsers reach the page over https, through a proxy.")
    ] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser, if there is one.")] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Play the sessions of parley demo, into a new temporary folder or --state.")
    ] = False,
    metrics_host: Host = "127.0.0.1",
    metrics_port: Port = 0,
    json: Json = False,
) -> int:
    """Serve the web page and the interfaces for programs.

    It runs until Ctrl-C. It starts the stack on this machine if none runs, and prints a link that opens the page once.
    If other machines can reach the address, it needs --keys. Each token there belongs to a user of the bus, and gives
    that user's rights.

    \b
    Examples:
      parley serve
      parley serve --demo
      parley serve --port 8080 --panel-file panel.yaml
      parley serve --nats nats://bus:4222 --creds gateway.json --keys web-keys --host 0.0.0.0
    """
    from parley.planned.plan import plan_of
    from parley.serving import serving

    wanted = serving.Serve(
        plan=plan_of(settings).of_every_protocol(),
        host=host,
        port=port,
        keys=keys,
        cookie_key=cookie_key,
        public_hosts=serving.checked_hosts(public_host or ()),
        secure=secure,
        panels=panels,
        roots=tuple(roots or ()),
        doors=tuple(door or ()),
        metrics_host=metrics_host,
        metrics_port=metrics_port,
        demo=demo,
        open=open_,
        json=json,
    )
    return serving.serve(wanted)


def mcp(settings: "Settings", roots: Roots = None, panels: Panels = None) -> int:
    """Serve tools for editors (MCP) on standard input and output.

    An editor or an assistant starts it. With the first question it starts the stack on this machine, if none runs and
    no bus is named. A projectPath must lie in a folder of --root. Without --root no folder is read.

    \b
    Examples:
      parley mcp
      parley mcp --root ~/projects
    """
    from parley.planned.plan import plan_of
    from parley.serving import stdio

    return stdio.serve_mcp(plan_of(settings).of_every_protocol(), tuple(roots or ()), panels)


def acp(settings: "Settings", panels: Panels = None) -> int:
    """Be an agent of an editor (Agent Client Protocol) on standard input and output.

    Zed, JetBrains or Neovim starts it. With the first prompt it starts the stack on this machine, if none runs and no
    bus is named. An editor that cancels the prompt, or ends, cancels the session.

    \b
    Examples:
      parley acp
      parley acp --panel-file panel.yaml
    """
    from parley.client.errors import BadInput
    from parley.planned.plan import plan_of

    try:
        from parley.serving import acp_stdio
    except ModuleNotFoundError as error:
        raise BadInput("acp", f"it is an extra, and {error.name} is not installed: pip install 'parley[acp]'") from None
    return acp_stdio.serve(plan_of(settings).of_every_protocol(), panels)


def demo(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which demo. Without a name, the demos are listed.")] = "",
    pace: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds between replies.", min=0, max=60)] = 1.5,
    fast: Annotated[bool, typer.Option("--fast", help="Do not wait between replies.")] = False,
    json: Json = False,
    plain: Plain = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    open_: Open = False,
    state: State = None,
) -> Answer:
    """Play a session whose replies are recorded: no model, no key, no network.

    A language model wrote the replies, each from what its seat was shown. Everything else is real: the bus, the
    processes, the moderator, the checks. The session is kept in a new temporary folder, or in --state.

    Exit status: as of parley ask.

    \b
    Examples:
      parley demo
      parley demo consensus
      parley demo task --pace 3 --verbose
    """
    options.apart(json=json, quiet=quiet)
    from parley.demos import demo as demos

    if name:
        from parley.demos import play

        given = {"--json": json, "--plain": plain, "--verbose": verbose, "--quiet": quiet, "--open": open_}
        chosen = [flag for flag, wanted in given.items() if wanted]
        play.play(name, state=state, pace_s=0.0 if fast else pace, options=chosen, quietly=json or quiet)
    rows = demos.rows()
    return Answer({"demos": rows}, (f"{row['name']:<12} {row['about']}" for row in rows))
