"""The command line's `top`: it parses, calls one function, prints."""

from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import Config, Json, State
from parley.client.show.printing import say_all


def top(
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", metavar="URL", help="Address of a service's metrics; repeatable."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Show the figures once, and end.")] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", help="Seconds between two updates, at least 0.5.", min=0.5, max=3600)
    ] = 2.0,
    json: Json = False,
    state: State = None,
    config: Config = None,
) -> None:
    """Show the figures of the dashboards live in this terminal.

    They are those of the dashboards, and need no Prometheus. Without --metrics it reads the services of the stack that
    runs here. --json prints the figures once.

    \b
    Examples:
      parley top
      parley top --once --json
      parley top --metrics http://moderator:9464 --metrics http://metrics:9464 --metrics http://sre:9464
    """
    with options.errors(json):
        settings = options.settings(config, state=state)
        import asyncio

        from parley.top import running
        from parley.top.screen import lines

        urls = running.addresses(settings, metrics or ())
        if json:
            options.print_json(asyncio.run(running.once(urls)))
        elif once:
            say_all(lines(asyncio.run(running.once(urls)), 200))
        else:
            asyncio.run(running.follow(urls, interval))
