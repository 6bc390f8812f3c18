"""A competition over the real engine: what a speech costs beside what the model takes, for one and for twenty at once.

    python -m parley_research.benchmarks competition

The four stages as they are shipped (30 speeches, 113 turns), nine agents in processes of their own, each seat with its
own credential. The stub answers each turn after 50 ms, with as many words as a speech is to have. Overhead of a speech:
the time from the opening of its session to its end in which no seat's model was at work, by its speeches; that is
asking, taking and posting what was said, the captain's and the judge's turns with it, and a share of conferring. The
floor is the bare durable loop of the same run: as many turns one after another, and nothing but stored and answered.
"""

import asyncio
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.client.protocols.competition import files
from parley.schemas.log import Entry, Replied
from parley.schemas.protocols.competition import messages as comp
from parley.schemas.session import OpenSession
from parley.schemas.turn import Usage
from parley.schemas.wire import decode, raw
from parley.stack.lease import Stack
from parley.stack.rows import AgentRow
from parley_research.benchmarks.debates import Bench, Case, bench
from parley_research.benchmarks.floors import bare
from parley_research.benchmarks.processes import cpu_between, cpu_s

LATENCY_S = 0.05
AT_ONCE = 20
SPEECH = "speech"
ROOM = 64
_MOTION = "This house would measure before it argues."
_NOTE = "A note of some forty words, as a team writes it before a stage. " * 4
_WORDS = "word " * 2_000


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """So many competitions at once."""

    at_once: int
    sessions: int
    wall_s: float
    """Of them all."""
    session_s: float
    """Of one, the median."""
    speeches: int
    """Of one."""
    turns: int
    """Of one."""
    overhead_ms: float
    """Of a speech: time in which no model was at work; the median of the sessions."""
    cpu_us: dict[str, float]
    """Process (agents together) -> CPU of a turn."""
    floor_ms: float
    """Of a speech: the bare durable loop's overhead of as many turns as a speech takes."""
    floor_cpu_us: float
    """Of a turn of that loop."""


