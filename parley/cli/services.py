"""Commands that run the parts of Parley as services: `up`, `moderator`, `agent`, `metrics`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parley.cli import options
from parley.cli.options import (
    Answer,
    Config,
    Experts,
    Host,
    Humans,
    Json,
    Level,
    LogMaxAge,
    PanelFile,
    Port,
    Sets,
    State,
)
from parley.cli.protocol_options import NOTHING, Flags, by_protocol, settings_of, takes

if TYPE_CHECKING:
    from parley.settings import Settings

SERVICE = "nats creds config"


@takes("stack_options")
def up(
    context: typer.Context,
    protocol: options.ServedProtocol = None,
    panel_file: PanelFile = None,
    experts: Experts = None,
    given: Flags = NOTHING,
    moderators: Annotated[int | None, typer.Option(help="Moderators (default: 1).", min=1, max=16)] = None,
    copies: Annotated[int | None, typer.Option(help="Copies of each agent (default: 1).", min=1, max=64)] = None,
    humans: Humans = None,
    free: Annotated[
        list[str] | None,
        typer.Option(
            "--free", metavar="QUEUE", help="Start no agent for this queue, because you run it yourself; repeatable."
        ),
    ] = None,
    log_max_age: LogMaxAge = None,
    sets: Sets = None,
    json: Json = False,
    state: State = None,
    config: Config = None,
) -> None:
    """Run the stack on this machine until it is interrupted.

    It prints its addresses. Without --protocol it serves every protocol.

    \b
    Examples:
      parley up
      parley up --panel-file panel.yaml
      parley up --panel 5 --moderators 2 --copies 2 --state ./stack
      parley up --protocol consensus --free panelist_1
    """
    with options.errors(json):
        settings = options.settings(
            config, sets, protocol=protocol, state=state, panel_file=panel_file, experts=experts,
            retention__log_days=log_max_age,
            stack__moderators=moderators, stack__copies=copies, stack__humans=humans, stack__free=free,
        )  # fmt: skip
        from parley.client.opening import own_settings, spelling
        from parley.planned import kept_stack
        from parley.planned.plan import plan_of

        for name, section in by_protocol("stack_options", given).items():
            settings = settings.over(name, section)
        plan = plan_of(settings).of_every_protocol()
        if not plan.every:
            with spelling("ask", plan.protocol, given):
                own_settings(plan.protocol, settings_of("stack_options", given))
        kept_stack.check_none(plan, context.args)
        raise typer.Exit(kept_stack.up(plan, json=json))


def moderator(
    settings: "Settings",
    token_key: Annotated[Path, typer.Option(help="The moderators' key.", envvar="PARLEY_TOKEN_KEY")],
    queue: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A queue to create before its first worker starts; repeatable."),
    ] = None,
    metrics_host: Host = "127.0.0.1",
    metrics_port: Port = 0,
    log_level: Level = "INFO",
) -> int:
    """Run one moderator until SIGTERM.

    \b
    Example:
      parley moderator --nats nats://bus:4222 --creds moderator-1.json --token-key token.key --metrics-port 9100
    """
    from parley.planned import foreground

    return foreground.moderator(
        settings, token_key=token_key, queues=queue or (), host=metrics_host, port=metrics_port, log_level=log_level
    )


def agent(
    settings: "Settings",
    spec: Annotated[
        str,
        typer.Argument(help="An agent file, a built-in name (panelist_1), or a function (my_module:answer)."),
    ],
    queue: Annotated[str, typer.Option(help="Which queue a function serves, such as panelist_1.")] = "",
    room: Annotated[
        int | None,
        typer.Option(help="Turns that it serves at once (default: as its specification says).", min=1, max=10_000),
    ] = None,
    drain: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="Seconds that a turn under way has to finish after SIGTERM. What is left is given back to the queue.",
            min=0,
            max=86_400,
        ),
    ] = 20.0,
    metrics_host: Host = "127.0.0.1",
    metrics_port: Port = 0,
    log_level: Level = "INFO",
) -> int:
    """Run one worker until SIGTERM. More copies of it share its queue.

    \b
    Examples:
      parley agent panelist_1 --nats nats://bus:4222 --creds panelist_1.json
      parley agent agents/storage.yaml --nats nats://bus:4222 --creds storage.json
      parley agent my_module:answer --queue panelist_2 --nats nats://bus:4222 --creds panelist_2.json
    """
    from parley.planned import foreground

    return foreground.agent(
        settings, spec, queue=queue, room=room, drain_s=drain, host=metrics_host, port=metrics_port,
        log_level=log_level,
    )  # fmt: skip


def metrics(
    settings: "Settings",
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
) -> Answer | int:
    """Count all sessions and give the totals to Prometheus.

    It reads the log of the bus and goes on where the last copy stopped. Any number of copies show the same totals.
    With --once it counts what the log has now, prints the series and ends; --json prints them as one JSON document.

    \b
    Examples:
      parley metrics --nats nats://bus:4222 --creds metrics.json --metrics-port 9464 --monitor http://bus:8222
      parley metrics --nats nats://bus:4222 --creds metrics.json --once --json
    """
    from parley.planned import foreground

    if once or json:
        from parley.client.show.printing import give

        counted = foreground.counted_once(settings, monitor)
        if not json:
            give(foreground.exposition(counted).removesuffix("\n"))
        return Answer(lambda: foreground.document(counted))
    return foreground.metrics(settings, monitor=monitor, host=metrics_host, port=metrics_port, log_level=log_level)
