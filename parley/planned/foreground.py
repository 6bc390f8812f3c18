"""What runs in the foreground until a signal: one moderator, one worker, or the service that counts."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from parley.bus import accounts
from parley.bus.errors import BadKeyFile, BusError
from parley.client.api import read_credentials
from parley.client.errors import BadInput, Unreachable, bad_input
from parley.client.protocols import all_setups
from parley.client.show.printing import warn
from parley.coordinator.protocols import PROTOCOLS
from parley.planned.access import run
from parley.settings import Settings
from parley.stack.announce import wish_words
from parley.stack.lease import read_running

if TYPE_CHECKING:
    from parley.observability.outcomes import Outcomes

replace = msgspec.structs.replace


def moderator(
    settings: Settings, *, token_key: Path, queues: Sequence[str] = (), host: str, port: int, log_level: str
) -> int:
    """One moderator in this process, until SIGTERM; the exit status."""
    from parley.stack import services

    url, credentials = _bus(settings)
    if credentials.kind != accounts.MODERATOR:
        raise BadInput(
            "creds", f"they are for {credentials.user!r}, of kind {credentials.kind}; expected a moderator's"
        )
    with bad_input("token-key", BadKeyFile):
        make = services.moderator(
            token_key=token_key,
            log_max_age_s=settings.retention.log_days * 86_400,
            queues=queues,
        )
    return _serve(credentials.user, make, url, credentials, host, port, log_level)


def agent(
    settings: Settings,
    spec: str,
    *,
    queue: str = "",
    room: int | None = None,
    drain_s: float = 20.0,
    host: str,
    port: int,
    log_level: str,
) -> int:
    """One worker in this process, until SIGTERM; the exit status. `room`: turns at once, over the specification's.
    `queue`: of an agent that is a function. `drain_s`: so long turns under way may go on after SIGTERM."""
    from parley.agents.hands.catalogue import HandsError
    from parley.agents.models import ModelMisconfigured, function
    from parley.agents.specs import NotEnrolled, SpecError, load
    from parley.agents.tools.allow import ToolsError
    from parley.stack import services

    with (
        bad_input("tools", ToolsError),
        bad_input("hands", HandsError),
        bad_input("spec", SpecError, ModelMisconfigured),
    ):
        agent_spec = function.load(spec, queue) if function.PATH.fullmatch(spec) else load(spec)
        if queue and agent_spec.queue != queue:
            raise BadInput("queue", f"{spec} serves {agent_spec.queue}; --queue is for an agent that is a function")
        if room is not None:
            agent_spec = agent_spec.model_copy(update={"room": room})
        make = services.agent(
            agent_spec,
            drain_s=drain_s,
            tools=settings.tools,
            hands=settings.hands,
        )
    url, credentials = _bus(settings)
    if credentials.queue != agent_spec.queue:
        raise BadInput("creds", f"they are for queue {credentials.queue!r}, the agent serves {agent_spec.queue!r}")
    with bad_input("spec", NotEnrolled):
        agent_spec.check_pin(credentials.pin)
    for told in filter(None, (wish_words([agent_spec]), shared_words(settings, agent_spec.queue))):
        warn(told)
    return _serve(agent_spec.queue, make, url, credentials, host, port, log_level)


def shared_words(settings: Settings, queue: str) -> str:
    """That a stack of this machine serves the queue too; empty where it does not, or the bus is another's."""
    if settings.nats.creds is None:
        return ""
    state = settings.nats.creds.absolute().parent.parent
    running = read_running(state)
    if running is None or running.url != settings.nats.url or queue in running.free or queue not in running.queues:
        return ""
    return (
        f"parley: the stack in {state} serves {queue} too. Each turn of {queue} goes to either of the two."
        f" For this agent alone, start the stack with: parley up --free {queue} --state {state}"
    )


