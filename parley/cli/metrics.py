"""`parley metrics`: sessions counted from their log, and the bus, as series for Prometheus."""

from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import Config, Creds, Host, Json, Level, Port, ServiceNats
from parley.client.show.printing import give


def metrics(
    nats: ServiceNats = None,
    creds: Creds = None,
    monitor: Annotated[
        str,
        typer.Option(
            metavar="URL", help="Address of nats-server's monitor, such as http://nats:8222, to show its series too."
        ),
    ] = "",
    once: Annotated[bool, typer.Option("--once", help="Count what the log has now, print it, and end.")] = False,
    json: Json = False,
    metrics_host: Host = "127.0.0.1",
    metrics_port: Port = 0,
    log_level: Level = "INFO",
    config: Config = None,
) -> None:
    """Count all sessions and give the totals to Prometheus.

    It reads the log of the bus and goes on where the last copy stopped. Any number of copies show the same totals.
    With --once it counts what the log has now, prints the series and ends; --json prints them as one JSON document.

    \b
    Examples:
      parley metrics --nats nats://bus:4222 --creds metrics.json --metrics-port 9464 --monitor http://bus:8222
      parley metrics --nats nats://bus:4222 --creds metrics.json --once --json
    """
    with options.errors(json):
        settings = options.settings(config, nats__url=nats, nats__creds=creds)
        if once or json:
            from parley import outcomes

            counted = outcomes.counted_once(settings, monitor)
            if json:
                options.print_json(outcomes.document(counted))
            else:
                give(outcomes.exposition(counted).removesuffix("\n"))
            return
        from parley.planned import foreground

        code = foreground.metrics(settings, monitor=monitor, host=metrics_host, port=metrics_port, log_level=log_level)
    raise typer.Exit(code)
