"""The tool server that runs commands of a project, over MCP on standard input and output.

    python -m parley.agents.tools.run_server ROOT [COMMAND...]

Those that may be run are the ones that are given, what the project's own manifest names, and some that only look; each
in the sandbox, in the task's folder. Caches that a command leaves there are left out of what the folder is then
(agents/tools/folder.py).
"""

import os
import shlex
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
MAY = "may be run, also with further arguments"
VARIABLE = "PARLEY_RUN_S"
_SECONDS = 120.0
_READ = 200_000
LOOKS = ("ls", "cat", "head", "tail", "wc", "grep", "diff")
"""Commands that only look."""
_PRINTING = frozenset({"-q", "-qq", "-v", "-vv", "--quiet", "--verbose"})


class Commands:
    """What may be run in one folder."""

    def __init__(self, root: Path, extra: Sequence[str], home: Path) -> None:
        self._root = Path(os.path.realpath(root))
        self._home = home
        self._count = 0
        named = manifest.commands(_top(self._root))
        self.allowed = tuple(dict.fromkeys([*(c for c in extra if c.strip()), *(f.command for f in named)]))

    async def run(
        self,
        command: Annotated[
            str, Field(min_length=1, max_length=2_000, description="A command that may be run, and arguments behind it")
        ],
    ) -> CallToolResult:
        """Run a command of the project. How it ended stands in the first line, and beside the text for whoever
        records the call."""
        try:
            argv = shlex.split(command)
        except ValueError as error:
            raise ToolError(f"command: it cannot be read ({error})") from None
        if not any(_begins(argv, shlex.split(allowed)) for allowed in (*self.allowed, *LOOKS)):
            raise ToolError(f"command {command!r} may not be run; {MAY}: {'; '.join((*self.allowed, *LOOKS))}")
        limits = sandbox.Limits(seconds=float(os.environ.get(VARIABLE, "") or _SECONDS))
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


def _begins(argv: Sequence[str], allowed: Sequence[str]) -> bool:
    """Whether a command is one that is allowed, with further arguments. At its end, what says how much is printed may
    be left out, and nothing else: `node --test` does not allow `node FILE`."""
    fixed = list(allowed)
    while len(fixed) > 1 and fixed[-1] in _PRINTING:
        fixed.pop()
    return list(argv[: len(fixed)]) == fixed


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
    allowed = "; ".join((*commands.allowed, *LOOKS))
    why = sandbox.unavailable()
    about = f"Run a command of the project in a sandbox: no network, this folder alone. {MAY.capitalize()}: {allowed}."
    mcp_server.add_tool(commands.run, structured_output=False, description=f"{about} {why}".strip())
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
