"""Shows how much the tests notice: makes small faults in the product, and runs the tests that execute them.

    python -m tests.house.mutants cover
    python -m tests.house.mutants sample 300 --out .cache/mutants/before.jsonl
    python -m tests.house.mutants again .cache/mutants/before.jsonl --out .cache/mutants/after.jsonl

What it compares are commits (`--commit`, HEAD if not said), each checked out in a folder of its own: what you have not
committed is not seen. Only quick tests count. All runs are nice to others, and go on where they were ended.

1. `cover` runs a commit's quick tests once and writes which lines each test file executes, how long it takes, and which
   tests fail as it is, to .cache/mutants/COMMIT.json (`--map`). Needs the package coverage. What a test executes in
   another process is not seen. A line that runs at import belongs to the tests that import its module by name, and to
   those that execute its functions.
2. `sample N` draws N mutants with a seed (tests/house/mutations.py says what a mutant is): a line that a quick test
   executes, then a kind of change, then a change. The first N of `sample M`, M > N, are those of `sample N`. `--skip`
   leaves files out. Each mutant is made in the checkout, the test files that execute its line run, those first which
   execute little else (`--files` and `--seconds` say how many), up to the first failure, and the failed test runs once
   more: one that passes now is left out, and all run again.
3. `again` finds each mutant of such a file in another commit (same function, same line; files may have moved) and runs
   that commit's tests. Prints those that were found and no longer are.

A line of the JSONL is a mutant with `status`: `found` (`by` which test), `missed` (all of `tests` passed), `timeout`
(they did not end in time), `unexecuted` (no quick test executes it) or `gone` (the line does not stand). A mutant that
was found is lost where it stands and its status is another. The lost are in FILE.lost.jsonl as well: `again` takes that
file to see whether new tests find them, after `cover` of the commit that has these tests.
"""

import argparse
import json
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from tests.house.mutant_runs import ROOT, Executed, Runner, Watched, checkout, cover, git
from tests.house.mutations import Mutant

CACHE = Path(".cache", "mutants")


class Results:
    """A file of JSON lines, by mutant; what is in it is not run again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writing = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self.known = {_key(line): line for line in read(path)} if path.exists() else {}

    def run(
        self, jobs: Sequence[dict[str, Any]], work: Callable[[dict[str, Any]], dict[str, Any]], at_once: int
    ) -> None:
        """Do the jobs that are not known, and write each down as it ends."""

        def one(job: dict[str, Any]) -> None:
            line = {**job, **work(job)}
            with self._writing, self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                self.known[_key(line)] = line

        with ThreadPoolExecutor(at_once) as threads:
            list(threads.map(one, [job for job in jobs if _key(job) not in self.known]))

    def of(self, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return [self.known[_key(job)] for job in jobs]


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _key(line: dict[str, Any]) -> str:
    return json.dumps([line["mutant"], line["commit"]], sort_keys=True)


def told(line: dict[str, Any]) -> str:
    m = msgspec.convert(line["mutant"], Mutant)
    return f"({line['status']}) {m.file}:{m.lineno} ({m.function or 'module'})\n  - {m.old}\n  + {m.new}"


def tell_lost(lines: Iterable[dict[str, Any]], out: Path) -> int:
    """Print the mutants that were found and no longer are, and write them where `again` can take them up."""
    lost = [line for line in lines if line["before"] == "found" and line["status"] not in ("found", "gone")]
    for line in lost:
        print(f"LOST {told(line)}")
    again = "".join(json.dumps({"mutant": line["mutant"], "status": "found"}) + "\n" for line in lost)
    out.with_suffix(".lost.jsonl").write_text(again, encoding="utf-8")
    return len(lost)


class Commit:
    """A commit with its checkouts, its map and its runner."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.sha = git(args.root, "rev-parse", f"{args.commit}^{{commit}}")
        self.roots = [checkout(args.root, self.sha, args.python) for _ in range(args.workers)]
        self.map = args.map or args.root / CACHE / f"{self.sha}.json"
        self.args = args

    @cached_property
    def watched(self) -> Watched:
        if not self.map.exists():
            raise SystemExit(f"there is no {self.map}: run `cover --commit {self.sha[:12]}` first")
        executed = msgspec.json.decode(self.map.read_bytes(), type=Executed)
        if executed.commit != self.sha:
            raise SystemExit(f"{self.map} is of {executed.commit[:12]}, not of {self.sha[:12]}")
        return Watched(self.roots[0], executed)

    @cached_property
    def runner(self) -> Runner:
        return Runner(self.watched, self.args.python, self.roots, self.watched.executed.failed)

    def judge(self, job: dict[str, Any]) -> dict[str, Any]:
        """A mutant, of whatever commit, by the tests of this one."""
        here = self.watched.tree.find(msgspec.convert(job["mutant"], Mutant))
        if here is None:
            return {"status": "gone"}
        tests = self.watched.tests(here, self.args.files, self.args.seconds)
        return {"at": f"{here.file}:{here.lineno}", **self.runner.run(here, tests)}


