"""Estimates what a session may cost on the stack or bus where it would run."""

from parley.client import estimate
from parley.client.api import Parley
from parley.client.errors import BadInput
from parley.coordinator.estimate import Estimate
from parley.planned import access
from parley.planned.access import front
from parley.run import Run
from parley.schemas.session import OpenSession


def cost_of_own_agents(run: Run, opening: OpenSession) -> Estimate | None:
    """What the session may come to with the agents of its plan; None where others serve it: they say so. Raises
    BadInput: it could not be opened on that stack; a model cannot be made."""
    if run.plan.settings.nats.url or run.plan.uses_kept(ephemeral=run.ephemeral):
        return None
    return estimate.of(opening, run.plan.announced)


async def expected_there(parley: Parley, opening: OpenSession) -> Estimate:
    """What it may come to with the workers that are alive. Raises BadInput, Unreachable."""
    if not parley.client.owner:
        raise BadInput(
            "creds", "an estimate asks which workers are alive, and only an owner's credentials may ask that"
        )
    return estimate.of(opening, (await parley.client.workers()).workers)


def estimate_cost(opening: OpenSession, run: Run) -> Estimate:
    """What the session may come to; nothing is started, and on a bus that runs elsewhere nothing is opened.

    Raises
    ------
    BadInput
        It could not be opened, and why.
    Unreachable
        The bus is not there.
    """

    async def there() -> Estimate:
        async with front(run.plan) as parley:
            return await expected_there(parley, opening)

    return cost_of_own_agents(run, opening) or access.run(there())
