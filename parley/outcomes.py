"""The outcomes of all sessions, counted once: what `parley metrics --once` prints."""

import asyncio
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from parley.bus.connection import connect
from parley.bus.errors import BusError
from parley.client.errors import Unreachable
from parley.coordinator.outcomes.counting import MetricsService
from parley.coordinator.outcomes.session import children
from parley.coordinator.protocols import PROTOCOLS
from parley.observability.outcomes import Outcomes
from parley.planned.foreground import observer
from parley.settings import Settings


def counted_once(settings: Settings, monitor: str) -> Outcomes:
    """Count what the log has now. Raises BadInput, Unreachable."""
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
        asyncio.run(main())
    except BusError as error:
        raise Unreachable(str(error)) from error
    return outcomes


def exposition(outcomes: Outcomes) -> str:
    """As Prometheus reads it."""
    return generate_latest(outcomes.registry).decode()


def document(outcomes: Outcomes) -> dict[str, Any]:
    """The same as JSON values: every number with its labels, by its name."""
    series: dict[str, list[dict[str, Any]]] = {}
    for family in outcomes.registry.collect():
        for sample in family.samples:
            series.setdefault(sample.name, []).append({"labels": dict(sample.labels), "value": sample.value})
    return {"position": outcomes.counted_to, "series": series}
