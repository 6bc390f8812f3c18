"""Every panel of every dashboard, asked of a real Prometheus with the rules, after a session of each protocol."""

import asyncio
import json
import os
import shlex
from contextlib import ExitStack
from pathlib import Path

import httpx2 as httpx
import pytest

from deploy.monitoring.boards import expressions, outcomes
from deploy.monitoring.panels import RANGE, RATE
from deploy.monitoring.rules import groups, render
from parley.bus.embedded import find_server
from parley.stack.lease import Lease
from parley.stack.rows import Counting, Stack, rows_of_all
from tests.llm.server import ModelServer, model_server, says
from tests.llm.support import FULL
from tests.observability.receiver import Receiver, attributes
from tests.outcomes.prometheus import MISSING, PROMETHEUS, exemplars, query, start
from tests.outcomes.test_bus_state import free_port
from tests.parley.support import Front, until
from tests.stack.test_servers import ASKED, EXAMPLES
from tests.support.debater import MACI, panel
from tests.support.expert_model import expert_model
from tests.support.gateway import Served
from tests.support.gateway import copy as copying

JUDGED = ("--protocol", "maci", (EXAMPLES / "diagnosis/question.txt").read_text(), "--evidence",
          EXAMPLES / "diagnosis/evidence", "--outcomes", EXAMPLES / "diagnosis/outcomes.txt",
          "--panel-file", "maci-seats.yaml")  # fmt: skip
"""A debate in which there is something to judge."""
PLAYED = [*ASKED, JUDGED]
CACHED = {"prompt_tokens_details": {"cached_tokens": 40}}

pytestmark = pytest.mark.skipif(PROMETHEUS is None, reason=MISSING)


WHERE_SOMETHING_IS_WRONG = {
    "Alerts that are on",
    "Different models on one queue",
    "Questions refused in the last hour",
    "Turns that wait by owner",
}
"""Panels that are empty where nothing is."""


def without_data(base: str) -> set[str]:
    """Titles of panels of which an expression gives nothing."""
    asked = ((panel, text.replace(RATE, "2m").replace(RANGE, "10m")) for panel, text in expressions())
    return {panel.partition(": ")[2] for panel, text in asked if not query(base, text)} - WHERE_SOMETHING_IS_WRONG


def with_a_monitor(folder: Path, port: int) -> str:
    """A PATH on which nats-server is the real one that serves its own pages as well."""
    folder.mkdir()
    script = folder / "nats-server"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(find_server())} --http_port {port} "$@"\n')
    script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def environment(folder: Path, model: ModelServer, traces: Receiver, monitor: int) -> dict[str, str]:
    """One seat has a metered model behind an endpoint; sessions are traced; nats-server has a monitor."""
    prices = {"INPUT": "1", "OUTPUT": "3", "CACHED": "0.5"}
    return {
        "PANELIST_1_LLM_BASE_URL": model.url,
        "PANELIST_1_LLM_MODEL": "m",
        **{f"PANELIST_1_LLM_USD_PER_MILLION_{kind}": usd for kind, usd in prices.items()},
        "OTEL_EXPORTER_OTLP_ENDPOINT": traces.url,
        "PATH": with_a_monitor(folder / "bin", monitor),
    }


def page_of(gateway: Served) -> httpx.Client:
    """One who asks there."""
    headers = {"authorization": f"Bearer {gateway.token}"}
    return httpx.Client(base_url=gateway.url, headers=headers, timeout=30)


def looked(gateway: Served) -> None:
    """A page is looked at."""
    with page_of(gateway) as page:
        assert page.get("/api/sessions").status_code == 200


def watched(gateway: Served) -> str:
    """A session that is opened at the gateway and watched there; its id."""
    with page_of(gateway) as page:
        opened = page.post("/api/sessions", json={"question": "Tea or coffee?", "protocol": "consensus"})
        sid = str(opened.json()["session"])
        assert "event: end" in page.get(f"/api/sessions/{sid}/events").text
    return sid


def played(folder: Path, monitor: int, traces: Receiver) -> None:
    """A stack, a session of each protocol, and what Prometheus and the traces say of them."""
    with ExitStack() as held:
        env = held.enter_context(expert_model())
        front = Front(folder, protocol="", env=env)
        panel(folder, seats=MACI, protocol="maci")
        order = Stack(agents=tuple(rows_of_all({})), counting=Counting(), env=env)
        stack = held.enter_context(Lease(order, front.state, wait_ready=True))
        creds = stack.credentials("metrics")
        where = ("--nats", stack.url, "--creds", str(creds), "--monitor", f"http://127.0.0.1:{monitor}")
        own = free_port()
        copy = front.start("metrics", *where, "--metrics-port", str(own))
        held.callback(copy.communicate, timeout=20)
        held.callback(copy.terminate)
        targets = {s.metrics.removeprefix("http://") for s in stack.running().services.values() if s.metrics}
        gateway = held.enter_context(copying(front))
        targets.add(gateway.metrics.removeprefix("http://"))
        port = free_port()
        prometheus = start(folder, port, sorted({*targets, f"127.0.0.1:{own}"}), render(groups(outcomes())))
        held.callback(prometheus.wait, 20)
        held.callback(prometheus.terminate)
        base = f"http://127.0.0.1:{port}"
        until(lambda: query(base, "parley:sessions_closed_total:max"), "the rules are not evaluated", 40)
        sessions = set()
        for asked in PLAYED:
            code, out, err = front.run("ask", *map(str, asked), "--json")
            assert code in (0, 3), (asked, err)
            sessions.add(json.loads(out)["session"])
        sessions.add(watched(gateway))
        ended = f"sum(increase(parley:sessions_closed_total:max[10m])) > {len(PLAYED) + 0.1}"
        until(lambda: query(base, ended), "not every session is counted", 40)

        def all_have_data() -> bool:
            looked(gateway)  # what was counted once and never again has no rate
            return not without_data(base)

        until(all_have_data, lambda: f"no data: {without_data(base)}", 40)
        firing = query(base, 'ALERTS{alertstate="firing"}')
        assert [f["metric"]["alertname"] for f in firing] == [], "nothing is wrong here"
        spans = traces.until(lambda found: {str(attributes(s).get("session.id")) for _, s in found} >= sessions)
        known = {s.trace_id.hex() for _, s in spans if attributes(s).get("session.id") in sessions}
        assert len(known) == len(sessions)
        for series in ("parley_session_seconds_bucket", "parley_sessions_closed_total"):
            found = exemplars(base, series)
            assert {e["labels"]["trace_id"] for e in found} == known, series
    front.assert_nothing_left()


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_every_panel_has_data_after_a_session_of_each_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = free_port()
    async with model_server(says(FULL, usage=(100, 20), details=CACHED)) as model:
        with Receiver() as traces:
            for name, value in environment(tmp_path, model, traces, monitor).items():
                monkeypatch.setenv(name, value)
            await asyncio.to_thread(played, tmp_path, monitor, traces)
    assert model.requests
