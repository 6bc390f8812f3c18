"""The bench: `python -m parley_research.benchmarks [--quick] [--json FILE] [PART ...]`; the parts are those of PARTS
below.

Every figure is printed beside a floor that was taken in the same run, since ratios hold from machine to machine and
rates do not. A target that was missed is marked, and does not fail the run.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from parley.stack.lease import Stack
from parley_research.benchmarks import around, model_client, prompts, report
from parley_research.benchmarks import cluster as servers
from parley_research.benchmarks import competition as teams
from parley_research.benchmarks import controller as maci
from parley_research.benchmarks import gateway as pages
from parley_research.benchmarks import routing as tasks
from parley_research.benchmarks import stored as kept
from parley_research.benchmarks.calls import measure as count_calls
from parley_research.benchmarks.debates import Case, Run, bench, stack
from parley_research.benchmarks.floors import bare, events
from parley_research.benchmarks.floors.bare_worker import loop_factory
from parley_research.benchmarks.receiver import receiver
from parley_research.benchmarks.report import Figures

PARTS = (
    "floors", "debates", "calls", "start", "memory", "client", "controller", "competition", "routing", "prompts",
    "stored", "gateway", "cluster",
)  # fmt: skip
LATENCY_S = 0.05
OTHERWISE: dict[str, Callable[[Stack], Stack]] = {
    "a turn a message": lambda s: msgspec.structs.replace(s, turns_per_message=1),
    "two moderators": lambda s: msgspec.structs.replace(s, moderators=2),
}
"""What is changed of the shipped stack."""


def cases(quick: bool, latency_s: float, at_once: tuple[int, ...] = (1, 100)) -> list[Case]:
    """N3R3 and N8R5 at this latency; the more sessions at once, the more are played."""
    total = {1: (5, 2) if latency_s else (40, 12), 100: (300, 300) if latency_s else (600, 200)}
    listed = []
    for size, (debaters, rounds) in enumerate(((3, 3), (8, 5))):
        for many in at_once:
            sessions = max(many, total[many][size] // (3 if quick else 1))
            listed.append(Case(debaters=debaters, rounds=rounds, at_once=many, total=sessions, latency_s=latency_s))
    return listed


async def _each(runs: Callable[[Case], Awaitable[Run]], wanted: list[Case]) -> list[Run]:
    """Every case once; what comes first (imports, caches, the first files of a stream) is played and thrown away."""
    await runs(msgspec.structs.replace(wanted[0], at_once=20, total=40))
    return [await runs(case) for case in wanted]


async def floors(quick: bool, figures: Figures) -> None:
    """Bare asyncio, the bare durable loop, single operations."""
    for latency_s in (0.0, LATENCY_S):
        wanted = cases(quick, latency_s, (100,))
        figures.asyncio += [await bare.in_process(msgspec.structs.replace(c, total=2 * c.total)) for c in wanted]
        with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
            async with bare.durable(Path(folder), latency_s) as loop:
                figures.durable += await _each(loop.run, cases(quick, latency_s))
                if not latency_s:
                    count = 500 if quick else 2_000
                    figures.request_s = await loop.requests(count)
                    figures.publish_s = report.median((await loop.publishes(count, 1))[1])
                    figures.publish_100_us = (await loop.publishes(4 * count, 100))[0]
                    figures.append_100_us = await loop.appends(4 * count, 100)


async def debates(quick: bool, figures: Figures) -> None:
    """The same debates over the real engine: as shipped first, then otherwise. Each beside bare JetStream events."""
    for latency_s in (0.0, LATENCY_S):
        figures.events += await events.floor(cases(quick, latency_s, (100,)))
        async with bench(stack(latency_s)) as running:
            figures.engine += await _each(running.run, cases(quick, latency_s))
            figures.memory = {**running.memory(), **figures.memory}
    for name, changed in OTHERWISE.items():
        async with bench(changed(stack(0.0))) as running:
            figures.otherwise[name] = await _each(running.run, cases(quick, 0.0, (100,)))
    for name, variables in (("traced", {}), ("all of it traced", {"OTEL_TRACES_SAMPLER": "always_on"})):
        with receiver() as address, _environment(OTEL_EXPORTER_OTLP_ENDPOINT=address, **variables):
            async with bench(stack(0.0)) as running:
                figures.otherwise[name] = await _each(running.run, cases(quick, 0.0, (100,)))


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


async def calls(quick: bool, figures: Figures) -> None:
    """Function calls a reply in the moderator."""
    for debaters, rounds in ((3, 3), (8, 5)):
        counted = await count_calls(debaters, rounds, 100 if quick else 300)
        figures.calls[f"N{debaters}R{rounds}"] = counted.each


async def start(quick: bool, figures: Figures) -> None:
    """Cold start and help."""
    for name, measure in (("help_s", around.help_s), ("first_turn", around.first_turn)):
        try:
            setattr(figures, name, await asyncio.to_thread(measure, 3 if quick else 7))
        except (around.NotMeasured, subprocess.TimeoutExpired) as why:
            figures.missing[name] = str(why)


async def memory(quick: bool, figures: Figures) -> None:
    """Open sessions."""
    figures.open = await around.open_sessions(around.OPEN // 2 if quick else around.OPEN)


async def client(quick: bool, figures: Figures) -> None:
    """The model client, 100 callers, beside aiohttp on the same stub."""
    figures.client = await asyncio.to_thread(model_client.measure, calls=1_000 if quick else model_client.CALLS)


async def controller(quick: bool, figures: Figures) -> None:
    """MACI's controller, a round."""
    figures.controller = await asyncio.to_thread(maci.measure)


