"""Run the blocks of a page in order, in a copy of the project, with a stack where the page starts one.

The copy has the files that git tracks or would, so in a clone it is the clone; what is compiled of them comes along.
Every page has its own copy, home and state directory. `parley up` and `parley serve` stay until the page ends, or
starts another. `parley` is a fork of one interpreter that has loaded the copy (tests.support.forks); `make` starts its
own.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from parley.stack.lease import read_running
from tests.docs.blocks import ROOT, Block, blocks
from tests.llm.refusals.twins import twin
from tests.support.expert_model import expert_model
from tests.support.forks import ABLE, Kept

PATIENCE_S = 55.0
_OF_THE_PAGE = ("LLM_PROVIDER", "LLM_MODEL")
"""What a page says itself of a model whose server is a twin."""
_LAST = """#!/bin/sh
parley sessions list --json | python -c 'import json, sys; print(json.load(sys.stdin)["sessions"][0]["session"])'
"""
_MASKS = (
    (r"(?m)^ {6}\S+ has answered: .*\n", ""),  # told while it runs, where the post comes later
    (r"\b[0-9a-f]{20}\b", "ID"),
    (r"\b\d+(?:\.\d+)? m?s\b", "TIME"),
    (r'("duration_ms": ?)[\d.]+', r"\1TIME"),
    (r"/tmp/[\w./-]+", "FOLDER"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"\bpid \d+", "PID"),
)


class Failed(Exception):
    """A block does not do what the page says. Names page, line and command."""


def masked(text: str) -> str:
    """Without what differs from run to run."""
    for pattern, word in _MASKS:
        text = re.sub(pattern, word, text)
    return "\n".join(line.rstrip() for line in text.rstrip("\n").split("\n"))


class Page:
    """One page, while it is run. A context manager. Experts have a language model, since tasks need one."""

    def __init__(self, page: str, folder: Path, root: Path = ROOT) -> None:
        self._blocks = blocks(page, (root / page).read_text())
        self._path = root / page
        self.folder = folder / "parley"
        self._home = folder / "home"
        self._stack: subprocess.Popen[bytes] | None = None
        self.fresh: dict[int, list[str]] = {}
        """Line of a sample -> what its command prints now, where that is something else."""
        self.ran = 0
        _copy(root, self.folder)
        (self._home / "bin").mkdir(parents=True)
        last = self._home / "bin" / "last"
        last.write_text(_LAST)
        last.chmod(0o755)
        binaries = Path(sys.executable).parent
        (self.folder / ".venv").mkdir()
        (self.folder / ".venv" / "bin").symlink_to(binaries)
        (self.folder / ".venv" / ".installed").touch()
        self._environ = {
            "PATH": f"{self._home / 'bin'}:{binaries}:{os.environ['PATH']}", "HOME": str(self._home),
            "PARLEY_STATE": str(self._home / "state"), "LANG": "C.UTF-8", "PYTHONPATH": str(self.folder),
        }  # fmt: skip
        self._experts = ExitStack()
        self._environ |= self._experts.enter_context(expert_model())
        self._kept: Kept | None = None
        if ABLE and (self.folder / "tests" / "support" / "forks.py").is_file():
            self._kept = Kept(self.folder, self._environ)
            self._kept.write_command(self._home / "bin" / "parley", self._environ)

    def __enter__(self) -> "Page":
        return self

    def __exit__(self, *_: object) -> None:
        self._end_stack()
        if self._kept is not None:
            self._kept.close()
        self._experts.close()

    @property
    def _door(self) -> tuple[int, ...]:
        return () if self._kept is None else (self._kept.door.fileno(),)

    def run(self) -> None:
        """Run its blocks. Raises Failed."""
        for block in self._blocks:
            if "not run" in block.said:
                continue
            if "first" in block.said:
                self._command(block, block.said["first"], (0,))
            if "file" in block.said:
                target = self.folder / block.said["file"]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text("\n".join(block.lines) + "\n")
            elif "output of" in block.said:
                self._sample(block)
            elif "rows" in block.said:
                self._rows(block)
            elif block.language == "python":
                self._command(block, [sys.executable, "-c", "\n".join(block.lines)], (0,))
            elif block.language == "sh" and "twin" in block.said:
                with twin(block.said["twin"]) as (variables, _):
                    before = self._environ
                    self._environ = {**before, **{k: v for k, v in variables.items() if k not in _OF_THE_PAGE}}
                    self._commands(block)
                    self._environ = before
            elif block.language == "sh":
                self._commands(block)
        self._end_stack()

    def write(self) -> bool:
        """Put what samples print now into the page; whether anything is other."""
        lines = self._path.read_text().split("\n")
        for start in sorted(self.fresh, reverse=True):
            (block,) = [b for b in self._blocks if b.line == start]
            lines[start - 1 : start - 1 + len(block.lines)] = self.fresh[start]
        self._path.write_text("\n".join(lines))
        return bool(self.fresh)

    def _commands(self, block: Block) -> None:
        words = self._words(block)
        commands = block.commands()
        for number, command in enumerate(commands, 1):
            for word, value in words.items():
                command = value.join(re.split(rf"\b{word}\b", command))
            if re.match(r"(?:\w+=\S+ )*parley (?:up|serve)\b", command):
                self._start_stack(block, command)
                continue
            # A question may end without an answer: that is an ending, and what it says is another test's.
            wanted: tuple[int, ...] = (0, 3) if re.search(r"\bparley ask\b|make demo", command) else (0,)
            if "ends" in block.said and number == len(commands):
                wanted = tuple(int(code) for code in block.said["ends"].split())
            self._command(block, command, wanted)

    def _rows(self, block: Block) -> None:
        names = re.findall(r"(?:^| )([A-Z]+)=", block.said.get("with", ""))
        for command, wanted, ends in block.rows():
            filled = command
            if any(re.search(rf"\b{name}\b", command) for name in names):
                for word, value in self._words(block).items():
                    filled = re.sub(rf"\b{word}\b", value, filled)
            printed = " ".join(self._command(block, filled, (ends,)).split())
            if lacking := [x for x in wanted if " ".join(x.split()) not in printed]:
                raise Failed(f"{block.where}: {command}: it does not print {lacking}\n{printed[-3_000:]}")

    def _words(self, block: Block) -> dict[str, str]:
        found = {}
        for word, value in re.findall(r"(\w+)=((?:\$\([^)]*\)|\S)+)", block.said.get("with", "")):
            found[word] = self._command(block, f'printf %s "{value}"', (0,))
        return found

    def _sample(self, block: Block) -> None:
        printed = self._command(block, block.said["output of"], (0, 3)).rstrip("\n").split("\n")
        kept = block.lines[:1] if block.lines and block.lines[0].startswith("$ ") else []
        if masked("\n".join([*kept, *printed])) != masked("\n".join(block.lines)):
            self.fresh[block.line] = [*kept, *(line.rstrip() for line in printed)]

    def _command(self, block: Block, command: str | list[str], wanted: tuple[int, ...]) -> str:
        """What it prints. Raises Failed where it ends with another status."""
        asked = ["bash", "-c", command] if isinstance(command, str) else command
        self.ran += 1
        try:
            done = subprocess.run(
                asked, cwd=self.folder, env=self._environ, stdin=subprocess.DEVNULL, capture_output=True,
                timeout=PATIENCE_S, pass_fds=self._door,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failed(f"{block.where}: {command}: not over within {PATIENCE_S:g} s") from None
        if done.returncode not in wanted:
            said = (done.stdout[-1_500:] + done.stderr[-1_500:]).decode(errors="replace")
            raise Failed(f"{block.where}: {command}\nended with {done.returncode}, expected one of {wanted}\n{said}")
        return done.stdout.decode()

    def _start_stack(self, block: Block, command: str) -> None:
        self._end_stack()
        self.ran += 1
        with (self._home / "up.log").open("wb") as log:
            self._stack = subprocess.Popen(
                ["bash", "-c", f"exec {command}" if command.startswith("parley") else command], cwd=self.folder,
                env=self._environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                pass_fds=self._door,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE_S
        named = re.search(r"--state[ =](\S+)", command)
        state = self.folder / named[1] if named else self._home / "state"
        serves = "parley serve" in command
        while not (self._serves() if serves else _is_up(state)):
            if self._stack.poll() is not None or time.monotonic() > deadline:
                said = (self._home / "up.log").read_text(errors="replace")
                raise Failed(f"{block.where}: {command}: it did not come up\n{said}")
            time.sleep(0.1)

    def _serves(self) -> bool:
        """Whether the gateway has said where it is, and the last line of that."""
        return "programs: " in (said := (self._home / "up.log").read_text(errors="replace")) and said.endswith("\n")

    def _end_stack(self) -> None:
        stack, self._stack = self._stack, None
        if stack is not None and stack.poll() is None:
            os.killpg(stack.pid, signal.SIGTERM)
            stack.wait(PATIENCE_S)


def _is_up(state: Path) -> bool:
    """Whether the stack in a state directory can take work."""
    running = read_running(state)
    return running is not None and running.ready


def _copy(root: Path, target: Path) -> None:
    asked = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(asked, capture_output=True, check=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (root / name).is_symlink() or (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name, follow_symlinks=False)
    for compiled in {(root / name).parent / "__pycache__" for name in names if name.endswith(".py")}:
        if compiled.is_dir():
            shutil.copytree(compiled, target / compiled.relative_to(root), dirs_exist_ok=True)
