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
        typer.Option(metavar="DIR", help="Folder of the keys of those who may (NAME.json with NAME.token)."),
    ] = None,
    cookie_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Key that signs cookies (default: web.key in --keys).")
    ] = None,
    public_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further name under which browsers reach it; repeatable."),
    ] = None,
    panels: Panels = None,
    roots: Roots = None,
    on_disconnect: Annotated[
        str,
        typer.Option(
            metavar="cancel|leave", help="What becomes of a session whose program goes away while it waits for it."
        ),
    ] = "cancel",
    task_model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Model for titles and tags of chat front ends, at PARLEY_TASK_BASE_URL with PARLEY_TASK_API_KEY; "
            "without it they are refused.",
        ),
    ] = "",
    secure: Annotated[bool, typer.Option("--secure", help="Browsers come by https (a proxy in front of it).")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser, where there is one.")] = False,
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
    """Open the web page, and the doors for other programs, until Ctrl-C.

    It starts the stack on this machine if none runs, and prints a link that opens the page once. On an address beyond
    this machine it needs --keys: each token there stands for a user of the bus, who may do what the bus lets it do.

    \b
    Examples:
      parley serve
      parley serve --port 8080 --panel-file panel.yaml
      parley serve --panels panels --root ~/projects --keys web-keys
      parley serve --nats nats://bus:4222 --creds gateway.json --keys web-keys --host 0.0.0.0
    """
    with options.errors(json):
        settings = options.settings(config, sets, state=state, nats__url=nats, nats__creds=creds, panel_file=panel_file)
        from parley import serving
        from parley.plan import plan_of

        wanted = serving.Serve(
            plan=plan_of(settings).of_every_protocol(), host=host, port=port, keys=keys, cookie_key=cookie_key,
            public_hosts=serving.checked_hosts(public_host or ()), secure=secure, panels=panels,
            roots=tuple(roots or ()), on_disconnect=on_disconnect, task_model=task_model,
            metrics_host=metrics_host, metrics_port=metrics_port, open=open_, json=json,
        )  # fmt: skip
        code = serving.serve(wanted)
    raise typer.Exit(code)
