"""One stack serves every protocol with few processes."""

import json
from pathlib import Path
from typing import Any

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from parley.client.protocols import all_setups
from parley.planned.plan import plan_of
from parley.settings import Settings
from parley.stack.lease import read_running
from parley.stack.queues.making import make_units
from parley.stack.rows import SHARED, rows_of_all
from tests.outcomes.test_command import fetch
from tests.parley.support import Front, until
from tests.support.expert_model import expert_model

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NEED_A_MODEL = (
    ("--protocol", "competition", "--topic", f"{EXAMPLES}/competition/topics.yaml#free_transport"),
    ("--protocol", "critic", "Which medium?", "--evidence", f"{EXAMPLES}/critic-archive/evidence"),
    ("--protocol", "maci", "Why do they wilt?", "--evidence", f"{EXAMPLES}/diagnosis/evidence"),
)
MOST_PROCESSES, MOST_MB = 11, 800
ASKED = (
    ("--protocol", "consensus", "In which year did the Suez Canal open?", "--evidence", EXAMPLES / "factual/evidence"),
    ("--protocol", "single", "In which year did the Suez Canal open?", "--evidence", EXAMPLES / "factual/evidence"),
    ("--protocol", "madp", "add JWT authentication to the API"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_one_stack_serves_every_protocol_with_eleven_processes_and_800_mb(tmp_path: Path) -> None:
    with expert_model() as env:
        _serves_every_protocol(Front(tmp_path, protocol="", env=env))


def _serves_every_protocol(front: Front) -> None:
    up = front.start("up")
    running = until(lambda: (r := read_running(front.state)) and r.ready and r, "it is not up", 30)
    assert {a[1] for a in (*ASKED, *NEED_A_MODEL)} == {setup.name for setup in all_setups()} - {"compound"}
    for refused in NEED_A_MODEL:
        code, out, err = front.run("ask", *refused)
        assert (code, out) == (2, "") and f"{refused[1]} needs a language model, and " in err
    results = []
    for asked in ASKED:
        code, out, err = front.run("ask", *map(str, asked), "--json")
        assert code in (0, 3), (asked, err)
        results.append(json.loads(out))
    assert_counted(running.services["metrics"].metrics, results)
    processes = [p for parent in (psutil.Process(up.pid),) for p in (parent, *parent.children(recursive=True))]
    size = sum(p.memory_full_info().pss for p in processes) / 1e6
    print(f"{len(processes)} processes, {size:.0f} MB")
    assert len(processes) <= MOST_PROCESSES
    assert size <= MOST_MB
    assert len(running.queues) > 30
    assert running.services["team-pro-1"].pid != running.services["team-con-1"].pid
    up.terminate()
    _, told = up.communicate(timeout=20)
    needing = "competition, critic, maci need a language model, and sessions are refused until "
    assert up.returncode == 0 and needing in told
    front.assert_nothing_left()


def assert_counted(address: str, results: list[dict[str, Any]]) -> None:
    """The stack's own service shows each of these sessions, by protocol, reason, convergence and status."""

    def closed() -> set[tuple[str, ...]]:
        families = text_string_to_metric_families(fetch(f"{address}/metrics"))
        samples = (s for f in families for s in f.samples if s.name == "parley_sessions_closed_total" and s.value)
        return {tuple(s.labels[name] for name in ("protocol", "reason", "converged", "status")) for s in samples}

    said = {
        (r["protocol"], r["stop"]["reason"], "yes" if r["stop"]["converged"] else "no", r["status"]) for r in results
    }
    assert len(said) == len(results)
    until(lambda: closed() == said, lambda: f"{closed()} are counted, wanted are {said}")


def test_no_process_serves_both_teams_and_nothing_beside_a_team() -> None:
    rows = rows_of_all({})
    assert len({r.queue for r in rows}) == len(rows)
    for team in ("pro", "con"):
        mine = {r.queue for r in rows if r.process == f"team-{team}"}
        assert mine == {r.queue for r in rows if r.queue.startswith(f"{team}_")} != set()
    assert {r.queue for r in rows if r.process == SHARED} >= {"panelist_1", "answerer"}


def test_a_seat_with_a_key_of_its_own_has_a_process_of_its_own() -> None:
    environ = {"LLM_PROVIDER": "openai", "LLM_MODEL": "m", "OPENAI_API_KEY": "k", "PANELIST_2_LLM_API_KEY": "another"}
    made_of = [found.unit for found in make_units(rows_of_all({}), environ, b"s")]
    units = {member.queue: unit.name for unit in made_of for member in unit.members}
    assert units["panelist_2"] != units["panelist_1"] == units["panelist_3"] == SHARED


def test_what_is_named_is_served_by_itself(tmp_path: Path) -> None:
    assert plan_of(Settings()).of_every_protocol().every
    named = plan_of(Settings().model_copy(update={"protocol": "critic"})).of_every_protocol()
    assert {r.queue for r in named.rows} == {"answerer", "critic", "judge"}
    assert not any(r.process for r in named.rows)
