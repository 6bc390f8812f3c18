"""Runs of a commit's tests in folders of their own: which lines they execute, and whether they notice a mutant."""

import ast
import fcntl
import importlib.util
import json
import os
import random
import resource
import signal
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from tests.house.mutations import PACKAGES, Mutant, Tree

ROOT = Path(__file__).parents[2]
PLUGIN = Path(__file__).parent / "watching"
QUICK = "not slow and not serial and not nightly"
TEST_S = 30
"""A test that runs longer has failed: with the mutant it does not end."""
MEMORY = 6 << 30
"""Bytes of a run: a loop that no longer ends may fill a list."""


class Executed(msgspec.Struct, frozen=True):
    """What a run of the quick tests told: the file that `cover` writes."""

    commit: str
    lines: dict[str, dict[str, str]]
    """Test file -> file of the product -> the lines that it executes, as bits of a hexadecimal number."""
    seconds: dict[str, float]
    failed: list[str]
    """Tests that fail without any mutant: never run again."""


class Watched:
    """A commit that is checked out in a folder, with the tests that execute its lines."""

    def __init__(self, root: Path, executed: Executed) -> None:
        self.tree = Tree(root)
        self.executed = executed
        self.bits = {t: {f: int(h, 16) for f, h in executed.lines.get(t, {}).items()} for t in executed.seconds}

    @cached_property
    def importing(self) -> dict[str, set[str]]:
        """File of the product -> test files that import it by name."""
        known = defaultdict(set)
        for test in self.bits:
            for file in _imports(self.tree.root, test):
                known[file].add(test)
        return known

    def share(self, test: str, file: str) -> float:
        """How much of what a test file executes is in this file."""
        return self.bits[test].get(file, 0).bit_count() / (sum(b.bit_count() for b in self.bits[test].values()) or 1)

    def executes(self, test: str, mutant: Mutant) -> bool:
        source = self.tree.source(mutant.file)
        if mutant.lineno not in source.called:
            return test in self.importing[mutant.file] or bool(self.bits[test].get(mutant.file))
        bits = self.bits[test].get(mutant.file, 0)
        return any(bits >> n & 1 for n in (mutant.lineno, source.statement[mutant.lineno]))

    def tests(self, mutant: Mutant, files: int, seconds: float) -> list[str]:
        """Those that execute a line, the nearest first: as many as are allowed, one at least."""
        called = mutant.lineno in self.tree.source(mutant.file).called
        near = [
            (not called and test not in self.importing[mutant.file], -self.share(test, mutant.file), test)
            for test in self.bits
            if self.executes(test, mutant)
        ]
        chosen: list[str] = []
        for _, _, test in sorted(near)[:files]:
            took = self.executed.seconds.get(test, 0)
            if took <= seconds or not chosen:
                chosen.append(test)
                seconds -= took
        return chosen

    def drawn(self, dice: random.Random, skip: Sequence[str] = ()) -> Iterable[Mutant]:
        """Mutants in an order by chance, one a line, in lines that some test file executes."""
        files = [file for file in self.tree.files if not any(fnmatch(file, pattern) for pattern in skip)]
        lines = defaultdict(list)
        for mutant in (m for file in files for m in self.tree.source(file).mutants):
            lines[mutant.file, mutant.lineno].append(mutant)
        for place in dice.sample(sorted(lines), len(lines)):
            kinds = defaultdict(list)
            for mutant in lines[place]:
                kinds[mutant.kind].append(mutant)
            chosen = dice.choice(kinds[dice.choice(sorted(kinds))])
            executed = any(self.executes(test, chosen) for test in self.bits)
            if executed and self.tree.source(chosen.file).compiles(chosen):
                yield chosen


