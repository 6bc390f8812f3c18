"""`parley up`: a stack that is kept until a signal. It prints addresses and files, then what the supervisor says."""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path

import msgspec

from parley.client.errors import BadInput
from parley.client.show.printing import give, say_all, warn
from parley.planned.access import run
from parley.planned.plan import Plan
from parley.schemas.session import human_queue, is_human
from parley.stack import disk_watch
from parley.stack.announce import overridden_words, unpriced_words, wishes_words
from parley.stack.lease import OWNER, Lease, Running, default_state, last_run, read_running
from parley.stack.rows import Counting, Stack

replace = msgspec.structs.replace
_LOOK_S = 0.2


def up(plan: Plan, *, json: bool) -> int:
    """Keep a stack with the plan's agents, until SIGTERM or SIGINT; the exit status. Raises BadInput, StackFailed."""
    plan.check()
    settings = plan.settings
    state = (settings.state or default_state()).absolute()
    spend = settings.spend
    stack = replace(plan.stack(), counting=Counting(tenant=spend.tenant, budget_usd=spend.day_usd or 0.0))
    told = (
        unpriced_words(stack.agents),
        wishes_words(stack.agents),
        overridden_words(stack.agents),
        plan.without_model(),
    )
    _check_there(state, stack)
    disk_watch.check(state)
    for text in filter(None, told):
        warn(text)
    lease = Lease(stack, state, kept=True, wait_ready=True, tell=warn)
    return run(_kept(lease, "" if plan.every else plan.protocol, json=json))


def check_none(plan: Plan, queues: Sequence[str]) -> None:
    """Raise BadInput where queues are named for `up`, which starts them all."""
    if queues:
        why = f"got {queues[0]}, but up starts every queue of the stack: {', '.join(row.queue for row in plan.rows)}"
        raise BadInput("QUEUE", f"{why}. Leave one out: --free QUEUE; run one alone: parley agent QUEUE")


def _check_there(state: Path, stack: Stack) -> None:
    """Refuse to keep a stack that runs already and cannot become this one. Raises BadInput."""
    running, there = read_running(state), last_run(state)
    if running is None or there is None:
        return
    if running.permanent:
        why = f"a stack runs in {state} already; end it, or name another folder with --state"
        raise BadInput("state", why)
    for name in ("moderators", "log_max_age_s"):
        have, wanted = getattr(there.stack, name), getattr(stack, name)
        if have != wanted:
            shown = f"{name} {have!r}, not {wanted!r}"
            why = f"the stack that runs in {state} has {shown}; wait for it to end, or name another folder with --state"
            raise BadInput("state", why)


async def _kept(lease: Lease, protocol: str, *, json: bool) -> int:
    """Use a stack, say where it is, and stay until SIGTERM or SIGINT; the exit status. `protocol`: empty, every one."""
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
        if json:
            give(msgspec.json.encode(running).decode())
        else:
            say_all(_addresses(running, lease.state, protocol))
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


def _addresses(running: Running, state: Path, protocol: str) -> list[str]:
    lines = [f"bus          {running.url}", f"state        {state}"]
    lines += [f"credentials  {user:12} {path}" for user, path in running.credentials.items()]
    lines += [f"service      {name:16} pid {s.pid}  {s.metrics}" for name, s in running.services.items()]
    seats = [user.removesuffix(human_queue("")) for user in running.credentials if is_human(user)]
    lines += [f"sit          parley sit SESSION {seat} --state {state}" for seat in seats]
    for queue in running.free:
        bus = f"--nats {running.url} --creds {state / 'keys' / queue}.json"
        lines.append(f"free         parley agent my_module:answer --queue {queue} {bus}")
    bus = f"--nats {running.url} --creds {running.credentials[OWNER]}"
    named = f"--protocol {protocol} " if protocol else ""
    lines.append(f'ask          parley ask {named}{bus} "..."')
    return lines
