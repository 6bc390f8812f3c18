"""Figures, their ratios to the floors, the targets: as text and as JSON."""

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from parley.bus.embedded import find_server, version_of
from parley_research.benchmarks import cluster as servers
from parley_research.benchmarks import competition as teams
from parley_research.benchmarks import controller as maci
from parley_research.benchmarks import gateway as pages
from parley_research.benchmarks import model_client
from parley_research.benchmarks import prompts as prefixes
from parley_research.benchmarks import routing as tasks
from parley_research.benchmarks import stored as kept
from parley_research.benchmarks.around import FirstTurn, Open
from parley_research.benchmarks.debates import Case, Run
from parley_research.benchmarks.processes import Memory

SHARE, TIMES, FIRST_TURN_S, HELP_S, PROCESS_MB, SESSION_KB = 0.55, 2.0, 1.5, 0.3, 80.0, 30.0
EVENTS_TIMES = {3: 3.0, 8: 2.4}
"""Debaters -> CPU a call over that of bare JetStream events, 100 sessions at once."""
CONTROLLER_US = 300.0
"""The targets."""


class Figures(msgspec.Struct, kw_only=True):
    """Everything that a run measured."""

    machine: dict[str, str]
    asyncio: list[Run] = []
    events: list[Run] = []
    """Bare JetStream events."""
    durable: list[Run] = []
    engine: list[Run] = []
    """As shipped."""
    otherwise: dict[str, list[Run]] = {}
    """What was changed of the shipped stack -> the same with it."""
    calls: dict[str, float] = {}
    """Debate -> Python function calls a reply in the moderator."""
    request_s: float | None = None
    publish_s: float | None = None
    publish_100_us: float | None = None
    append_100_us: float | None = None
    help_s: float | None = None
    first_turn: FirstTurn | None = None
    memory: dict[str, Memory] = {}
    open: Open | None = None
    client: list[model_client.Figure] = []
    controller: list[maci.Figure] = []
    competition: list[teams.Figure] = []
    routing: tasks.Measured | None = None
    prompts: list[prefixes.Figure] = []
    stored: list[kept.Figure] = []
    gateway: pages.Figure | None = None
    cluster: servers.Figures | None = None
    missing: dict[str, str] = {}
    """What could not be measured, and why."""


def median(values: Iterable[float]) -> float:
    """The median."""
    return statistics.median(values)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def machine() -> dict[str, str]:
    """What it ran on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    try:
        loop = f"uvloop {version('uvloop')}"
    except PackageNotFoundError:
        loop = "asyncio"
    return {
        "cpu": model,
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "nats_server": ".".join(map(str, version_of(find_server()))),
        "loop": loop,
        "system": f"{platform.system()} {platform.release()}",
    }


def machine_text(row: dict[str, str]) -> str:
    """One line."""
    what = f"{row['cpu']}, {row['cores']} cores, {row['system']}, {row['python']}"
    return f"{what}, nats-server {row['nats_server']}, {row['loop']}"


def _same(runs: list[Run], case: Case) -> Run | None:
    """The floor of this case; totals may differ."""
    wanted = (case.debaters, case.rounds, case.at_once, case.latency_s)
    for run in runs:
        if (run.case.debaters, run.case.rounds, run.case.at_once, run.case.latency_s) == wanted:
            return run
    return None


def _ratio(value: float, floor: float | None) -> str:
    return "      " if not floor else f"{value / floor:5.1f}x"


def _run_lines(title: str, runs: list[Run], floor: list[Run]) -> list[str]:
    if not runs:
        return []
    head = f"{title:<28} {'CPU us/call':>11} {'':>6} {'sessions/s':>10} {'':>6} {'overhead p50':>12} {'':>6}"
    lines = ["", f"{head} {'p99 ms':>8} {'of ideal':>8}"]
    for run in runs:
        bare = _same(floor, run.case)
        cpu, rate = (bare.cpu_us, bare.sessions_per_s) if bare else (None, None)
        line = f"{run.case.name:<28} {run.cpu_us:>11.0f} {_ratio(run.cpu_us, cpu)}"
        line += f" {run.sessions_per_s:>10.1f} {_ratio(run.sessions_per_s, rate)}"
        if run.overheads_s:
            p50 = median(run.overheads_s)
            bare_p50 = median(bare.overheads_s) if bare and bare.overheads_s else None
            line += f" {p50 * 1e3:>9.2f} ms {_ratio(p50, bare_p50)} {quantile(run.overheads_s, 0.99) * 1e3:>8.2f}"
        else:
            line += f" {'':>12} {'':>6} {'':>8}"
        lines.append(line + (f" {run.share_of_ideal:>8.0%}" if run.case.latency_s else ""))
    return lines


def _events_lines(f: Figures) -> list[str]:
    """The engine beside bare JetStream events, with 100 sessions at once."""
    rows = []
    for run in f.engine:
        events = _same(f.events, run.case)
        if events:
            line = f"  {run.case.name}: {run.cpu_us / events.cpu_us:.1f} times the CPU a call"
            ideal = f", {run.share_of_ideal:.0%} of ideal beside {events.share_of_ideal:.0%}"
            rows.append(line + (ideal if run.case.latency_s else ""))
    return ["", "Parley beside bare JetStream events", *rows] if rows else []


def _split_lines(runs: list[Run]) -> list[str]:
    """CPU per call by process, where there were enough calls to tell."""
    lines = []
    for run in runs:
        if run.case.at_once > 1:
            parts = ", ".join(f"{name} {used / run.calls * 1e6:.0f}" for name, used in run.cpu_s.items())
            lines.append(f"  {run.case.name}: {parts}")
    return ["", "CPU by process, us a call", *lines] if lines else []


def _operations(f: Figures) -> list[str]:
    if f.request_s is None or f.publish_s is None or f.publish_100_us is None:
        return []
    return [
        "",
        f"floors: bare core request {f.request_s * 1e3:.3f} ms, bare publish and ack (file) {f.publish_s * 1e3:.3f} ms "
        f"({f.publish_s / f.request_s:.1f}x), with 100 under way {f.publish_100_us:.0f} us each, "
        f"as an append by compare-and-swap {f.append_100_us or 0:.0f} us",
    ]


def _memory_lines(f: Figures) -> list[str]:
    lines = ["", f"{'memory, MB':<28} {'RSS':>8} {'PSS':>8} {'USS':>8}"] if f.memory else []
    for name, m in sorted(f.memory.items()):
        rest = "".join(f" {'':>8}" if v is None else f" {v / 1e6:>8.1f}" for v in (m.pss, m.uss))
        lines.append(f"{name:<28} {m.rss / 1e6:>8.1f}{rest}")
    return lines


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to reach."""

    what: str
    wanted: str
    got: str
    reached: bool


