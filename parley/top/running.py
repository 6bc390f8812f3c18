"""`parley top`: fetches, computes and shows figures, again and again."""

import asyncio
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from parley.client.errors import BadInput
from parley.settings import Settings
from parley.stack.lease import default_state, read_running
from parley.top.figures import OUTCOMES, figures
from parley.top.scraping import Snapshot, fetch, pages
from parley.top.screen import lines

FIRST_S = 1.0
"""Between the two readings of a single look: rates need two."""


def addresses(settings: Settings, named: Sequence[str]) -> list[str]:
    """The services' pages: those that were named, or those of the stack that runs here.

    Raises
    ------
    BadInput
        None is named, and no stack runs here.
    """
    if named:
        return pages(named)
    state = settings.state or default_state()
    running = read_running(state)
    urls = sorted({s.metrics for s in running.services.values() if s.metrics}) if running else []
    if not urls:
        raise BadInput(
            "--metrics",
            f"no stack runs in {state}. Start one with `parley up`, or name services: --metrics http://HOST:9464",
        )
    return pages(urls)


async def sample(urls: Sequence[str], before: Snapshot | None = None) -> tuple[Snapshot, dict[str, Any]]:
    """One reading of all pages, and the figures since the one before."""
    now = Snapshot(await fetch(urls), OUTCOMES)
    return now, figures(now, before)


async def once(urls: Sequence[str]) -> dict[str, Any]:
    """The figures now, with rates over a second."""
    first, _ = await sample(urls)
    await asyncio.sleep(FIRST_S)
    return (await sample(urls, first))[1]


async def follow(urls: Sequence[str], interval_s: float) -> None:
    """Show the figures until Ctrl-C: on a terminal in place, else one screen after another."""
    before: Snapshot | None = None
    in_place = sys.stdout.isatty()
    while True:
        before, shown = await sample(urls, before)
        size = shutil.get_terminal_size()
        text = list(lines(shown, size.columns, max(2, size.lines - 1)) if in_place else lines(shown, 200))
        if in_place:
            # Home, each line cleared to its end, then what is left of the screen: nothing flickers.
            sys.stdout.write("\x1b[H" + "".join(f"{row}\x1b[K\n" for row in text) + "\x1b[J")
        else:
            sys.stdout.write("\n".join(text) + "\n\n")
        sys.stdout.flush()
        await asyncio.sleep(interval_s)
