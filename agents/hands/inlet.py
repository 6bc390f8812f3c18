"""Runs inside the sandbox, by itself: a port of its loopback leads to the worker's socket, then the agent is started.

    python -I inlet.py FOLDER

FOLDER holds `run.json` (argv, port, files of the home, whether there is a prompt for the agent's input), `prompt.txt`
and the socket `model.sock`. The agent's exit status is this one's.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

AT = Path(sys.argv[1]) if len(sys.argv) == 2 else Path()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        up_reader, up_writer = await asyncio.open_unix_connection(str(AT / "model.sock"))
    except OSError:  # the turn is over
        writer.close()
        return
    await asyncio.gather(_pump(reader, up_writer), _pump(up_reader, writer))
    for one in (writer, up_writer):
        one.close()


async def _run() -> int:
    run = json.loads((AT / "run.json").read_text())
    for path, text in run["home"].items():
        file = Path(os.environ["HOME"], path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    server = await asyncio.start_server(_forward, "127.0.0.1", run["port"])
    given = os.open(AT / "prompt.txt", os.O_RDONLY) if run["prompt"] else None
    process = await asyncio.create_subprocess_exec(*run["argv"], stdin=given)
    for fd in (0, 1):  # the agent's alone
        os.dup2(os.open(os.devnull, os.O_RDWR), fd)
    status = await process.wait()
    server.close()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(_run()))
    except OSError as error:
        print(f"it could not be started: {error}", file=sys.stderr)
        sys.exit(127)
