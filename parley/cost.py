"""Estimates what a session may cost on the stack or bus where it would run."""

from parley.client import estimate
from parley.client.api import Parley
from parley.client.errors import BadInput
from parley.coordinator.estimate import Estimate
from parley.planned.access import front, run
from parley.planned.plan import Plan
from parley.request import Request
from parley.schemas.session import OpenSession
from parley.stack.lease import default_state, read_running


def expected(plan: Plan, opening: OpenSession, *, ephemeral: bool = False) -> Estimate | None:
    """What the session may come to on a stack that is still to start; None where one runs: its workers say so.
    `ephemeral`: in a temporary directory, where none runs.

    Raises
    ------
    BadInput
        It could not be opened on that stack; a model cannot be made.
    """
    settings = plan.settings
    if settings.nats.url or (not ephemeral and read_running(settings.state or default_state()) is not None):
        return None
    return estimate.of(opening, plan.announced)


async def expected_there(parley: Parley, opening: OpenSession) -> Estimate:
    """What it may come to with the workers that are alive. Raises BadInput, Unreachable."""
    if not parley.client.owner:
        raise BadInput(
            "creds", "an estimate asks which workers are alive, and only an owner's credentials may ask that"
        )
    return estimate.of(opening, (await parley.client.workers()).workers)


def estimated(request: Request) -> Estimate:
    """What the session may come to; nothing is started, and on a bus that runs elsewhere nothing is opened.

    Raises
    ------
    BadInput
        It could not be opened, and why.
    Unreachable
        The bus is not there.
    """
    plan, opening = request.plan, request.with_folder()

    async def there() -> Estimate:
        async with front(plan) as parley:
            return await expected_there(parley, opening)

    return expected(plan, opening, ephemeral=request.ephemeral) or run(there())
