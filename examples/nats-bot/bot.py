"""A bot on NATS: whoever sends a question to panel.ask gets the verdict as the reply, and the posts on panel.posts.ID.

python bot.py nats://127.0.0.1:4222 --evidence docs/
nats request panel.ask "Canary or blue-green?" --timeout 10m
"""

import argparse
import asyncio
import json
import signal

import nats
from nats.aio.msg import Msg

import parley


async def answer(p: parley.Parley, bus: nats.NATS, message: Msg, evidence: str | None) -> None:
    """Ask the panel, publish what is said as it is said, and reply."""
    sending: set[asyncio.Task[None]] = set()

    def tell(post: parley.Post) -> None:
        said = json.dumps({"seat": post.seat, "kind": post.kind, "body": json.loads(bytes(post.body))})
        sending.add(asyncio.ensure_future(bus.publish(f"panel.posts.{post.session}", said.encode())))

    try:
        result = await p.ask(message.data.decode(errors="replace"), evidence=evidence, on_post=tell)
        told = {"session": result.session, "agreed": result.stop.converged, "stop": result.stop.reason}
        told |= {"answer": result.outcome.get("answer", ""), "cost_usd": result.usage.cost_usd}
    except parley.ParleyError as error:
        told = {"error": str(error)}
    await asyncio.gather(*sending)
    await message.respond(json.dumps(told).encode())


async def main() -> None:
    """Serve until it is told to end, and then answer what was asked. Copies of the bot share the questions."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--evidence")
    given = parser.parse_args()
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    async with (
        await nats.connect(given.url) as bus,
        parley.local(protocol="consensus") as p,
        asyncio.TaskGroup() as asked,
    ):

        async def take(message: Msg) -> None:
            asked.create_task(answer(p, bus, message, given.evidence))

        taken = await bus.subscribe("panel.ask", queue="panel", cb=take)
        print("ready", flush=True)
        await over.wait()
        await taken.unsubscribe()


if __name__ == "__main__":
    asyncio.run(main())