def targets(f: Figures) -> list[Target]:
    """Those whose figures were taken."""
    rows = []

    def at_most(what: str, got: float, most: float, unit: str) -> None:
        row = Target(what=what, wanted=f"at most {most:g}{unit}", got=f"{got:.3g}{unit}", reached=got <= most)
        rows.append(row)

    for run in f.engine:
        c = run.case
        events = _same(f.events, c)
        if (c.at_once, c.latency_s) == (100, 0.0) and events and c.debaters in EVENTS_TIMES:
            what = f"CPU a call over bare JetStream events, {c.name}"
            at_most(what, run.cpu_us / events.cpu_us, EVENTS_TIMES[c.debaters], "x")
        if (c.debaters, c.at_once) == (8, 100) and c.latency_s:
            share = run.share_of_ideal
            row = Target(
                what="share of the ideal, N8R5, 100 at once, 50 ms", wanted=f"at least {SHARE:.0%}", got=f"{share:.0%}",
                reached=share >= SHARE,
            )  # fmt: skip
            rows.append(row)
        bare = _same(f.durable, c)
        if (c.debaters, c.at_once, c.latency_s) == (3, 1, 0.0) and bare:
            times = median(run.overheads_s) / median(bare.overheads_s)
            at_most("turn overhead p50 over the bare durable round trip, N3R3", times, TIMES, "x")
    if f.first_turn:
        at_most("first turn after `parley ask`", f.first_turn.asked_s, FIRST_TURN_S, " s")
    if f.help_s is not None:
        at_most("parley --help", f.help_s, HELP_S, " s")
    if f.memory:
        name, most = max(((n, m.rss / 1e6) for n, m in f.memory.items()), key=lambda row: row[1])
        at_most(f"memory of a process (the largest: {name})", most, PROCESS_MB, " MB")
    if f.open and f.open.bytes_a_session is not None:
        at_most("memory of an open session in the moderator", f.open.bytes_a_session / 1e3, SESSION_KB, " kB")
    for figure in f.controller:
        if figure.what == maci.ADAPTIVE:
            at_most("a round of MACI's controller, 8 agents, 100 outcomes", round(figure.us), CONTROLLER_US, " us")
    for task in f.routing.figures if f.routing else ():
        if task.depth in tasks.TARGETS_MS:
            what = f"task to lead, {task.depth}, {task.registered} experts registered, median"
            at_most(what, task.median_ms, tasks.TARGETS_MS[task.depth], " ms")
    for p in f.prompts:
        row = Target(
            what=f"{p.protocol}: of a prompt up to its state, what returns in the seat's next one",
            wanted=f"at least {prefixes.SHARE:.0%}", got=f"{p.share:.1%}", reached=p.share >= prefixes.SHARE,
        )  # fmt: skip
        rows.append(row)
        if p.protocol == "competition":
            row = Target(
                what="a competition at full length, uncached tokens", wanted=f"at most {prefixes.UNCACHED:,}",
                got=f"{p.uncached:,}", reached=p.uncached <= prefixes.UNCACHED,
            )  # fmt: skip
            rows.append(row)
            at_most("a competition at full length, prompts with a document cut", p.cut_documents, 0, "")
    return rows


