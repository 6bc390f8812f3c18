"""The tool server that shows the history of a task's folder, over MCP on standard input and output.

    python -m parley.agents.tools.history_server FILE

The file is what parley.schemas.folders.history describes. There is no repository and no git here: what is shown is
computed from texts.
"""

import difflib
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from parley.agents.tools.folder_diff import diff
from parley.agents.tools.sandbox import cut
from parley.schemas.folders import history
from parley.schemas.folders.archive import Files, FolderError
from parley.schemas.folders.history import Commit, History

MOST_SHOWN = 14_000
"""Characters of a result."""
_MOST_DIFF = 400_000
_MOST_FILES = 20
_MOST_MESSAGE = 600
_COMMIT = re.compile(r"[0-9a-f]{4,64}")
_BACK = re.compile(r"HEAD(?:~(\d{1,3}))?")
OLDER = "[older commits were not sent]"
Name = Annotated[str, Field(description="Path in the folder, such as src/app.py")]


class HistoryTools:
    """What the tools do. Each raises ToolError for what cannot be shown."""

    def __init__(self, past: History) -> None:
        self._commits = {c.id: c for c in past.commits}
        self._texts = past.texts
        self._trees = history.trees(past)
        self._cut = any(self._is_ground(c) for c in past.commits)

    def history_log(
        self,
        path: Annotated[str, Field(description="A file or folder that the commits changed; all by default")] = ".",
        most: Annotated[int, Field(ge=1, le=history.MOST_COMMITS, description="So many commits at most")] = 20,
    ) -> str:
        """List the last commits of the folder that was given, the newest first: id, date, author, message, files. What
        the task has changed is not in it. Renamed files count as removed and new."""
        wanted = _path(path)
        shown = []
        for commit in reversed(self._commits.values()):
            files = [p for p in self._changed(commit) if not wanted or p == wanted or p.startswith(f"{wanted}/")]
            if files or not wanted:
                shown.append(self._commit_lines(commit, files))
        rest = len(shown) - most
        rows = [*shown[:most], *([f"[{rest} more are here: raise most]"] if rest > 0 else [])]
        if self._cut and rest <= 0:
            rows.append(OLDER)
        return cut("\n".join(rows), MOST_SHOWN) if rows else f"No commit has changed {path!r}."

    def history_blame(
        self,
        path: Name,
        first: Annotated[int, Field(ge=1, description="From this line on, counted from 1")] = 1,
        last: Annotated[int | None, Field(ge=1, description="Up to this line")] = None,
    ) -> str:
        """Show which commit each line of a file comes from, as the newest commit has the file."""
        wanted = _path(path)
        newest = next(reversed(self._trees.values()), {})
        content = newest.get(wanted)
        if content is None:
            raise ToolError(f"path {path!r}: the newest commit has no such file")
        if content not in self._texts:
            if any(wanted in self._changed(c) for c in self._commits.values()):
                raise ToolError(f"path {path!r}: it is no text, or too long")
            return f"None of the commits that were sent changed {wanted}: all of it is older."
        lines = _lines(self._texts[content])
        if last is not None and last < first:
            raise ToolError(f"last: {last} is before first, {first}")
        end = min(last or len(lines), len(lines))
        origins = self._origins(wanted, len(lines), range(first - 1, end))
        rows = [f"{self._mark(origins[n])} {n + 1:5}: {lines[n]}" for n in range(first - 1, end)]
        if any(r.startswith("^") for r in rows):
            rows.append("[^: of this commit or an older one, which was not sent]")
        return cut("\n".join(rows), MOST_SHOWN) or f"{wanted} has {len(lines)} lines."

    def history_diff(
        self,
        commit: Annotated[str, Field(description="Its id or the beginning of it; HEAD, HEAD~1: the newest commits")],
        path: Annotated[str, Field(description="Only this file or folder")] = ".",
    ) -> str:
        """Show what one commit changed, as a unified diff against its first parent."""
        target, wanted = self._named(commit), _path(path)
        if self._is_ground(target):
            raise ToolError(
                f"commit {target.id[:12]}: the commit before it was not sent, so what it changed is not known"
            )
        files = [p for p in self._changed(target) if not wanted or p == wanted or p.startswith(f"{wanted}/")]
        if not files:
            return f"{target.id[:12]} changed nothing of {path!r}."
        before, after = self._before(target), self._trees[target.id]
        unknown = [p for p in files if any(t[p] not in self._texts for t in (before, after) if p in t)]
        known = [p for p in files if p not in unknown]
        text = diff(self._files(before, known), self._files(after, known), _MOST_DIFF)
        rows = [f"{p}: changed; it is no text, or too long to be shown" for p in unknown]
        return cut("\n".join([self._commit_lines(target, files), "", text, *rows]), MOST_SHOWN)

    def _named(self, text: str) -> Commit:
        back = _BACK.fullmatch(text)
        if back is not None:
            commit = next(reversed(self._commits.values()), None)
            for _ in range(int(back[1] or 0)):
                commit = self._commits.get(commit.parents[0]) if commit is not None and commit.parents else None
            if commit is None:
                raise ToolError(f"commit {text!r}: it is not among those that were sent; history_log lists them")
            return commit
        if not _COMMIT.fullmatch(text):
            raise ToolError(f"commit {text[:80]!r}: expected at least 4 hex digits of an id, as history_log shows them")
        ids = [id_ for id_ in self._commits if id_.startswith(text)]
        if len(ids) != 1:
            raise ToolError(f"commit {text!r}: {len(ids)} of those that were sent begin so; history_log lists them")
        return self._commits[ids[0]]

    def _is_ground(self, commit: Commit) -> bool:
        return bool(commit.parents) and commit.parents[0] not in self._commits

    def _before(self, commit: Commit) -> dict[str, str]:
        return self._trees[commit.parents[0]] if commit.parents else {}

    def _changed(self, commit: Commit) -> list[str]:
        return [] if self._is_ground(commit) else sorted(commit.files)

    def _files(self, tree: dict[str, str], paths: list[str]) -> Files:
        return {p: (self._texts[tree[p]].encode(), False) for p in paths if p in tree}

    def _commit_lines(self, commit: Commit, files: list[str]) -> str:
        day = datetime.fromtimestamp(min(commit.at, 253_402_300_799), UTC).date().isoformat()
        message = commit.message[:_MOST_MESSAGE].replace("\n", "\n    ")
        merged = f" (joins {' and '.join(p[:12] for p in commit.parents)})" if len(commit.parents) > 1 else ""
        rows = [f"{commit.id[:12]} {day} {commit.author}{merged}: {message}"]
        before = self._before(commit) if files else {}
        rows += [
            f"  {'D' if commit.files.get(p) is None else 'M' if p in before else 'A'} {p}" for p in files[:_MOST_FILES]
        ]
        if len(files) > _MOST_FILES:
            rows.append(f"  ... and {len(files) - _MOST_FILES} more files")
        return "\n".join(rows)

    def _mark(self, origin: Commit) -> str:
        day = datetime.fromtimestamp(min(origin.at, 253_402_300_799), UTC).date().isoformat()
        older = any(p not in self._commits for p in origin.parents)
        return f"{'^' if older else ' '}{origin.id[:12]} {day} {origin.author[:20]:20}"

    def _origins(self, path: str, lines: int, wanted: range) -> dict[int, Commit]:
        """Line of the newest version, from 0 -> where it comes from: each is passed on to the first parent that has
        it, until none has."""
        order = [*reversed(self._commits.values())]
        open_lines: dict[str, dict[int, int]] = {order[0].id: {n: n for n in wanted if n < lines}}
        origins: dict[int, Commit] = {}
        for commit in order:
            own_lines = open_lines.pop(commit.id, {})
            for parent in commit.parents:
                if not own_lines or parent not in self._commits:
                    continue
                same = self._same(self._trees[commit.id].get(path, ""), self._trees[parent].get(path, ""), own_lines)
                open_lines.setdefault(parent, {}).update({n: same[at] for n, at in own_lines.items() if at in same})
                own_lines = {n: at for n, at in own_lines.items() if at not in same}
            origins |= dict.fromkeys(own_lines, commit)
        return origins

    def _same(self, content: str, before: str, own_lines: dict[int, int]) -> dict[int, int]:
        """Line of a content -> the line of another that it is."""
        if content == before:
            return {at: at for at in own_lines.values()}
        new, old = (_lines(self._texts.get(c, "")) for c in (content, before))
        blocks = difflib.SequenceMatcher(None, old, new).get_matching_blocks()
        return {b.b + i: b.a + i for b in blocks for i in range(b.size)}


def _path(path: str) -> str:
    """A path without what says nothing; empty: the folder."""
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def server(history: History) -> MCPServer:
    """The server for one history."""
    past = HistoryTools(history)
    mcp_server = MCPServer("history")
    for tool in (past.history_log, past.history_blame, past.history_diff):
        mcp_server.add_tool(tool, structured_output=False)
    return mcp_server


def main(arguments: list[str]) -> int:
    """Serve until standard input ends. Without a file there is no commit to show."""
    try:
        (file,) = arguments
        past = history.read(Path(file).read_bytes()) if file else History()
    except (ValueError, OSError, FolderError) as error:
        print(
            f"usage: python -m parley.agents.tools.history_server FILE, the archive of a history ({error})",
            file=sys.stderr,
        )
        return 2
    server(past).run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
