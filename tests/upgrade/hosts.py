"""Workers of several queues in one process, of whichever release lies first on the path; run as a script.

    python hosts.py URL KEYS LATENCY_S QUEUE...

A queue is its name, or the file of an expert's specification.

Every call of the model takes so long: sessions are to be under way while processes are exchanged. Says `ready FOLDER`,
drains on SIGTERM.
"""

import asyncio
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from parley.agents.models.extractive import Extractive
from parley.agents.specs import load
from parley.bus.accounts import load_credentials
from parley.bus.connection import connect
from parley.observability.metrics import Metrics
from parley.stack import services


async def serve(url: str, keys: Path, latency_s: float, queues: list[str]) -> None:
    """Until SIGTERM."""
    reply = Extractive.reply

    async def slow(*arguments: Any) -> Any:
        await asyncio.sleep(latency_s)
        return await reply(*arguments)

    Extractive.reply = slow  # type: ignore[method-assign, assignment]
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    async with AsyncExitStack() as stack:
        for spec in map(load, queues):
            queue = spec.queue
            connection = await connect(url, load_credentials(keys / f"{queue}.json"), name=queue)
            stack.push_async_callback(connection.close)
            make = services.agent(spec, ack_wait_s=1.0, drain_s=3.0)
            await stack.enter_async_context(make(connection, Metrics()))
        print("ready", Path(services.__file__).parents[2], flush=True)
        await over.wait()


if __name__ == "__main__":
    url, keys, latency_s, *queues = sys.argv[1:]
    asyncio.run(serve(url, Path(keys), float(latency_s), queues))
