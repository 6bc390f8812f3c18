"""`parley serve`: the gateway in the foreground."""

from pathlib import Path
from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import Config, Creds, Json, Nats, PanelFile, Sets, State


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
    secure: Annotated[bool, typer.Option("--secure", help="Browsers come by https (a proxy in front of it).")] = False,
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
      parley serve --nats nats://bus:4222 --creds gateway.json --keys web-keys --host 0.0.0.0
    """
    with options.errors(json):
        settings = options.settings(config, sets, state=state, nats__url=nats, nats__creds=creds, panel_file=panel_file)
        from parley import serving
        from parley.plan import plan_of

        wanted = serving.Serve(
            plan=plan_of(settings).of_every_protocol(), host=host, port=port, keys=keys, cookie_key=cookie_key,
            public_hosts=serving.said(public_host or ()), secure=secure, json=json,
        )  # fmt: skip
        code = serving.serve(wanted)
    raise typer.Exit(code)
