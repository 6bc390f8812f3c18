"""Prints the addresses and files of a stack in the foreground. It is imported before services are forked, so it
loads little.
"""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from parley.client.errors import BadInput
from parley.client.show.printing import give, say_all, warn
from parley.process import open_streams, report_error
from parley.schemas.session import human_queue, is_human
from parley.stack.lease import OTHER, OWNER, Order, Running, Shown

_EARLIER_S = 3.0
"""So long the list of sessions that go on is waited for."""


def supervise(order: Order, shown: Shown, serve: Callable[[Callable[[Running], None]], int]) -> int:
    """What is said of a stack in the foreground, which `serve` runs; the exit status."""
    open_streams()
    state = Path(order.state)

    def on_ready(running: Running) -> None:
        if shown.json:
            give(msgspec.json.encode(running).decode())
        else:
            say_all(_addresses(running, state, shown))
        if shown.before:
            _tell_earlier(running, state, shown.options)

    code = serve(on_ready)
    if code == OTHER:
        error = BadInput("state", f"a stack runs in {state} already; end it, or name another folder with --state")
        return report_error(str(error), error.field, error.exit_code, json=shown.json)
    return code


def _tell_earlier(running: Running, state: Path, options: str) -> None:
    """Sessions of the stack before this one go on: one line on stderr."""

    from parley.bus.errors import BusError
    from parley.client.api import connected
    from parley.client.errors import ParleyError
    from parley.stack.earlier_sessions import earlier_words, open_sessions

    async def main() -> None:
        with contextlib.suppress(ParleyError, BusError):
            async with connected(running.url, Path(running.credentials[OWNER]), _EARLIER_S) as client:
                text = earlier_words(await open_sessions(client, state), options)
                if text:
                    warn(text)

    asyncio.run(main())


def _addresses(running: Running, state: Path, shown: Shown) -> list[str]:
    lines = [f"bus          {running.url}", f"state        {state}"]
    lines += [f"credentials  {user:12} {path}" for user, path in running.credentials.items()]
    lines += [f"service      {name:16} pid {s.pid}  {s.metrics}" for name, s in running.services.items()]
    seats = [user.removesuffix(human_queue("")) for user in running.credentials if is_human(user)]
    lines += [f"sit          parley sit SESSION {seat} --state {state}" for seat in seats]
    for queue in running.free:
        bus = f"--nats {running.url} --creds {state / 'keys' / queue}.json"
        lines.append(f"free         parley agent my_module:answer --queue {queue} {bus}")
    bus = f"--nats {running.url} --creds {running.credentials[OWNER]}"
    protocol = f"--protocol {shown.protocol} " if shown.protocol else ""
    lines.append(f'ask          parley ask {protocol}{bus} "..."')
    return lines
