"""The tool server that runs commands of a project, over MCP on standard input and output.

    python -m parley.agents.tools.run_server ROOT [COMMAND...]

Any command may be run, in the sandbox and in the task's folder: the sandbox is the limit. What the project's own
manifest names, and what is given, is told as usual here. Caches that a command leaves are left out of what the folder
is then (agents/tools/folder.py).
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from parley.agents.tools import sandbox
from parley.agents.tools.steps import ENDED, MOST_ENDED
from parley.schemas.folders import manifest

MOST_SHOWN = 12_000
"""Characters of output in a result."""
_SHELL = re.compile(r"[;&|<>$`(){}*?~#!\n\\\[]|^\s*\w+=")
"""What only a shell understands, quoted or not."""
_SHELL_ARGV = ["bash", "-o", "pipefail", "-c"] if shutil.which("bash") else ["sh", "-c"]
"""A pipe ends as the first of its commands that fails, where the shell can tell."""
VARIABLE = "PARLEY_RUN_S"
_SECONDS = 120.0
_READ = 200_000


class Commands:
    """Runs commands in one folder."""

    def __init__(self, root: Path, extra: Sequence[str], home: Path) -> None:
        self._root = Path(os.path.realpath(root))
        self._home = home
        self._count = 0
        named = manifest.discover_commands(_top(self._root))
        self.usual = tuple(dict.fromkeys([*(c for c in extra if c.strip()), *(f.command for f in named)]))

    async def run(
        self,
        command: Annotated[
            str, Field(min_length=1, max_length=8_000, description="A command, or several as a shell takes them")
        ],
    ) -> CallToolResult:
        """Run a command. How it ended stands in the first line, and beside the text for whoever records the call."""
        try:
            argv = [*_SHELL_ARGV, command] if _SHELL.search(command) else shlex.split(command)
        except ValueError as error:
            raise ToolError(f"command: it cannot be read ({error})") from None
        limits = sandbox.ProcessLimits(seconds=float(os.environ.get(VARIABLE, "") or _SECONDS))
        ran = await sandbox.run(argv, self._root, limits=limits)
        how = f"exit {ran.exit}" if ran.exit is not None else f"{'stopped' if ran.stopped else 'not run'}: {ran.ended}"
        text = f"{how}, after {ran.seconds:.1f} s\n\n{self._shortened(ran.output)}"
        return CallToolResult(
            content=[TextContent(text=text)], is_error=ran.exit is None, _meta={ENDED: how[:MOST_ENDED]}
        )

    def _shortened(self, output: str) -> str:
        """The output, its middle cut where it is long; the whole is kept beside the folder."""
        if len(output) <= MOST_SHOWN:
            return output
        self._count += 1
        name = f"output-{self._count}.txt"
        (self._home / name).write_text(output, encoding="utf-8")
        return f"{sandbox.cut(output, MOST_SHOWN)}\n[all of it: read_output, name {name!r}]"

    def read_output(
        self,
        name: Annotated[str, Field(pattern=r"^output-\d{1,6}\.txt$", description="As a run named it")],
        first_line: Annotated[int, Field(ge=1)] = 1,
        lines: Annotated[int, Field(ge=1, le=2_000)] = 200,
    ) -> str:
        """Read the output of an earlier run that was cut."""
        path = self._home / name
        if not path.is_file():
            raise ToolError(f"name {name!r}: there is no such output")
        every = path.read_text(encoding="utf-8").splitlines()
        part = every[first_line - 1 : first_line - 1 + lines]
        end = first_line - 1 + len(part)
        return sandbox.cut("\n".join(part), MOST_SHOWN) + f"\n[lines {first_line} to {end} of {len(every)}]"


def _top(root: Path) -> dict[str, bytes]:
    """The files at the folder's top and of its folders of tests, as a manifest is read from them."""
    files: dict[str, bytes] = {}
    for folder in (root, root / "tests", root / "test"):
        if folder.is_dir() and not folder.is_symlink():
            for path in sorted(folder.iterdir())[:1_000]:
                if path.is_file() and not path.is_symlink() and path.stat().st_size <= _READ:
                    files[path.relative_to(root).as_posix()] = path.read_bytes()
    return files


def server(root: Path, extra: Sequence[str]) -> MCPServer:
    """The server for one folder."""
    commands = Commands(root, extra, Path(os.environ["HOME"]))
    mcp_server = MCPServer("commands")
    usual = f" Usual here: {'; '.join(commands.usual)}." if commands.usual else ""
    about = "Run any command in a sandbox, as in a shell: no network, this folder alone, at most 120 s."
    mcp_server.add_tool(
        commands.run, structured_output=False, description=f"{about}{usual} {sandbox.unavailable()}".strip()
    )
    mcp_server.add_tool(commands.read_output, structured_output=False)
    return mcp_server


def main(arguments: list[str]) -> int:
    """Serve until standard input ends."""
    if not arguments or not Path(arguments[0]).is_dir():
        print(
            "usage: python -m parley.agents.tools.run_server ROOT [COMMAND...], ROOT an existing folder",
            file=sys.stderr,
        )
        return 2
    server(Path(arguments[0]), arguments[1:]).run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