def sample(here: Commit, args: argparse.Namespace) -> int:
    drawn = here.watched.drawn(random.Random(args.seed), skip=args.skip)
    jobs = [{"mutant": msgspec.to_builtins(m), "commit": here.sha} for m in islice(drawn, args.number)]
    results = Results(args.out)
    results.run(jobs, here.judge, args.workers)
    print(f"{len(jobs)} mutants: {counted(results.of(jobs))}")
    return 0


def again(here: Commit, args: argparse.Namespace) -> int:
    before = read(args.results)
    jobs = [{"mutant": line["mutant"], "commit": here.sha, "before": line["status"]} for line in before]
    results = Results(args.out)
    results.run(jobs, here.judge, args.workers)
    after = results.of(jobs)
    standing = [line for line in after if line["status"] != "gone"]
    lost = tell_lost(after, args.out)
    print(f"before: {counted(before)}\nafter: {counted(after)}")
    found = [sum(line[when] == "found" for line in standing) for when in ("before", "status")]
    print(f"of the {len(standing)} that stand, found before: {found[0]}, now: {found[1]}, lost: {lost}")
    return 1 if lost else 0


def counted(lines: Iterable[dict[str, Any]]) -> str:
    return ", ".join(f"{status} {n}" for status, n in Counter(line["status"] for line in lines).most_common())


def main() -> int:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--root", type=Path, default=ROOT, help="the repository")
    shared.add_argument("--commit", default="HEAD")
    shared.add_argument("--map", type=Path, help="what `cover` wrote for the commit")
    shared.add_argument("--python", default=sys.executable, help="with the dependencies of the commit")
    shared.add_argument("--workers", type=int, default=1, choices=(1, 2), help="how many mutants at once")
    shared.add_argument("--files", type=int, default=12, help="test files that run for a mutant, at most")
    shared.add_argument("--seconds", type=float, default=60, help="what they take without it, at most")
    shared.add_argument("--seed", type=int, default=34)
    parser = argparse.ArgumentParser(prog="python -m tests.house.mutants", description="What do the tests notice?")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("cover", parents=[shared])
    one = commands.add_parser("sample", parents=[shared])
    one.add_argument("number", type=int)
    one.add_argument("--skip", action="append", default=[], metavar="GLOB", help="files of the product to leave out")
    two = commands.add_parser("again", parents=[shared])
    two.add_argument("results", type=Path)
    for command in (one, two):
        command.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    here = Commit(args)
    if args.command == "cover":
        executed = cover(here.roots[0], here.sha, args.python, args.workers)
        here.map.parent.mkdir(parents=True, exist_ok=True)
        here.map.write_bytes(msgspec.json.encode(executed))
        print(f"{len(executed.seconds)} test files, {len(executed.failed)} failed tests: {here.map}")
        return 0
    here.runner.check()
    return (sample if args.command == "sample" else again)(here, args)


if __name__ == "__main__":
    sys.exit(main())
