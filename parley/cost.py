"""Estimates what a session may cost on the stack or bus where it would run."""

from client import estimate
from client.api import Parley
from client.errors import BadInput
from client.evidence import Sources
from coordinator.estimate import Estimate
from parley.plan import Plan
from parley.request import opening_of
from parley.stack.access import front, run
from parley.stack.lease import default_state, read_running
from schemas.session import OpenSession


def expected(plan: Plan, opening: OpenSession) -> Estimate | None:
    """What the session may come to on a stack that is still to start; None where one runs: its workers say so.

    Raises
    ------
    BadInput
        It could not be opened on that stack; a model cannot be made.
    """
    settings = plan.settings
    if settings.nats.url or read_running(settings.state or default_state()) is not None:
        return None
    return estimate.of(opening, plan.announced)


async def expected_there(parley: Parley, opening: OpenSession) -> Estimate:
    """What it may come to with the workers that are alive. Raises BadInput, Unreachable."""
    if not parley.client.owner:
        raise BadInput(
            "creds", "an estimate asks which workers are alive, and only an owner's credentials may ask that"
        )
    return estimate.of(opening, (await parley.client.workers()).workers)


def estimated(plan: Plan, question: str, evidence: Sources | None) -> Estimate:
    """What the session may come to; nothing is started, and on a bus that runs elsewhere nothing is opened.

    Raises
    ------
    BadInput
        It could not be opened, and why.
    Unreachable
        The bus is not there.
    """
    opening = opening_of(plan, question, evidence)

    async def there() -> Estimate:
        async with front(plan) as parley:
            return await expected_there(parley, opening)

    return expected(plan, opening) or run(there())