def metrics(settings: Settings, *, monitor: str, host: str, port: int, log_level: str) -> int:
    """The service that counts sessions, in this process, until SIGTERM; the exit status."""
    from parley.stack import services

    url, credentials = observer(settings)
    spend = settings.spend
    expected = expected_queues(settings.watch.expect)
    asked = [protocol.name for protocol in PROTOCOLS.values() if protocol.synthetic]
    make = services.counting(
        tenant=spend.tenant,
        budget_usd=spend.day_usd or 0.0,
        monitor=monitor,
        expected=expected,
        asks=set(expected_queues(asked)) <= set(expected),
    )
    return _serve(credentials.user, make, url, credentials, host, port, log_level)


def counted_once(settings: Settings, monitor: str) -> "Outcomes":
    """Count what the log has now. Raises BadInput, Unreachable."""
    from prometheus_client import CollectorRegistry

    from parley.bus.connection import connect
    from parley.coordinator.outcomes.counting import MetricsService
    from parley.coordinator.outcomes.session import children
    from parley.observability.outcomes import Outcomes

    url, credentials = observer(settings)
    known, spend = dict(PROTOCOLS), settings.spend
    outcomes = Outcomes(CollectorRegistry(), children(known), tenant=spend.tenant, budget_usd=spend.day_usd or 0.0)

    async def main() -> None:
        async with await connect(url, credentials, name=credentials.user) as connection:
            service = MetricsService(
                connection, outcomes=outcomes, protocols=known, tenant=spend.tenant, monitor=monitor
            )
            await service.once()

    try:
        run(main())
    except BusError as error:
        raise Unreachable(str(error)) from error
    return outcomes


def exposition(outcomes: "Outcomes") -> str:
    """As Prometheus reads it."""
    from prometheus_client import generate_latest

    return generate_latest(outcomes.registry).decode()


def document(outcomes: "Outcomes") -> dict[str, Any]:
    """The same as JSON values: every number with its labels, by its name."""
    series: dict[str, list[dict[str, Any]]] = {}
    for family in outcomes.registry.collect():
        for sample in family.samples:
            series.setdefault(sample.name, []).append({"labels": dict(sample.labels), "value": sample.value})
    return {"position": outcomes.counted_to, "series": series}


def expected_queues(names: Sequence[str]) -> tuple[str, ...]:
    """The queues that these names stand for: a protocol for those of its usual seats."""
    setups = {setup.name: setup for setup in all_setups()}
    usual = {option.name: option.default for setup in setups.values() for option in setup.key_options}
    queues = (setups[name].keyed(usual) if name in setups else (name,) for name in names)
    return tuple(dict.fromkeys(queue for of_name in queues for queue in of_name))


def observer(settings: Settings) -> tuple[str, accounts.Credentials]:
    """The bus, and an observer's credentials. Raises BadInput."""
    url, credentials = _bus(settings)
    if credentials.kind != accounts.OBSERVER:
        raise BadInput(
            "creds",
            f"they are for {credentials.user!r}, of kind {credentials.kind}; expected an observer's"
            " (metrics.json: parley bus config adds it to a folder of keys)",
        )
    return url, credentials


def _bus(settings: Settings) -> tuple[str, accounts.Credentials]:
    if not settings.nats.url or settings.nats.creds is None:
        raise BadInput("nats", "a service needs the bus's address and its credentials: --nats URL --creds FILE")
    return settings.nats.url, read_credentials(settings.nats.creds)


def _serve(
    name: str, make: Any, url: str, credentials: accounts.Credentials, host: str, port: int, log_level: str
) -> int:
    from parley.stack import services

    try:
        return services.run(
            name,
            services.ServiceTask(make, credentials),
            url=url,
            metrics_host=host,
            metrics_port=port,
            log_level=log_level,
            json_logs=not sys.stderr.isatty(),
        )
    except BusError as error:
        raise Unreachable(str(error)) from error
    except OSError as error:
        raise BadInput("metrics-port", f"{host}:{port}: {error.strerror}") from error
    except ValueError as error:
        raise BadInput("log-level", str(error)) from error
