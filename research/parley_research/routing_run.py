"""The work of `parley eval routing`, after its arguments are read."""

import asyncio
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from parley.agents.encoders import EncoderError
from parley.agents.expert_matching.expert_scores import Matcher, matching_encoder
from parley.client.errors import BadInput
from parley.client.setup.expert_choice import Route
from parley.routing import router, routing, specs_of
from parley.schemas.routing import Matched
from parley_research import routing as figures
from parley_research import routing_data, routing_registries
from parley_research.loaders import DATA, BadData, NoData
from parley_research.route import BY_ENCODER, MATCHERS, asked, matched, measured, questions, routed, surest, tasked
from parley_research.routing import Case, Report, Routed
from parley_research.routing_data import RoutingSet

tables = figures.text
GOLDEN = "golden"
SETS = (GOLDEN, *routing_data.PUBLIC)
AGREED = f"{BY_ENCODER}, after claims"
"""What a task comes to, of the matcher with its encoder: as `parley route` says it."""
BELOW = routing().ask_below
ASKED = "a model asked below {:g}"
"""The same, with a language model's answer on record where it would ask one; and after claims."""


def evaluate(
    golden: Path | None, half: str, experts: Path | None, data: Path | None, sets: Sequence[str]
) -> list[Report]:
    """Reports of each set: of every matcher, and of what its tasks come to after claims.

    Parameters
    ----------
    golden
        A file of one's own, in place of the sets; None: the shipped half.
    data
        Where the public sets lie; None: beside the project, and only those that `sets` names are measured, since they
        take minutes.
    sets
        Of SETS; none: the golden one, and with `data` all of them.

    Raises
    ------
    BadInput
        A set that is not known, or not as it should be.
    """
    for name in sets:
        if name not in SETS:
            raise BadInput("--set", f"--set: got {name!r}, known: {', '.join(SETS)}")
    if half not in ("test", "dev"):
        raise BadInput("--half", f"--half: got {half!r}, expected test or dev")
    wanted = sets or (SETS if data is not None else (GOLDEN,))
    reports: list[Report] = []
    for name in wanted:
        tasks = _set(name, golden, half, experts, data or DATA)
        if tasks is not None:
            for note in tasks.cleaned:
                print(f"parley: {note}", file=sys.stderr)
            print(f"... {tasks.name}: {len(tasks.cases):,} prompts, {len(tasks.specs)} experts", file=sys.stderr)
            reports += asyncio.run(_reports(tasks))
    if wanted == (GOLDEN,):
        print(f"not measured: {', '.join(routing_data.PUBLIC)}; --data DIR says where they lie", file=sys.stderr)
    if not reports:
        raise BadInput("--data", "there is no set to measure")
    return reports


def evaluate_registries(file: Path, replies: Path | None = None, below: float = BELOW) -> list[Report]:
    """Reports of each registry of a file (parley_research.routing_registries), and one of all their prompts together:
    by words alone, and as it runs; and with the replies of a language model, where there are any on record. How long a
    task takes is told on stderr.

    Parameters
    ----------
    replies
        A file of them, as parley_research.routing_registries.Reply has it.
    below
        Confidence below which one is asked.

    Raises
    ------
    BadInput
        There is none, or one that is not as it should be.
    """
    sets = _registries(file)
    try:
        by_registry = None if replies is None else routing_registries.replies(replies, sets)
    except (BadData, NoData) as error:
        raise BadInput("--replies", f"--replies: {error}") from error
    reports: list[Report] = []
    wanted = on_record = 0
    together: dict[str, tuple[list[Case], list[Routed]]] = {}
    for of in sets:
        each: dict[str, Sequence[Matched]] = {name: asyncio.run(matched(name, of)) for name in MATCHERS[1:]}
        if by_registry is not None:
            answered = asyncio.run(asked(of, by_registry[of.name], below))
            each[ASKED.format(below)] = answered.matches
            wanted, on_record = wanted + answered.asked, on_record + answered.on_record
        for name, matches in each.items():
            results = [routed(m) for m in matches]
            reports.append(figures.report(of.name, name, of.cases, results))
            cases, every = together.setdefault(name, ([], []))
            cases += of.cases
            every += results
    reports += [figures.report("all registries", name, *both) for name, both in together.items()]
    if by_registry is not None:
        print(_answered(wanted, on_record, sum(len(of.cases) for of in sets)), file=sys.stderr)
    print(_latency(sets), file=sys.stderr)
    return reports


