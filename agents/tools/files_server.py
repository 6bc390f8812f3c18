"""The tool server that ships: files of one folder, over MCP on standard input and output.

    python -m parley.agents.tools.files_server ROOT

It holds every path inside its folder by itself, whoever calls it.
"""

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from parley.agents.tools import patch as patches
from parley.agents.tools.paths import Outside, inside, is_repository

MOST_READ = 100_000
"""Characters of a file that are read at once."""
MOST_WRITE = 2_000_000
"""Bytes of a file that is written."""
MOST_LISTED = 1_000
MOST_FOUND = 200
Name = Annotated[str, Field(description="Path in the folder, such as src/app.py")]


@contextmanager
def _told(what: str) -> Iterator[None]:
    """What cannot be done is told as a ToolError, of `what`."""
    try:
        yield
    except UnicodeDecodeError:
        raise ToolError(f"{what}: it is not UTF-8 text") from None
    except OSError as error:
        raise ToolError(f"{what}: {error.strerror}") from None
    except (Outside, patches.PatchError) as error:
        raise ToolError(str(error)) from None


class Files:
    """What the tools do, below one folder. Each raises ToolError for what cannot be done."""

    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.realpath(root))

    def _at(self, path: str) -> Path:
        with _told(f"path {path!r}"):
            return inside(self._root, path)

    def _name(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _files(self, folder: Path) -> list[Path]:
        paths = []
        for at, folders, names in os.walk(folder, followlinks=False):
            folders[:] = sorted(f for f in folders if not is_repository(f))
            paths += [p for p in (Path(at) / n for n in sorted(names)) if not p.is_symlink() and p.is_file()]
        return paths

    def _read(self, path: str) -> tuple[Path, str]:
        at = self._at(path)
        if not at.is_file():
            raise ToolError(f"path {path!r}: there is no such file")
        with _told(f"path {path!r}"):
            return at, _text(at)

    def _write(self, path: str, at: Path, content: str) -> int:
        data = content.encode("utf-8", "replace")
        if len(data) > MOST_WRITE:
            raise ToolError(f"content: {len(data):,} bytes, the limit is {MOST_WRITE:,}")
        if at == self._root or at.is_dir():
            raise ToolError(f"path {path!r}: it is a folder")
        with _told(f"path {path!r}"):
            at.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(at, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644), "wb") as file:
                file.write(data)
        return len(data)

    def list_files(self, folder: Name = ".") -> str:
        """List the files in a folder and below it, one a line, with their sizes in bytes."""
        at = self._at(folder)
        if not at.is_dir():
            raise ToolError(f"folder {folder!r}: there is no such folder")
        files = self._files(at)
        lines = [f"{self._name(p)} ({p.stat().st_size:,})" for p in files[:MOST_LISTED]]
        if len(files) > MOST_LISTED:
            lines.append(f"... and {len(files) - MOST_LISTED:,} more")
        return "\n".join(lines) or "There are no files."

    def read_file(
        self,
        path: Name,
        first_line: Annotated[int, Field(ge=1, description="From this line on, counted from 1")] = 1,
        lines: Annotated[int, Field(ge=1, le=100_000, description="So many lines at most")] = 2_000,
    ) -> str:
        """Read a text file."""
        _, text = self._read(path)
        every = text.splitlines(keepends=True)
        part = "".join(every[first_line - 1 : first_line - 1 + lines])[:MOST_READ]
        shown = len(part.splitlines())
        if first_line > 1 or shown < len(every):
            part += f"\n[lines {first_line} to {first_line - 1 + shown} of {len(every)}]"
        return part

    def write_file(self, path: Name, content: str) -> str:
        """Write a text file, in place of what stands there, or a new one with the folders that it needs."""
        at = self._at(path)
        existed = at.exists()
        size = self._write(path, at, content)
        return f"{self._name(at)}: {'written anew' if existed else 'created'}, {size:,} bytes"

    def replace_in_file(self, path: Name, old: str, new: str) -> str:
        """Replace a piece of text in a file. It must stand there exactly once."""
        at, text = self._read(path)
        count = text.count(old) if old else 0
        if count != 1:
            raise ToolError(f"path {path!r}: the old text stands there {count} times, expected exactly once")
        self._write(path, at, text.replace(old, new))
        line = text[: text.index(old)].count("\n") + 1
        return f"{self._name(at)}: replaced in line {line}"

    def search(
        self,
        pattern: Annotated[str, Field(min_length=1, max_length=1_000, description="A regular expression")],
        folder: Name = ".",
        ignore_case: bool = False,
        literal: Annotated[bool, Field(description="The pattern is looked for as it stands")] = False,
    ) -> str:
        """Search the text files below a folder, line by line; shows file, line number and line. One that takes longer
        than the server's time is ended."""
        try:
            wanted = re.compile(re.escape(pattern) if literal else pattern, re.I if ignore_case else 0)
        except re.error as error:
            raise ToolError(f"pattern: it is no regular expression ({error})") from None
        return self._search(wanted, folder)

    def _search(self, wanted: re.Pattern[str], folder: str) -> str:
        matches: list[str] = []
        for path in self._files(self._at(folder)):
            try:
                content = _text(inside(self._root, str(path)))
            except (OSError, UnicodeDecodeError, Outside):  # what read_file refuses is not searched
                continue
            for number, line in enumerate(content.splitlines(), 1):
                if wanted.search(line):
                    matches.append(f"{self._name(path)}:{number}: {line.strip()[:300]}")
                    if len(matches) >= MOST_FOUND:
                        return "\n".join([*matches, "... and perhaps more"])
        return "\n".join(matches) or "It stands nowhere."

    def move_file(self, path: Name, to: Annotated[str, Field(description="Its new path in the folder")]) -> str:
        """Move a file, or give it another name. Nothing is overwritten."""
        at, target = self._at(path), self._at(to)
        if not at.is_file():
            raise ToolError(f"path {path!r}: there is no such file")
        if target.exists():
            raise ToolError(f"to {to!r}: something is there already")
        with _told(f"to {to!r}"):
            target.parent.mkdir(parents=True, exist_ok=True)
            at.rename(target)
        return f"{self._name(target)}: moved from {path}"

    def apply_patch(self, patch: Annotated[str, Field(min_length=1, description="A unified diff")]) -> str:
        """Change files by a unified diff, of one file or several: all of it, or nothing where a hunk does not fit."""
        with _told("the patch cannot be written"):
            return "\n".join(patches.apply(self._root, patch))

    def delete_file(self, path: Name) -> str:
        """Delete a file."""
        at = self._at(path)
        if not at.is_file():
            raise ToolError(f"path {path!r}: there is no such file")
        at.unlink()
        return f"{self._name(at)}: deleted"


def _text(path: Path) -> str:
    """The text of a file that `inside` found, if it is still one and has no second name. Raises Outside, OSError and
    UnicodeDecodeError."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise Outside(path.name, "it is no plain file, or has a second name, which may stand elsewhere")
        return file.read().decode("utf-8")


def server(root: Path) -> MCPServer:
    """The server for one folder."""
    files = Files(root)
    mcp_server = MCPServer("files")
    for tool in (
        files.list_files,
        files.read_file,
        files.write_file,
        files.replace_in_file,
        files.search,
        files.delete_file,
        files.move_file,
        files.apply_patch,
    ):
        mcp_server.add_tool(tool, structured_output=False)
    return mcp_server


def main(arguments: list[str]) -> int:
    """Serve until standard input ends."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m parley.agents.tools.files_server ROOT, an existing folder", file=sys.stderr)
        return 2
    server(Path(arguments[0])).run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
