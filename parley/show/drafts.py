"""Asks the person at the terminal about a session's drafts while the session is followed."""

import asyncio
import time
from typing import TYPE_CHECKING

from parley.bus.errors import BusError
from parley.client.errors import ParleyError
from parley.client.people.inbox import answer
from parley.client.show.open_items import OpenItem
from parley.client.text import line
from parley.show.typed_lines import Terminal
from parley.show.view import TerminalView

if TYPE_CHECKING:
    from parley.client.client import Client


_WANTED = "Enter takes it; else type yours, a line each, and an empty one:"


async def ask_drafts(client: "Client", sid: str, view: TerminalView) -> None:
    """Ask about each draft, until this task is cancelled."""
    while True:
        item = await view.drafts.get()
        view.pause()
        try:
            async with asyncio.timeout(max(0.0, item.deadline_ns / 1e9 - time.time())):
                await _ask(client, sid, item, view)
        except TimeoutError:
            view.note("nobody answered: it goes on as proposed")
        finally:
            view.resume()


async def _ask(client: "Client", sid: str, item: OpenItem, view: TerminalView) -> None:
    """Ask until an answer is taken: Enter alone takes the draft, lines in its place end with an empty one."""
    with Terminal() as terminal:
        while True:
            terminal.say(item.draft)
            lines = list[str]()
            try:
                while typed := await terminal.line(_WANTED if not lines else "  ..."):
                    lines.append(typed)
            finally:
                terminal.say("")  # what was pasted is shown before the prompt, and leaves the cursor behind it
            try:
                await answer(client, sid, item.item, "\n".join(lines) or item.default, "")
                return
            except (ParleyError, BusError) as error:
                view.note(f"not taken: {line(str(error), 300)}")
                if not lines:
                    return
