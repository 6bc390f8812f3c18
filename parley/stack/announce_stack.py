"""A stack that `parley up` keeps: it prints addresses and files, and then what the supervisor says."""

import asyncio
import signal
from pathlib import Path

import msgspec

from parley.client.show.printing import give, say_all, warn
from parley.schemas.session import human_queue, is_human
from parley.stack.lease import OWNER, Lease, Running

_LOOK_S = 0.2


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What a stack in the foreground says of itself, and how."""

    protocol: str
    """Empty: every one."""
    options: str
    """That name the same bus again."""
    json: bool = False


async def kept(lease: Lease, shown: Shown) -> int:
    """Use a stack, say where it is, and stay until SIGTERM or SIGINT; the exit status. Raises as Lease."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    entering = asyncio.ensure_future(lease.__aenter__())
    stopped = asyncio.ensure_future(ended.wait())
    await asyncio.wait((entering, stopped), return_when=asyncio.FIRST_COMPLETED)
    if not entering.done():
        entering.cancel()
        await asyncio.wait((entering,))
        return 0
    await entering
    try:
        running, log = lease.running(), lease.state / "logs" / "supervisor.log"
        told_to = log.stat().st_size
        loop.add_signal_handler(signal.SIGHUP, lease.kill, "supervisor", signal.SIGHUP)
        if shown.json:
            give(msgspec.json.encode(running).decode())
        else:
            say_all(_addresses(running, lease.state, shown))
        while not (ended.is_set() or lease.failed):
            await asyncio.wait((stopped,), timeout=_LOOK_S)
            told_to = _tell(log, told_to)
        warn(lease.failed or "Parley ends. Sessions that are open go on when it starts again.")
    finally:
        stopped.cancel()
        await lease.__aexit__(None, None, None)
    return 1 if lease.failed else 0


def _tell(log: Path, start: int) -> int:
    """Say what the supervisor has said since; up to where."""
    with log.open("rb") as file:
        file.seek(start)
        said, _, _ = file.read().rpartition(b"\n")
    for text in said.decode(errors="replace").splitlines():
        warn(text)
    return start + len(said) + bool(said)


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