def _imports(root: Path, file: str) -> set[str]:
    """The product's files that a module imports by name, those behind links as where they lie."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((root / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
    places = [root / f"{name.replace('.', '/')}{end}" for name in names for end in (".py", "/__init__.py")]
    return {place.resolve().relative_to(root.resolve()).as_posix() for place in places if place.is_file()}


class Runner:
    """Makes mutants in checkouts of one commit, one at a time in each, and runs tests there."""

    def __init__(self, watched: Watched, python: str, roots: Sequence[Path], failed: Sequence[str] = ()) -> None:
        self.watched = watched
        self.python = python
        self.free = list(roots)
        self.failed = failed

    def run(self, mutant: Mutant, tests: Sequence[str]) -> dict[str, Any]:
        """Whether one of these test files notices."""
        if not tests:
            return {"status": "unexecuted"}
        root = self.free.pop()
        file = root / mutant.file
        try:
            file.write_text(self.watched.tree.source(mutant.file).changed(mutant.lineno, mutant.new), encoding="utf-8")
            _forget(file)
            return {"tests": list(tests), **self._judge(root, tests)}
        finally:
            git(root, "checkout", "--quiet", "--force", "HEAD")
            git(root, "clean", "--quiet", "--force", "-d", "--exclude", ".venv")  # what a faulty product left behind
            _forget(file)
            self.free.append(root)

    def check(self) -> None:
        """The shortest test file passes as it is: otherwise every mutant would be found."""
        shortest = min(self.watched.executed.seconds.items(), key=lambda item: item[1])[0]
        code, by = pytest(self.free[0], self.python, [shortest], None, self.failed)
        if code not in (0, 5):
            raise SystemExit(f"without any mutant {by or shortest} fails in {self.free[0]} (pytest: {code})")

    def _judge(self, root: Path, tests: Sequence[str]) -> dict[str, Any]:
        limit_s = 60 + 3 * sum(self.watched.executed.seconds.get(test, 0) for test in tests)
        passed_again: list[str] = []
        while len(passed_again) < 3:
            code, by = pytest(root, self.python, tests, limit_s, [*self.failed, *passed_again])
            if code is None:
                return {"status": "timeout"}
            if code in (0, 5):
                return {"status": "missed"}
            if "::" not in by:  # a module cannot be imported any more
                return {"status": "found", "by": by or "conftest.py"}
            if pytest(root, self.python, [by], limit_s)[0] != 0:
                return {"status": "found", "by": by}
            passed_again.append(by)
        return {"status": "missed"}


def pytest(
    root: Path, python: str, tests: Sequence[str], limit_s: float | None, but: Sequence[str] = ()
) -> tuple[int | None, str]:
    """Run tests in a checkout, up to the first that fails: the exit status (None: out of time), and which failed."""
    with tempfile.TemporaryDirectory() as folder:
        failed = Path(folder, "failed")
        paths = os.pathsep.join([str(root), str(PLUGIN)])
        child = subprocess.Popen(
            [python, "-m", "pytest", "-x", "-q", "-p", "executed", "-p", "no:cacheprovider", "-p", "no:xdist",
             f"--timeout={TEST_S}", "-m", QUICK, *tests, *(f"--deselect={test}" for test in but)],
            cwd=root, env={**os.environ, "PYTHONPATH": paths, "EXECUTED_FAILED": str(failed)}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=_modest,
        )  # fmt: skip
        try:
            code = child.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
        return code, failed.read_text(encoding="utf-8").partition("\n")[0] if failed.exists() else ""


def _modest() -> None:
    os.nice(15)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def _forget(file: Path) -> None:
    """No compiled module is taken for this file: two mutants made within a second look alike to Python."""
    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def checkout(repository: Path, commit: str, python: str) -> Path:
    """A folder with this commit that no other run uses as long as this process lives."""
    for n in range(100):
        folder = Path(tempfile.gettempdir(), "parley-mutants", f"{commit[:12]}-{n}")
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            continue
        if not (folder / ".git").exists():
            git(repository, "worktree", "add", "--force", "--detach", str(folder), commit)
            (folder / ".venv").symlink_to(Path(python).absolute().parents[1])
        git(folder, "checkout", "--quiet", "--force", "--detach", commit)
        return folder
    raise SystemExit("a hundred runs at once")


def cover(root: Path, commit: str, python: str, processes: int) -> Executed:
    """Run the quick tests of a checkout once, and keep what they execute."""
    with tempfile.TemporaryDirectory() as data:
        variables = {
            "PYTHONPATH": os.pathsep.join([str(root), str(PLUGIN)]),
            "EXECUTED_DATA": data,
            "EXECUTED_FAILED": f"{data}/failed",
            "EXECUTED_PACKAGES": " ".join(PACKAGES),
        }
        command = [python, "-m", "pytest", "-q", "-p", "executed", "-p", "no:cacheprovider", "-m", QUICK]
        subprocess.run(
            [*command, "-n", str(processes), "--dist", "worksteal"],
            cwd=root,
            env=os.environ | variables,
            preexec_fn=_modest,
        )
        return gathered(Path(data), root, commit)


def gathered(data: Path, root: Path, commit: str) -> Executed:
    """What the processes of a run wrote down."""
    from coverage import CoverageData

    lines: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    seconds: Counter[str] = Counter()
    for path in data.glob("coverage.*"):
        found = CoverageData(str(path))
        found.read()
        for file in found.measured_files():
            name = Path(file).resolve().relative_to(root.resolve()).as_posix()
            for lineno, contexts in found.contexts_by_lineno(file).items():
                for test in filter(None, contexts):
                    lines[test][name] |= 1 << lineno
    for path in data.glob("seconds.*"):
        seconds.update(json.loads(path.read_text(encoding="utf-8")))
    failed = data / "failed"
    return Executed(
        commit=commit,
        lines={test: {file: f"{bits:x}" for file, bits in files.items()} for test, files in lines.items()},
        seconds={test: round(s, 2) for test, s in seconds.items()},
        failed=sorted(set(failed.read_text(encoding="utf-8").splitlines())) if failed.exists() else [],
    )
