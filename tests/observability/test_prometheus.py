"""A real Prometheus scrapes a service and answers a query about it."""

import asyncio
import json
import re
import shutil
import socket
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from parley.coordinator.table import Sample
from parley.observability.health import HealthServer
from tests.outcomes.played import fold, shown

PROMETHEUS = shutil.which("prometheus")

pytestmark = pytest.mark.skipif(
    PROMETHEUS is None, reason="NOT CHECKED against a real Prometheus: no `prometheus` on PATH (.ci/run installs it)"
)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def fetch(url: str) -> Any:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5) as answer:
        return json.loads(answer.read())


async def query(base: str, text: str) -> list[Any]:
    url = f"{base}/api/v1/query?query={urllib.parse.quote(text)}"
    try:
        answer = await asyncio.to_thread(fetch, url)
    except OSError:  # not up yet
        return []
    out: list[Any] = answer["data"]["result"]
    return out


@asynccontextmanager
async def scraped(registry: CollectorRegistry, folder: Path) -> AsyncIterator[str]:
    """A Prometheus that scrapes these metrics every 200 ms; its address."""
    assert PROMETHEUS is not None
    port = free_port()
    async with HealthServer(registry, lambda: None) as server:
        config = folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 200ms, scrape_timeout: 200ms}\n"
            f"scrape_configs: [{{job_name: parley, static_configs: [{{targets: ['127.0.0.1:{server.port}']}}]}}]\n"
        )
        with (folder / "log").open("wb") as log:
            child = await asyncio.create_subprocess_exec(
                PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}", stdout=log, stderr=log,
            )  # fmt: skip
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            if child.returncode is None:
                child.terminate()
            await child.wait()


async def until_said(base: str, text: str, folder: Path) -> list[Any]:
    """What a query gives once it gives something that is a number."""
    try:
        async with asyncio.timeout(40):
            while True:
                found = await query(base, text)
                if found and all(row["value"][1] != "NaN" for row in found):
                    return found
    except TimeoutError:
        raise AssertionError(f"{text}\n{(folder / 'log').read_text()}") from None


@pytest.mark.slow
async def test_the_indicators_of_tasks_are_what_their_documentation_asks_for(tmp_path: Path) -> None:
    """One override in five tasks is a fifth from the first one on, since all numbers are there before."""
    page = (Path(__file__).parents[2] / "docs" / "madp.md").read_text()
    queries = re.findall(r"\| `(sum\(.*)` \|", page)
    assert len(queries) == 4
    into = fold()
    outcomes = shown(into.totals())
    async with scraped(outcomes.registry, tmp_path) as base:
        await until_said(base, "parley_overrides_total", tmp_path)
        await until_said(base, 'parley_coordination_tokens_bucket{depth="quick", le="400.0"}', tmp_path)
        for n in range(5):
            into.add(
                [
                    Sample("coordination_tokens", {"depth": "quick"}, 140 if n else 900),
                    Sample("review_revisions", value=2), Sample("tasks_ended_total"),
                    Sample("selections_total", {"by": "override", "verdict": "right" if n else "wrong"}),
                ]
            )  # fmt: skip
        into.add([Sample("overrides_total")])
        outcomes.show(into.totals(), 0)
        await until_said(base, "parley_overrides_total > 0", tmp_path)
        found = [float((await until_said(base, text, tmp_path))[0]["value"][1]) for text in queries]
        assert found == pytest.approx([0.8, 1.0, 0.2, 0.8], rel=0.01)
