"""Every panel of every dashboard, asked of a real Prometheus with the rules, after a session of each protocol."""

from pathlib import Path

import pytest

from observability.watching.boards import expressions, outcomes
from observability.watching.panels import RANGE, RATE
from observability.watching.rules import groups, render
from parley.stack.lease import read_running
from tests.outcomes.prometheus import MISSING, PROMETHEUS, query, start
from tests.outcomes.test_bus_state import free_port
from tests.parley.support import Front, until
from tests.stack.test_every_protocol import ASKED

NEEDS_A_LANGUAGE_MODEL = {"US dollars by model", "Tokens by model", "Input tokens from the endpoint's cache"}
"""Panels of what models count: the extractive one counts no tokens."""
NEEDS_SEVERAL_JUDGES = {"Variance among judges, mean"}
"""This stack has one, of whom no variance can be said."""
NEEDS_A_MONITOR = {"nats-server", "Memory of nats-server", "How full the store is"}
"""Panels of the server's own pages, which an embedded one does not serve."""

pytestmark = pytest.mark.skipif(PROMETHEUS is None, reason=MISSING)


def without_data(base: str) -> set[str]:
    """Titles of panels of which an expression gives nothing."""
    asked = ((panel, text.replace(RATE, "2m").replace(RANGE, "10m")) for panel, text in expressions())
    return {panel.partition(": ")[2] for panel, text in asked if not query(base, text)}


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_every_panel_has_data_after_a_session_of_each_protocol(tmp_path: Path) -> None:
    front = Front(tmp_path, protocol="")
    up = front.start("up")
    running = until(lambda: (r := read_running(front.state)) and r.ready and r, "it is not up", 30)
    targets = sorted({s.metrics.removeprefix("http://") for s in running.services.values() if s.metrics})
    port = free_port()
    prometheus = start(tmp_path, port, targets, render(groups(outcomes())))
    base = f"http://127.0.0.1:{port}"
    try:
        until(lambda: query(base, "parley:sessions_closed_total:max"), "the rules are not evaluated", 40)
        for asked in ASKED:
            code, _, err = front.run("ask", *map(str, asked), "--json")
            assert code in (0, 3), (asked, err)
        ended = f"sum(increase(parley:sessions_closed_total:max[10m])) > {len(ASKED) - 0.9}"
        until(lambda: query(base, ended), "not every session is counted", 40)
        wanted = NEEDS_A_LANGUAGE_MODEL | NEEDS_SEVERAL_JUDGES | NEEDS_A_MONITOR
        until(lambda: without_data(base) == wanted, lambda: f"no data: {without_data(base)}, expected of {wanted}", 40)
        firing = query(base, 'ALERTS{alertstate="firing"}')
        assert [f["metric"]["alertname"] for f in firing] == [], "nothing is wrong here"
    finally:
        prometheus.terminate()
        prometheus.wait(20)
        up.terminate()
        up.communicate(timeout=20)
    front.assert_nothing_left()
