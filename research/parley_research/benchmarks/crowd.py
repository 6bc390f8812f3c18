"""Announces many experts, each with its own credentials, and does nothing else: `python -m
parley_research.benchmarks.crowd URL`.

Standard input has one line: JSON pairs of a specification's file and its credentials' file. It runs until it is killed,
or its input ends.
"""

import asyncio
import os
import sys
import threading
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from parley.agents.experts import load_spec
from parley.bus import subjects
from parley.bus.accounts import load_credentials
from parley.bus.connection import Connection, connect
from parley.schemas.expert import ROLE, ExpertSpec, pin, queue_of
from parley.schemas.presence import Announcement
from parley.schemas.wire import encode

EVERY_S = 5.0
_AT_ONCE = 20


async def _announce(url: str, pairs: list[tuple[str, str]]) -> None:
    async with AsyncExitStack() as stack:
        there: list[tuple[Connection, ExpertSpec]] = []
        for start in range(0, len(pairs), _AT_ONCE):
            some = pairs[start : start + _AT_ONCE]
            connections = await asyncio.gather(
                *(connect(url, load_credentials(Path(c)), name="crowd") for _, c in some)
            )
            for connection, (file, _) in zip(connections, some, strict=True):
                await stack.enter_async_context(connection)
                there.append((connection, load_spec(Path(file))))
        while True:
            for connection, spec in there:
                said = Announcement(
                    instance=f"crowd-{spec.id}", queue=queue_of(spec.id), roles=(ROLE,), model="stub", family="stub",
                    expert=spec,
                )  # fmt: skip
                await connection.publish(subjects.here(ROLE, said.queue, pin(spec)), encode(said))
                await asyncio.sleep(EVERY_S / len(there))


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    given = msgspec.json.decode(sys.stdin.readline(), type=list[tuple[str, str]])
    threading.Thread(target=_end_with_input, daemon=True).start()
    asyncio.run(_announce(sys.argv[1], given))
