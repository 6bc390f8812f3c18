"""`parley serve`: the gateway in the foreground."""

from pathlib import Path
from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import Config, Creds, Host, Json, Nats, PanelFile, Panels, Port, Roots, Sets, State


def serve(
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
    on_disconnect: Annotated[
        str,
        typer.Option(
            metavar="cancel|leave", help="What happens to a session if the program that waits for it goes away."
        ),
    ] = "cancel",
    task_model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Model that writes titles and tags for chat front ends. Its server is PARLEY_TASK_BASE_URL, its key "
            "PARLEY_TASK_API_KEY. Without it, such requests are refused.",
        ),
    ] = "",
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
    panel_file: PanelFile = None,
    sets: Sets = None,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Serve the web page and the interfaces for programs.

    It runs until Ctrl-C. It starts the stack on this machine if none runs, and prints a link that opens the page once.
    If other machines can reach the address, it needs --keys. Each token there belongs to a user of the bus, and gives
    that user's rights.

    \b
    Examples:
      parley serve
      parley serve --demo
      parley serve --port 8080 --panel-file panel.yaml
      parley serve --panels panels --root ~/projects --keys web-keys
      parley serve --nats nats://bus:4222 --creds gateway.json --keys web-keys --host 0.0.0.0
    """
    with options.errors(json):
        settings = options.settings(config, sets, state=state, nats__url=nats, nats__creds=creds, panel_file=panel_file)
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
            on_disconnect=on_disconnect,
            task_model=task_model,
            doors=tuple(door or ()),
            metrics_host=metrics_host,
            metrics_port=metrics_port,
            demo=demo,
            open=open_,
            json=json,
        )
        code = serving.serve(wanted)
    raise typer.Exit(code)