def text(f: Figures) -> str:
    """Everything, for people. `x` columns are ratios to the bare durable loop (for that one: to bare asyncio)."""
    lines = _run_lines("bare asyncio", f.asyncio, [])
    lines += _run_lines("bare JetStream events", f.events, f.asyncio)
    lines += _run_lines("bare durable loop", f.durable, f.asyncio)
    lines += _operations(f)
    lines += _run_lines("Parley", f.engine, f.durable)
    lines += _events_lines(f)
    for name, runs in f.otherwise.items():
        lines += _run_lines(f"Parley, {name}", runs, f.durable)
    lines += _split_lines([*f.events, *f.durable, *f.engine, *(run for runs in f.otherwise.values() for run in runs)])
    if f.calls:
        each = ", ".join(f"{name} {calls:.0f}" for name, calls in f.calls.items())
        lines += ["", f"Python function calls a reply in the moderator, 20 sessions at once: {each}"]
    lines += _memory_lines(f)
    if f.first_turn:
        t = f.first_turn
        when = f"first turn asked after {t.asked_s:.2f} s, first model call {t.called_s:.2f} s"
        lines += ["", f"parley ask, cold: {when}, over after {t.ended_s:.2f} s"]
    if f.help_s is not None:
        lines += ["", f"parley --help: {f.help_s:.3f} s"]
    if f.open and f.open.bytes_a_session is not None:
        disk = ", ".join(f"{name} {size / 1e3:.1f} kB" for name, size in f.open.stored.items() if size >= 50)
        lines += [
            "",
            f"{f.open.sessions:,} open sessions take {f.open.bytes_a_session / 1e3:.1f} kB each in the moderator",
            f"  and on disk: {disk}",
        ]
    lines += _client_lines(f)
    lines += ["", *maci.lines(f.controller)] if f.controller else []
    lines += ["", *teams.lines(f.competition)] if f.competition else []
    lines += ["", *tasks.lines(f.routing)] if f.routing else []
    lines += ["", *prefixes.lines(f.prompts)] if f.prompts else []
    lines += ["", *kept.lines(f.stored)] if f.stored else []
    lines += ["", *pages.lines(f.gateway)] if f.gateway else []
    lines += ["", *servers.lines(f.cluster)] if f.cluster else []
    lines += [f"not measured: {name}: {why}" for name, why in f.missing.items()]
    rows = targets(f)
    lines += ["", "targets"] if rows else []
    lines += [f"  {'reached' if t.reached else 'MISSED ':<8} {t.what}: {t.got}, wanted {t.wanted}" for t in rows]
    return "\n".join(lines)


def _client_lines(f: Figures) -> list[str]:
    """The ways to call a model, beside the last of them that is a bare client."""
    floor = next((c.cpu_us for c in f.client if c.way == "aiohttp alone"), 0.0)
    lines = ["", "model client, 100 callers       CPU us/call             calls/s"] if f.client else []
    for c in f.client:
        ratio = f"{c.cpu_us / floor:5.1f}x" if floor else ""
        lines.append(f"  {c.way:30}{c.cpu_us:9.0f} {ratio:>7} {c.calls_per_s:12.0f}")
    return lines


def _run_json(run: Run) -> dict[str, Any]:
    row: dict[str, Any] = {
        "case": msgspec.to_builtins(run.case), "calls": run.calls, "wall_s": run.wall_s, "cpu_us_per_call": run.cpu_us,
        "cpu_us_by_process": {name: used / run.calls * 1e6 for name, used in run.cpu_s.items()},
        "sessions_per_s": run.sessions_per_s,
    }  # fmt: skip
    if run.overheads_s:
        row["overhead_ms"] = {"p50": median(run.overheads_s) * 1e3, "p99": quantile(run.overheads_s, 0.99) * 1e3}
    if run.case.latency_s:
        row["share_of_ideal"] = run.share_of_ideal
    return row


_RUNS = ("asyncio", "events", "durable", "engine", "otherwise")


def as_json(f: Figures) -> bytes:
    """Everything, for programs."""
    plain = {k: v for k, v in msgspec.to_builtins(f).items() if k not in _RUNS}
    for name in _RUNS[:-1]:
        plain[name] = [_run_json(run) for run in getattr(f, name)]
    plain["otherwise"] = {name: [_run_json(run) for run in runs] for name, runs in f.otherwise.items()}
    if f.open:
        plain["open"]["bytes_a_session"] = f.open.bytes_a_session
    plain["targets"] = [msgspec.to_builtins(t) for t in targets(f)]
    return msgspec.json.encode(plain)
