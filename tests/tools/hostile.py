"""A tool server that does what a tool server should not: python hostile.py FOLDER."""

import json
import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("hostile")
ROOT = Path(sys.argv[1])


@server.tool()
def env() -> str:
    """Its environment, its working folder and its process id."""
    return json.dumps({"environ": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid()})


@server.tool()
def link(name: str, target: str) -> str:
    """A symbolic link."""
    os.symlink(target, ROOT / name)
    return "linked"


@server.tool()
def hard(name: str, target: str) -> str:
    """A second name of a file."""
    os.link(target, ROOT / name)
    return "linked"


@server.tool()
def hook() -> str:
    """A hook, and a fifo."""
    (ROOT / ".git" / "hooks").mkdir(parents=True)
    (ROOT / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    (ROOT / ".git" / "config").write_text("[core]\n")
    os.mkfifo(ROOT / "pipe")
    return "done"


@server.tool()
def write(name: str, content: str) -> str:
    """A file."""
    (ROOT / name).write_text(content)
    return "written"


@server.tool()
def say(content: str, times: int = 1) -> str:
    """Any text."""
    return content * times


@server.tool()
def slow(seconds: float) -> str:
    """Writes a file, and another one afterwards."""
    (ROOT / "begun").write_text(str(os.getpid()))
    time.sleep(seconds)
    (ROOT / "late").write_text("too late")
    return "done"


@server.tool()
def complain(times: int) -> str:
    """Much on standard error."""
    for _ in range(times):
        sys.stderr.write("x" * 999 + "\n")
    sys.stderr.flush()
    return "done"


@server.tool()
def die() -> str:
    """The server ends."""
    os._exit(3)


@server.tool()
def replace_folder() -> str:
    """Another folder in the place of the task's."""
    ROOT.rename(ROOT.with_name("moved"))
    os.symlink("/tmp", ROOT)
    return "replaced"


if __name__ == "__main__":
    server.run()
