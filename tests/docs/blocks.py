"""The fenced blocks of a page, and what comments above them say of how they are run.

| comment above a block | means |
|---|---|
| `<!-- not run: REASON -->` | it needs what a machine without keys, containers or people lacks |
| `<!-- with: ID=$(last) KEYS=... -->` | these words of the commands stand for values, which the shell works out |
| `<!-- first: COMMAND -->` | run before, and not shown |
| `<!-- ends: 1 -->` | the exit status that is wanted of its last command |
| `<!-- file: NAME -->` | it is no command but a file, which later blocks read |
| `<!-- twin: PROVIDER -->` | it is run against a twin of its server (tests/llm/refusals/twins.py), with a key |
| `<!-- output of: COMMAND -->` | it is what the command prints: generated, below a first line `$ ...` if it has one |
| `<!-- rows: 2 -->` | it is a table: the command in this column runs, and prints what stands behind it as code |
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"(\s*)```(\w*)\s*$")
_COMMENT = re.compile(r"<!-- (not run|with|first|ends|file|twin|output of|rows): (.*?) -->\s*$")
_COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(?:parley|make|docker|python|pip|curl) ")


@dataclass
class Block:
    """One fenced block."""

    page: str
    line: int
    """Of its first line of text, from 1."""
    language: str
    lines: list[str] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    """What the comments above it say, by their first word."""

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def runs(self) -> bool:
        """Whether it is something to run: commands, a program, or a sample of output."""
        return self.language in ("sh", "python") or bool({"output of", "rows"} & set(self.said))

    def rows(self) -> list[tuple[str, list[str], int]]:
        """Of a table: (the command, what it prints, how it ends), a row each."""
        found = []
        for line in self.lines:
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))[int(self.said["rows"]) - 1 :]
            code = [x.replace("\\|", "|") for cell in cells for x in re.findall(r"`([^`]+)`", cell)]
            ends = re.search(r"exit status (\d)", cells[-1])
            if code:
                found.append((code[0], code[1:], int(ends[1]) if ends else 0))
        return found

    def commands(self) -> list[str]:
        """Its commands, each on a line; those that go on have a backslash at the end."""
        text = "\n".join(self.lines).replace("\\\n", " ")
        return [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]


def pages() -> list[str]:
    """Every page with something to run."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    found += [ROOT / "docs" / "operations" / "cluster.md"]
    found += [ROOT / "docs" / "spec-map" / "madp-clauses.md", *sorted((ROOT / "docs" / "reports").glob("*.md"))]
    found += [*sorted((ROOT / "docs" / "decisions").glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
    names = [p.relative_to(ROOT).as_posix() for p in found]
    return [name for name in names if any(b.runs or "file" in b.said for b in blocks(name))]


def blocks(page: str, text: str | None = None) -> list[Block]:
    """The blocks of a page, in order."""
    found: list[Block] = []
    said: dict[str, str] = {}
    open_: Block | None = None
    for number, line in enumerate((text or (ROOT / page).read_text()).split("\n"), 1):
        fence = _FENCE.match(line)
        comment = _COMMENT.match(line)
        if open_ is not None:
            if fence:
                open_ = None
            else:
                open_.lines.append(line)
        elif fence:
            open_ = Block(page, number + 1, fence[2], said=said)
            found.append(open_)
            said = {}
        elif comment:
            said = {**said, comment[1]: comment[2]}
        elif "rows" in said and line.startswith("|"):
            if not found or found[-1].said is not said:
                found.append(Block(page, number, "", said=said))
            found[-1].lines.append(line)
        elif line.strip():
            said = {}
    return found


def unfenced(page: str) -> list[str]:
    """Commands that stand in no block that is run: indented ones, and those in a block of another language."""
    held = {n for b in blocks(page) for n in range(b.line - 1, b.line + len(b.lines) + 1)}
    lines = (ROOT / page).read_text().split("\n")
    loose = [f"{page}:{n}: {x.strip()}" for n, x in enumerate(lines, 1) if n not in held and _indented_command(x)]
    for block in (b for b in blocks(page) if not b.language):
        loose += [f"{block.where}: {x}" for x in block.lines if _COMMAND.match(x)]
    return loose


def _indented_command(line: str) -> bool:
    return line.startswith("    ") and bool(_COMMAND.match(line.strip()))
