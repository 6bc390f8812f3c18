"""`parley top`: figures of real services over HTTP."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge

from parley.client.errors import BadInput
from parley.observability.health import HealthServer
from parley.observability.metrics import Metrics
from parley.top.figures import OUTCOMES, figures
from parley.top.running import sample
from parley.top.scraping import MetricsPage, Snapshot, fetch, pages
from parley.top.screen import lines


def _exporter(tasks: int, overrides: int) -> CollectorRegistry:
    """As a copy of `parley metrics` shows itself."""
    registry = CollectorRegistry()
    Gauge("parley_outcomes_position", "", registry=registry).set(9)
    Counter("parley_tasks_ended", "", registry=registry).inc(tasks)
    Counter("parley_overrides", "", registry=registry).inc(overrides)
    closed = Counter("parley_sessions_closed", "", ("protocol", "reason", "converged", "status"), registry=registry)
    closed.labels("consensus", "threshold", "yes", "finished").inc(3)
    closed.labels("consensus", "quorum", "no", "failed").inc(1)
    pending = Gauge("parley_queue_pending", "", ("queue",), registry=registry)
    pending.labels("sre").set(4)
    return registry


def _worker(room: int, busy: int, turns: int) -> Metrics:
    m = Metrics()
    by_turn = {"queue": "sre", "role": "expert"}
    m.worker_room.labels(**by_turn).set(room)
    m.worker_busy.labels(**by_turn).set(busy)
    m.worker_turns.labels(outcome="accepted", **by_turn).inc(turns)
    m.model_calls.labels(model="m").inc(turns)
    m.model_seconds.labels(model="m").observe(2.0)
    return m


async def test_copies_of_the_exporter_count_once_and_workers_add_up() -> None:
    one, two = _worker(4, 1, 10), _worker(4, 3, 20)
    registries = [_exporter(20, 1), _exporter(19, 1), one.registry, two.registry]
    servers = [HealthServer(r, lambda: None) for r in registries]
    for server in servers:
        await server.__aenter__()
    try:
        urls = pages([s.url for s in servers])
        before, _ = await sample(urls)
        one.worker_turns.labels(queue="sre", role="expert", outcome="accepted").inc(6)
        shown = figures(Snapshot(await fetch(urls), OUTCOMES, before.at_s + 2.0), before)
    finally:
        for server in servers:
            await server.close()
    overrides = next(o for o in shown["objectives"] if o["name"] == "overrides")
    assert overrides["events"] == 20
    assert overrides["good_share"] == pytest.approx(0.95)
    assert overrides["budget_left"] == pytest.approx(0.0)
    ended = next(o for o in shown["objectives"] if o["name"] == "questions_answered")
    assert (ended["events"], ended["good_share"]) == (4, pytest.approx(0.75))
    (queue,) = shown["queues"]
    assert (queue["room"], queue["busy"], queue["waiting"]) == (8, 4, 4)
    assert queue["turns_a_second"] == pytest.approx(3.0)
    (protocol,) = shown["protocols"]
    assert (protocol["ended"], protocol["converged"], protocol["failed"]) == (4, 3, 1)
    (model,) = shown["models"]
    assert (model["calls"], model["mean_s"]) == (30, pytest.approx(2.0))
    text = "\n".join(lines(shown))
    assert "4 of 4 services answer" in text and " open, 4 ended" in text
    assert "95.0 %" in text


async def test_a_service_that_does_not_answer_is_named_and_the_others_are_shown() -> None:
    async with HealthServer(_worker(4, 0, 1).registry, lambda: None) as server:
        _, shown = await sample(pages([server.url, "http://127.0.0.1:1"]))
    assert [s["up"] for s in shown["services"]] == [True, False]
    text = "\n".join(lines(shown))
    assert "http://127.0.0.1:1/metrics does not answer: " in text
    assert "`parley metrics` is not among these services" in text
    assert "sre" in text


def _crowd(queues: int) -> dict[str, Any]:
    """The figures of a stack of so many queues; one of them has work."""
    registry = _exporter(5, 1)
    waiting = Gauge("parley_queue_workers", "", ("queue",), registry=registry)
    for number in range(queues):
        waiting.labels(f"expert_of-a-subject-with-a-name-of-48-letters-{number}").set(1)
    samples = [(s.name, tuple(sorted(s.labels.items())), s.value) for f in registry.collect() for s in f.samples]
    return figures(Snapshot([MetricsPage("http://127.0.0.1:1", samples=tuple(samples))], OUTCOMES), None)


@pytest.mark.parametrize("width", [80, 200])
def test_each_figure_is_there_however_narrow_the_terminal_is(width: int) -> None:
    """Names are cut in place of figures, and what a low terminal has no room for is counted."""
    crowd = _crowd(40)
    whole = list(lines(crowd, width))
    heads = [row for row in whole if row.startswith(("objective", "protocol", "queue"))]
    assert [row.split()[-1] for row in heads] == ["events", "failed", "failed"]
    assert max(map(len, whole)) <= width
    assert any("…" in row for row in whole) == (width == 80)
    low = list(lines(crowd, width, 23))
    assert len(low) <= 23 and any(row.startswith("sre ") for row in low), "the queue that has work"
    assert re.fullmatch(r"left out: \d+ rows without events, 0 lines more. All of them: parley top --once", low[-1])
    lowest = list(lines(crowd, width, 5))
    assert len(lowest) == 5 and " 0 lines" not in lowest[-1]


def test_what_is_no_address_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match=r"--metrics.*got 'ftp://x'"):
        pages(["ftp://x"])
    assert pages(["moderator:9464", "http://a:1/metrics"]) == ["http://moderator:9464/metrics", "http://a:1/metrics"]


async def test_the_command_prints_one_json_document(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "parley", "top", "--json", "--metrics"]
    async with HealthServer(_worker(4, 2, 1).registry, lambda: None) as server:
        done = await asyncio.to_thread(
            subprocess.run, [*command, server.url], capture_output=True, text=True, timeout=60, check=True
        )
    shown = json.loads(done.stdout)
    assert shown["queues"][0]["queue"] == "sre" and shown["queues"][0]["busy"] == 2
    none = [sys.executable, "-m", "parley", "top", "--json", "--state", str(tmp_path)]
    done = await asyncio.to_thread(subprocess.run, none, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "parley up" in json.loads(done.stdout)["error"]["message"]
