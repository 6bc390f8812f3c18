"""The floor of the gateway: bare Starlette that sends the same bytes to as many viewers.

`python -m parley_research.benchmarks.floors.sse FD` serves on a socket that listens. GET /events waits for events;
POST /tell gives those of its body, which a NUL parts, to all who wait, and ends their streams.
"""

import asyncio
import sys
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

_VIEWERS: set["asyncio.Queue[bytes | None]"] = set()


async def _stream(request: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        _VIEWERS.add(queue)
        yield b"retry: 1000\n\n"
        while (data := await queue.get()) is not None:
            yield data
        _VIEWERS.discard(queue)

    return StreamingResponse(pieces(), media_type="text/event-stream")


async def _tell(request: Request) -> Response:
    for event in (*(await request.body()).split(b"\0"), None):
        for queue in _VIEWERS:
            queue.put_nowait(event)
        await asyncio.sleep(0)
    return Response()


if __name__ == "__main__":
    app = Starlette(routes=[Route("/events", _stream), Route("/tell", _tell, methods=["POST"])])
    uvicorn.run(app, fd=int(sys.argv[1]), log_config=None, access_log=False, ws="none")