def _answered(wanted: int, on_record: int, of: int) -> str:
    return (
        f"a model would be asked about {wanted:,} of {of:,} prompts, and {on_record:,} of these replies are on record; "
        "the others stay as computed"
    )


def _registries(file: Path) -> tuple[RoutingSet, ...]:
    try:
        return routing_registries.registries(file)
    except (BadData, NoData) as error:
        raise BadInput("--registries", f"--registries: {error}") from error


def write_questions(file: Path, to: Path, below: float | None, most: float) -> tuple[int, int, float]:
    """Write what a language model would be asked about the prompts of a file's registries, a JSON object a line;
    (how many, of how many, the confidence below which it is asked).

    Parameters
    ----------
    below
        That confidence; None: the greatest with which no more than the share `most` of all prompts are asked.
    """
    sets = _registries(file)
    count = sum(len(of.cases) for of in sets)
    if below is None:
        sure = sorted(c for of in sets for c in asyncio.run(surest(of)))
        below = math.floor(1e4 * sure[int(most * count)]) / 1e4
    asks = [q for of in sets for q in asyncio.run(questions(of, below))]
    try:
        to.write_bytes(b"".join(msgspec.json.encode(q) + b"\n" for q in asks))
    except OSError as error:
        raise BadInput("--questions", f"--questions: cannot write {to}: {error.strerror}") from error
    return len(asks), count, below


def _latency(sets: Sequence[RoutingSet]) -> str:
    """One task after another, in this process, with the specifications prepared."""

    async def each() -> list[float]:
        took = []
        for of in sets:
            matcher = Matcher(matching_encoder())
            await matcher.match(tasked(of.cases[0]), of.specs)
            for case in of.cases:
                started = time.perf_counter()
                await matcher.match(tasked(case), of.specs)
                took.append((time.perf_counter() - started) * 1e3)
        return sorted(took)

    took = asyncio.run(each())
    return f"a task takes {took[len(took) // 2]:.1f} ms at the median, {took[len(took) * 95 // 100]:.1f} ms at p95"


def _set(name: str, golden: Path | None, half: str, experts: Path | None, data: Path) -> RoutingSet | None:
    """None: it is not there, which is said."""
    try:
        if name != GOLDEN:
            return routing_data.PUBLIC[name](data)
        if golden is not None:
            return routing_data.golden_file(golden, specs_of(experts))
        return routing_data.golden(half, specs_of(experts))
    except BadData as error:
        raise BadInput("--golden" if name == GOLDEN else "--data", str(error)) from error
    except NoData as error:
        if name == GOLDEN:
            raise BadInput("--golden", str(error)) from error
        print(f"parley: LEFT OUT: {error}", file=sys.stderr)
        return None


async def _reports(of: RoutingSet) -> list[Report]:
    try:
        reports = await measured(of, MATCHERS)
        reports.append(figures.report(of.name, AGREED, of.cases, await agreed(of)))
        if of.name == routing_data.TEST_HALF:
            answered = await asked(of, routing_data.answers(of), BELOW)
            print(_answered(answered.asked, answered.on_record, len(of.cases)), file=sys.stderr)
            matches = answered.matches
            reports.append(figures.report(of.name, ASKED.format(BELOW), of.cases, [routed(m) for m in matches]))
            here = router(of.specs)
            after = [_routed(here.routed(tasked(case), m)) for case, m in zip(of.cases, matches, strict=True)]
            reports.append(figures.report(of.name, f"{ASKED.format(BELOW)}, after claims", of.cases, after))
        return reports
    except (BadData, NoData) as error:
        raise BadInput("--half", str(error)) from error
    except EncoderError as error:
        raise BadInput("encoder", str(error)) from error


async def agreed(of: RoutingSet) -> list[Routed]:
    """What the prompts of a set come to."""
    here = router(of.specs)
    tasks = [tasked(case) for case in of.cases]
    chunks = (tasks[at : at + 16] for at in range(0, len(tasks), 16))
    results = [r for chunk in chunks for r in await here.route_all(chunk)]
    return [_routed(r) for r in results]


def _routed(r: Route) -> Routed:
    lead = r.lead.expert if r.lead else None
    sure = next((c.confidence for c in r.candidates if c.expert == lead), 0.0)
    return Routed(lead=lead, confidence=sure, team=tuple(p.expert for p in r.support), depth=r.depth)
