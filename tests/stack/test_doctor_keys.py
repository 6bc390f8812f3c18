"""What the doctor says with the key of a service, and of experts."""

from pathlib import Path

import pytest

from parley.agents.specs import load as load_spec
from parley.doctor import checks, screen
from parley.doctor.report import Report
from parley.planned.plan import plan_of
from parley.schemas.presence import AskWorkers, Workers
from parley.settings import load
from tests.support.engine import Engine, until

pytestmark = pytest.mark.slow


async def test_experts_are_seen_and_a_services_key_says_whether_it_reaches_the_bus(tmp_path: Path) -> None:
    """As the runbook of a queue without workers has it; a bus that serves is never called missing."""
    keys = tmp_path / "keys"

    async def said(url: str, user: str) -> tuple[Report, str]:
        nats = {"url": url, "creds": keys / f"{user}.json"}
        report = await checks.examine(plan_of(load(None, {"nats": nats, "protocol": "madp"})))
        return report, "\n".join(screen.words(report))

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
