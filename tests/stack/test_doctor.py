"""The doctor with keys of every kind, and what it says of how many servers are there."""

from pathlib import Path

import pytest

from parley.agents.specs import load as load_spec
from parley.doctor import checks, screen, servers
from parley.doctor.report import Component, Report
from parley.planned.plan import plan_of
from parley.schemas.presence import AskWorkers, Workers
from parley.settings import load
from tests.support.engine import Engine, until

FROZEN = "it is frozen, or cut off from here"


def _found(*statuses: str) -> tuple[Component, ...]:
    whats = {"ok": "it reaches 3 servers", "silent": f"does not answer within 1 s: {FROZEN}", "refused": "nothing"}
    return tuple(
        Component(name=f"nats://{i}", status="ok" if status == "ok" else "missing", what=whats[status])
        for i, status in enumerate(statuses)
    )


@pytest.mark.parametrize(
    ("statuses", "reached", "there"),
    [
        (("ok", "ok", "ok"), 3, 3),
        (("ok", "silent", "ok"), 3, 2),  # frozen, and not noticed yet
        (("ok", "silent", "ok"), 2, 2),  # and noticed
        (("ok", "silent", "silent"), 3, 1),
        (("ok", "silent", "refused"), 2, 1),
        (("ok", "refused", "ok"), 2, 2),  # ended
        (("ok", "refused", "refused"), 3, 3),  # names that this machine does not know
    ],
)
def test_how_many_servers_are_there(statuses: tuple[str, ...], reached: int, there: int) -> None:
    assert servers.there(_found(*statuses), reached) == there


def test_a_server_that_only_the_others_reach_is_not_called_missing() -> None:
    assert [s.status for s in servers.reached_by_others(_found("ok", "refused", "refused"))] == ["ok"] + ["unknown"] * 2


def test_how_many_more_may_be_lost() -> None:
    assert servers.fewer(_found("ok"), 5, 5) == ""
    assert "also if 1 more are lost" in servers.fewer(_found("ok", "refused"), 4, 5)
    assert "also if 0 more are lost" in servers.fewer(_found("ok", "refused"), 3, 5)
    assert "3 servers of the bus answer" not in servers.lacking(3, 5)
    assert "1 of 5 servers of the bus answers, 3 are needed" in servers.lacking(1, 5)


@pytest.mark.slow
async def test_experts_are_seen_and_a_services_key_says_whether_it_reaches_the_bus(tmp_path: Path) -> None:
    """As the runbook of a queue without workers has it; a bus that serves is never called missing."""
    keys = tmp_path / "keys"

    async def said(url: str, user: str) -> tuple[Report, str]:
        nats = {"url": url, "creds": keys / f"{user}.json"}
        report = await checks.examine(plan_of(load(None, {"nats": nats, "protocol": "madp"})))
        return report, "\n".join(screen.report_lines(report))

    queues = {"helper": "helper", "expert_sre": "expert"}
    async with Engine(tmp_path / "bus", queues, pins={"expert_sre": load_spec("expert_sre").pin}) as target:
        keys.mkdir()
        for user in ("owner", "expert_sre", "metrics"):
            target.credentials[user].save(keys / f"{user}.json")
        await target.moderator()
        await target.workers()

        async def there() -> bool:
            workers = await target.ask("parley.own.workers.owner.=", AskWorkers(), Workers)
            return len(workers.workers) == 2

        await until(there)
        report, text = await said(target.server.url, "owner")
        assert report.ok and "madp         ok           role expert: 1 agent needed, 1 there: expert_sre" in text
        assert "consensus    not served   no agent is there; needed: 2 panelist, 1 analyst" in text
        for user in ("expert_sre", "metrics"):
            report, text = await said(target.server.url, user)
            assert report.ok and report.bus.what.endswith(f"it takes the key of {user}")
            assert "may not ask who is there: --creds owner.json" in text and "has everything" not in text
    report, text = await said(target.server.url, "expert_sre")
    assert not report.ok and report.bus.status == "missing" and "nothing listens there" in text