class StubModel:
    """Sleeps, and says what its kind of turn wants."""

    name = "stub"
    family = "stub"
    metered = False
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._latency_s = float(options.get("latency_s", 0.0))
        self._usage = Usage(calls=1)

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The fixed answer, after the latency."""
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        return Completion(body=raw(_said(shown)), usage=self._usage)


def make(options: Mapping[str, Any]) -> StubModel:
    """For `model: parley_research.benchmarks.competition:make`."""
    return StubModel(options)


def _said(shown: Shown) -> msgspec.Struct:
    match brief := shown.brief:
        case comp.ConferBrief():
            return comp.Note(text=_NOTE)
        case comp.SpeechBrief(words=words) | comp.AnswerBrief(words=words):
            return comp.Spoken(text=f"{shown.seat} {_WORDS}"[: 5 * int(0.9 * words)])
        case comp.QuestionBrief():
            questions = tuple(f"Why does {shown.seat} hear reason {i}?" for i in range(brief.least))
            return comp.Questions(answerer=brief.answerers[0], questions=questions)
        case comp.CaptainBrief():
            return comp.Decision(speaker=brief.may[0], direction=_NOTE)
        case comp.ScoreBrief():
            return comp.Marks(
                logic=6, persuasion=7, expression=6, teamwork=5, rule_compliance=8, comment=_NOTE,
            )  # fmt: skip
        case comp.SummaryBrief():
            return comp.StageSummary(text=_NOTE)
        case comp.ReviewBrief():
            return comp.FinalReview(text=_NOTE)
    raise TypeError(f"no turn of the four stages has a {type(brief).__name__}")


def stack() -> Stack:
    """One moderator, and an agent for each seat."""
    options = {"latency_s": LATENCY_S}
    rows = (
        AgentRow(queue=q, model="parley_research.benchmarks.competition:make", options=options, room=ROOM)
        for q in files.seats({})
    )
    return Stack(agents=tuple(rows), log_level="WARNING")


async def measure(quick: bool = False) -> list[Figure]:
    """One after another, and twenty at once."""
    async with bench(stack()) as running:
        await _run(running, 2, 2)  # what is allocated once
        figures = [await _run(running, 1, 1 if quick else 2), await _run(running, AT_ONCE, AT_ONCE)]
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        async with bare.durable(Path(folder), LATENCY_S) as loop:
            return [await _beside(loop, figure) for figure in figures]


async def _beside(loop: bare.Durable, f: Figure) -> Figure:
    """With its floor: a debate of one, whose 2R + 1 turns come one after another."""
    case = Case(debaters=1, rounds=(f.turns - 1) // 2, at_once=f.at_once, total=f.sessions, latency_s=LATENCY_S)
    run = await loop.run(case)
    floor_ms = median(run.overheads_s) * f.turns / f.speeches * 1e3
    return msgspec.structs.replace(f, floor_ms=floor_ms, floor_cpu_us=run.cpu_us)


async def _run(running: Bench, at_once: int, total: int) -> Figure:
    """`total` competitions, `at_once` of them under way."""
    request = OpenSession(question=_MOTION, protocol="competition", settings=files.whole({}), turn_timeout_s=600.0)
    left = iter(range(total))
    logs: list[list[Entry]] = []

    async def keep_busy() -> None:
        for _ in left:
            sid, result = await running.play(request)
            if result.stop.reason != "played" or result.outcome["silent"] or result.outcome["unscored"]:
                raise RuntimeError(f"session {sid} ended by {result.stop.reason}, and not every turn was answered")
            logs.append([decode(text.encode(), Entry) for text in await running.client().log(sid)])

    before, started = cpu_s(running.pids()), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(keep_busy())
    wall = time.perf_counter() - started
    used = cpu_between(before, cpu_s(running.pids()))
    turns = sum(isinstance(e.event, Replied) for e in logs[0])
    by: dict[str, float] = {}
    for name, seconds in used.items():
        kind = "agents" if name.startswith(("pro", "con", "judge")) else name
        by[kind] = by.get(kind, 0.0) + seconds / (total * turns) * 1e6
    return Figure(
        at_once=at_once, sessions=total, wall_s=wall, speeches=speeches(logs[0]), turns=turns, cpu_us=by,
        session_s=median((e[-1].at_ns - e[0].at_ns) / 1e9 for e in logs),
        overhead_ms=median(overhead_s(e) / speeches(e) * 1e3 for e in logs), floor_ms=0.0, floor_cpu_us=0.0,
    )  # fmt: skip


def speeches(entries: Sequence[Entry]) -> int:
    """What was said in public and is counted: speeches, questions, answers."""
    return sum(getattr(c, "kind", "") == SPEECH for e in entries for c in e.commands)


def overhead_s(entries: Sequence[Entry]) -> float:
    """Seconds of a session in which no seat's model was at work."""
    busy = sorted((e.at_ns / 1e9 - e.event.model_s, e.at_ns / 1e9) for e in entries if isinstance(e.event, Replied))
    total = (entries[-1].at_ns - entries[0].at_ns) / 1e9
    until = entries[0].at_ns / 1e9
    for begun, ended in busy:
        total -= max(0.0, ended - max(begun, until))
        until = max(until, ended)
    return total


def lines(figures: Sequence[Figure]) -> list[str]:
    """For people."""
    if not figures:
        return []
    first = figures[0]
    head = f"a competition, {first.speeches} speeches, {first.turns} turns, {LATENCY_S * 1e3:.0f} ms a turn"
    printed = [
        f"{head:<58} {'session s':>9} {'overhead of a speech':>20} {'floor':>9} {'CPU us/turn':>11} {'floor':>6}"
    ]
    for f in figures:
        parts = ", ".join(f"{name} {us:.0f}" for name, us in sorted(f.cpu_us.items()))
        name = f"  {f.at_once} at once, {f.sessions} in {f.wall_s:.1f} s"
        line = f"{name:<58} {f.session_s:>9.2f} {f.overhead_ms:>17.1f} ms {f.floor_ms:>6.1f} ms"
        printed.append(f"{line} {sum(f.cpu_us.values()):>11.0f} {f.floor_cpu_us:>6.0f}")
        printed.append(f"    {parts}")
    return printed
