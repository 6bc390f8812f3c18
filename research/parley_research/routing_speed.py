"""`python -m parley_research.routing_speed`: how long one match takes, and how many go in a second in batch.

Each prompt is matched for the first time: nothing of it is kept from before. Prompts are those of the golden set's half
to test on, among the shipped experts, and those of the invented registries, each among its own.
"""

import asyncio
import statistics
import time

from parley.agents.experts import builtin
from parley.agents.matching import Matcher
from parley.agents.matching.subject_model import make_readers
from parley.schemas.routing import Task
from parley_research.route import tasked
from parley_research.routing_data import RoutingSet, golden
from parley_research.routing_registries import TRAIN, registries


async def measured(name: str, sets: tuple[RoutingSet, ...], *, reader: bool) -> str:
    """A line of figures."""
    singles, batch, count = [], 0.0, 0
    for of in sets:
        tasks = [tasked(case) for case in of.cases]
        alone, many = (Matcher(make_readers() if reader else None) for _ in range(2))
        for matcher in (alone, many):
            await matcher.match(Task(prompt="put the blue table beside the window"), of.specs, always_read=True)
        for task in tasks:
            began = time.perf_counter()
            await alone.match(task, of.specs)
            singles.append(time.perf_counter() - began)
        began = time.perf_counter()
        await many.match_all(tasks, of.specs)
        batch += time.perf_counter() - began
        count += len(tasks)
    ms = [1_000 * s for s in singles]
    cuts = statistics.quantiles(ms, n=20)
    return (
        f"{name:<28} {count:>5} prompts  one: median {statistics.median(ms):.1f} ms, 95 % within {cuts[-1]:.1f} ms"
        f"  batch: {count / batch:,.0f} a second"
    )


async def main() -> None:
    """Print them."""
    sets = {"golden": (golden("test", builtin()),), "invented registries": registries(TRAIN)}
    for name, some in sets.items():
        for reader in (True, False):
            print(await measured(f"{name}, {'read' if reader else 'by words'}", some, reader=reader))


if __name__ == "__main__":
    asyncio.run(main())
