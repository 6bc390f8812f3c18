"""The nats-py client, loaded without what Parley does not use of it.

nats-py imports aiohttp where it finds it, for WebSockets, which the bus does not speak: 0.1 s of every process that
starts. So it is kept from finding it. Everything of ours imports nats-py's names from here.
"""

import asyncio
import sys
from typing import Any

_ABSENT: dict[str, None] = {name: None for name in ("aiohttp",) if not {name, "nats"} & sys.modules.keys()}
sys.modules.update(_ABSENT)  # type: ignore[arg-type]
try:
    from nats import errors
    from nats.aio import client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription
finally:
    for _name in _ABSENT:
        del sys.modules[_name]

__all__ = ["Msg", "Subscription", "cancelled", "client", "errors"]


async def cancelled(task: "asyncio.Task[Any]") -> None:
    """Cancel a task until it has ended. Whatever it raised is dropped.

    nats-py waits with asyncio.wait_for. In Python 3.11 that drops a cancellation which comes at the moment at which the
    wait is over (CPython issue 86296), so one call of `cancel` may leave a loop running for ever.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait((task,), timeout=0.1)
    if not task.cancelled():
        task.exception()
