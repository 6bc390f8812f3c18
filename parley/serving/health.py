"""The health that the page of agents shows: what `parley doctor` says of this machine's stack, and its queues."""

import contextlib
from pathlib import Path

from parley.bus.accounts import load_credentials
from parley.bus.connection import connect
from parley.bus.errors import BadKeyFile, BusError
from parley.client.errors import BadInput
from parley.coordinator.outcomes.bus_state import depths
from parley.doctor.checks import examine
from parley.planned.plan import Plan
from parley.stack.lease import METRICS, default_state, read_running
from parley.web.health import Health, Lack, ModelHealth


async def look(plan: Plan) -> Health:
    """Look once. No model is asked where that is paid for."""
    try:
        report = await examine(plan)
    except (BadInput, TimeoutError) as error:
        why = str(error) or "it took too long"
        return Health(missing=(Lack(what=f"this machine could not be looked at: {why}", mend="parley doctor"),))
    return Health(
        models={m.seat: ModelHealth(status=m.status, seconds=m.seconds) for m in report.models},
        waiting=await _waiting(plan),
        missing=tuple(Lack(what=m.what, mend=m.mend) for m in report.missing),
    )


async def _waiting(plan: Plan) -> dict[str, int] | None:
    """How long the queues are; None: there is no observer's credential for this bus here."""
    settings = plan.settings
    running = None if settings.nats.url else read_running(settings.state or default_state())
    if running is None or METRICS not in running.credentials:
        return None
    with contextlib.suppress(BadKeyFile, BusError, TimeoutError):
        credentials = load_credentials(Path(running.credentials[METRICS]))
        async with await connect(running.url, credentials, name=credentials.user) as connection:
            return await depths(connection)
    return None
