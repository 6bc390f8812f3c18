"""A real Prometheus scrapes a service and answers a query about it."""

import asyncio
import json
import shutil
import socket
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from observability.health import HealthServer
from observability.metrics import Metrics

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


@pytest.mark.slow
async def test_it_scrapes_and_can_be_asked(tmp_path: Path) -> None:
    assert PROMETHEUS is not None
    m = Metrics()
    m.transitions.labels(event="replied").inc(41)
    m.turn_overhead_seconds.observe(0.002)
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    async with HealthServer(m.registry, lambda: None) as server:
        config = tmp_path / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 200ms, scrape_timeout: 200ms}\n"
            f"scrape_configs: [{{job_name: parley, static_configs: [{{targets: ['127.0.0.1:{server.port}']}}]}}]\n"
        )
        with (tmp_path / "log").open("wb") as log:
            child = await asyncio.create_subprocess_exec(
                PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}", stdout=log, stderr=log,
            )  # fmt: skip
        try:
            found: list[Any] = []
            async with asyncio.timeout(40):
                while not found:
                    assert child.returncode is None, (tmp_path / "log").read_text()
                    found = await query(base, "parley_transitions_total")
            (series,) = found
            assert series["metric"]["event"] == "replied"
            assert float(series["value"][1]) == 41
            (up,) = await query(base, "up{job='parley'}")
            assert up["value"][1] == "1"
            (fast,) = await query(base, "parley_turn_overhead_seconds_bucket{le='0.0025'}")
            assert fast["value"][1] == "1"
        finally:
            if child.returncode is None:
                child.terminate()
            await child.wait()