async def competition(quick: bool, figures: Figures) -> None:
    """The four stages, one competition and twenty at once."""
    figures.competition = await teams.measure(quick)


async def routing(quick: bool, figures: Figures) -> None:
    """From a task to who leads it, by depth, with 12 experts and with 500."""
    figures.routing = await tasks.measure(quick)


async def prefixes(quick: bool, figures: Figures) -> None:
    """What returns of prompts, and what does not, in a session of each protocol."""
    figures.prompts = await prompts.measure()


async def stored(quick: bool, figures: Figures) -> None:
    """Lists, an unknown id and `parley ask` beside many stored sessions, and beside none."""
    counts = tuple(c for c in kept.COUNTS if not quick or c <= kept.QUICK)
    try:
        figures.stored = await asyncio.to_thread(kept.measure, counts)
    except (around.NotMeasured, subprocess.TimeoutExpired) as why:
        figures.missing["stored"] = str(why)


async def gateway(quick: bool, figures: Figures) -> None:
    """200 viewers of one session, beside bare Starlette."""
    figures.gateway = await pages.measure(quick)


async def cluster(quick: bool, figures: Figures) -> None:
    """Three servers beside one, and what the leader of the log carries."""
    figures.cluster = await servers.measure(quick)


def main() -> int:
    """Run what was asked for, and print what was measured, also where a part broke; 0 unless one did."""
    parser = argparse.ArgumentParser(
        prog="python -m parley_research.benchmarks", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all of them if none is named")
    parser.add_argument("--quick", action="store_true", help="fewer sessions: under a minute, and noisier")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there as well")
    given = parser.parse_args()
    for part in given.parts:
        if part not in PARTS:
            parser.error(f"no part {part}; parts are {', '.join(PARTS)}")
    figures = Figures(machine=report.machine())
    print(report.machine_text(figures.machine), flush=True)
    run: dict[str, Any] = {
        "floors": floors, "debates": debates, "calls": calls, "start": start, "memory": memory, "client": client,
        "controller": controller, "competition": competition, "routing": routing, "prompts": prefixes, "stored": stored,
        "gateway": gateway, "cluster": cluster,
    }  # fmt: skip
    broken = 0
    for part in given.parts or PARTS:
        print(f"... {part}", file=sys.stderr, flush=True)
        try:
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                runner.run(run[part](given.quick, figures))
        except Exception as error:  # what the other parts took minutes to measure is kept
            traceback.print_exception(error)
            figures.missing[part] = f"it broke: {type(error).__name__}: {error}"
            broken = 1
        if given.json:
            given.json.write_bytes(msgspec.json.format(report.as_json(figures), indent=2) + b"\n")
    print(report.text(figures))
    return broken


if __name__ == "__main__":
    sys.exit(main())
