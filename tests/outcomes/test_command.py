"""`parley metrics` on the command line, and as a service of `parley up`."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from parley.stack.lease import read_running
from tests.parley.support import Front, until

ROOT = Path(__file__).parents[2]


def fetch(url: str) -> str:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5) as answer:
        return str(answer.read().decode())


def number(text: str, name: str) -> float:
    """Sum of a series in the exposition."""
    return sum(
        float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith((f"{name}{{", f"{name} "))
    )


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_up_counts_its_sessions_and_the_command_says_the_same(tmp_path: Path) -> None:
    front = Front(tmp_path, protocol="consensus")
    up = front.start("up", env={"PARLEY__SPEND__DAY_USD": "2.5", "PARLEY__SPEND__TENANT": "acme"})
    running = until(lambda: (r := read_running(front.state)) and r.ready and r, "it is not up", 30)
    address = running.services["metrics"].metrics
    evidence = ROOT / "examples/factual/evidence"
    asked = ("ask", "--protocol", "consensus", "In which year did the Suez Canal open?", "--evidence", str(evidence))
    for _ in range(2):
        code, _, err = front.run(*asked)
        assert code == 0, err

    def both() -> str:
        text = fetch(f"{address}/metrics")
        return text if number(text, "parley_sessions_closed_total") == 2 else ""

    shown = until(both, "they are not counted")
    assert number(shown, "parley_budget_today_usd") == 2.5
    assert 'parley_spend_usd_total{tenant="acme"} 0.0' in shown
    assert "_created" not in shown
    assert number(shown, "process_open_fds") > 0 and number(shown, "parley_build_info") == 1
    assert fetch(f"{address}/readyz") == "ready\n"

    where = ("--nats", running.url, "--creds", running.credentials["metrics"])
    code, out, err = front.run("metrics", *where, "--once", "--json")
    assert (code, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    closed = [s for s in document["series"]["parley_sessions_closed_total"] if s["value"]]
    assert [s["value"] for s in closed] == [2]
    assert closed[0]["labels"]["protocol"] == "consensus"
    assert document["position"] == number(shown, "parley_outcomes_position")
    code, text, err = front.run("metrics", *where, "--once")
    assert (code, err) == (0, "")
    assert number(text, "parley_sessions_closed_total") == 2
    up.terminate()
    up.communicate(timeout=20)
    front.assert_nothing_left()


def test_it_takes_no_other_users_credentials(tmp_path: Path) -> None:
    front = Front(tmp_path, protocol="consensus")
    code, _, err = front.run("bus", "config", "--dir", str(tmp_path / "keys"))
    assert code == 0, err
    assert (tmp_path / "keys" / "metrics.json").is_file()
    owner = ("--nats", "nats://127.0.0.1:1", "--creds", str(tmp_path / "keys" / "owner.json"))
    code, _, err = front.run("metrics", *owner, "--once")
    assert code == 2
    assert "of kind owner; expected an observer's" in err
    code, _, err = front.run("metrics", "--once")
    assert code == 2 and "--nats URL --creds FILE" in err
