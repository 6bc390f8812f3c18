"""`parley mcp`: the tools over standard input and output, for an editor that starts it."""

from collections.abc import Sequence
from pathlib import Path

from parley.observability.setup import setup_tracing
from parley.planned.access import run
from parley.planned.plan import Plan
from parley.serving.offered_models import offers_of
from parley.serving.options import root_of
from parley.serving.when_asked import WhenAsked
from parley.web.mcp.server import make_server
from parley.web.offered_models import Offers


def serve(plan: Plan, roots: Sequence[Path], panels: Path | None = None) -> int:
    """Serve until standard input ends; the exit status. Nothing but the protocol goes to standard output.

    Raises
    ------
    BadInput
        A root or a panel file that cannot be used.
    """
    plan, offers = offers_of(plan, panels)
    allowed = tuple(map(root_of, roots))
    stop_tracing = setup_tracing("parley-mcp")
    try:
        return run(_serve(plan, offers, allowed))
    finally:
        stop_tracing()


async def _serve(plan: Plan, offers: Offers, roots: Sequence[Path]) -> int:
    async with WhenAsked(plan) as stack:
        server = make_server(stack.parley, offers, roots)
        await server.run_stdio_async()
    return 0
