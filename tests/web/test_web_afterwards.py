"""On a page: what follows a session's end, and that a session opened there is one whole trace."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from parley.schemas.session import MAX_FEEDBACK
from tests.engine.test_rules import announce
from tests.engine.test_traces import Found, is_whole, named, of
from tests.observability.receiver import Receiver
from tests.parley.support import QUESTION, Front
from tests.protocols.competition.play import small, speech
from tests.support.engine import engine
from tests.support.model import NO_ANSWER
from tests.web.support import Browser, Site, Web, folder_of


async def ended(who: Browser) -> str:
    """A session of theirs that has ended; its id."""
    sid = await who.start()
    await who.watched(sid)
    return sid


async def test_feedback_that_cannot_be_is_refused(site: Site) -> None:
    sid = await ended(site.alice)
    path = f"/api/sessions/{sid}/feedback"
    long = await site.alice.post(path, {"right": True, "note": "x" * (MAX_FEEDBACK + 1)}, 400)
    assert long["error"]["field"] == "feedback.note" and f"{MAX_FEEDBACK:,}" in long["error"]["message"]
    assert (await site.alice.post(path, {"right": "yes"}, 400))["error"]["field"] == "body"
    assert (await site.bob.post(path, {"right": True}, 404))["error"]["field"] == "session"
    assert "somebody else" in (await site.auditor.post(path, {"right": True}, 403))["error"]["message"]
    running = await site.alice.start(NO_ANSWER)
    refused = await site.alice.post(f"/api/sessions/{running}/feedback", {"right": True}, 409)
    assert "is open" in refused["error"]["message"]
    assert not {"feedback", "fork"} & set((await site.alice.get(f"/api/sessions/{running}"))["may"])
    await site.alice.post(f"/api/sessions/{running}/cancel")
    assert (await site.alice.get(f"/api/sessions/{sid}"))["feedback"] is None


async def test_a_running_fork_counts_no_use_that_another_session_paid(site: Site) -> None:
    sid = await ended(site.owner)
    first = (await site.owner.get(f"/api/sessions/{sid}"))["usage"]["turns"]
    endless = {"threshold": 100, "round_limit": 50, "stuck_rounds": 50}
    opened = await site.owner.post(f"/api/sessions/{sid}/fork", {"settings": endless}, 201)
    fork = f"/api/sessions/{opened['session']}"
    async for event in site.owner.events(f"{fork}/events"):
        if "usage" in event.data:
            break
    assert event.data["usage"]["turns"] < first, "the carried turns are the other session's"


FORKS: list[tuple[dict[str, Any], int, str]] = [
    ({"round": 9}, 409, "round"),
    ({"settings": {"threshold": 900}}, 409, "threshold"),
    ({"settings": {"panel": 5}}, 400, "consensus.panel"),
    ({"settings": {"nonsense": 5}}, 409, "nonsense"),
    ({"budget": {"euros": 5}}, 400, "budget"),
    ({"budget": {"tokens": -5}}, 400, "budget.tokens"),
    ({"budget": {"tokens": 1.5}}, 400, "budget.tokens"),
    ({"round": "one"}, 400, "body"),
    ({"owner": "bob"}, 400, "body"),
]
"""A fork that somebody wants, the status, and what its refusal names."""


async def test_a_fork_that_cannot_be_is_refused(site: Site) -> None:
    sid = await ended(site.alice)
    for body, status, why in FORKS:
        refused = await site.alice.post(f"/api/sessions/{sid}/fork", body, status)
        assert why in f"{refused['error']['field']} {refused['error']['message']}", refused
    assert (await site.bob.post(f"/api/sessions/{sid}/fork", {}, 404))["error"]["field"] == "session"
    refused = await site.owner.post(f"/api/sessions/{sid}/fork", {}, 403)
    assert "somebody else" in refused["error"]["message"]
    assert "fork" not in (await site.owner.get(f"/api/sessions/{sid}"))["may"], "an owner forks sessions of its own"
    assert "fork" not in (await site.auditor.get(f"/api/sessions/{sid}"))["may"]


async def test_a_fork_reads_no_file_of_the_gateways_machine(tmp_path: Path) -> None:
    async with engine(tmp_path / "bus", queues={"pro_1": "pro", "con_1": "con", "judge": "judge"}) as bus:
        tokens = folder_of(bus, tmp_path / "keys")
        await bus.moderator()
        await announce(bus)
        async with Web(bus.server.url, tmp_path / "keys") as web, web.client(tokens["owner"]) as owner:
            settings = {"format": small(speech("pro_1"), seats=1)}
            request = {"question": "Is it so?", "protocol": "competition", "settings": settings}
            sid = (await owner.post("/api/sessions", request, 201))["session"]
            body = {"settings": {"format": "/etc/passwd"}}
            refused = await owner.post(f"/api/sessions/{sid}/fork", body, 400)
            assert refused["error"]["field"] == "competition.format" and "root:" not in str(refused)
            await owner.post(f"/api/sessions/{sid}/cancel")


PROGRAM = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
"""Trace and span of a program that traces its own calls."""


def _goes_on_in_the_trace_of_its_asker(said: dict[str, str], receiver: Receiver) -> None:
    """A program that sends `traceparent` finds the session under its own span, and one that sends nonsense does not."""
    headers = {"authorization": f"Bearer {said['token']}"}
    told = ("system", "We sell tea on Mondays."), ("user", "When do we sell tea?")
    asked = {"model": "parley/consensus", "messages": [{"role": role, "content": text} for role, text in told]}
    sids = []
    with httpx.Client(base_url=said["url"], headers=headers, timeout=60) as program:
        for traceparent in (f"00-{'-'.join(PROGRAM)}-01", "00-" + "z" * 900):
            answer = program.post("/v1/chat/completions", json=asked, headers={"traceparent": traceparent})
            assert answer.status_code == 200, answer.text
            sids.append(answer.headers["x-parley-session"])

    def there(found: Found) -> bool:
        return all(named(of(found, sid), name) for sid in sids for name in ("invoke_workflow", "parley"))

    mine, other = (of(receiver.until(there), sid) for sid in sids)
    assert {span.trace_id.hex() for span in mine} == {PROGRAM[0]}
    (own,) = [span for span in mine if span.name == "parley gateway"]
    assert own.parent_span_id.hex() == PROGRAM[1]
    assert [span.name for span in other if not span.parent_span_id] == ["parley gateway"]


@pytest.mark.timeout(120)
def test_a_session_that_a_page_opens_is_one_trace_from_the_gateway(tmp_path: Path) -> None:
    front = Front(tmp_path, protocol="")
    with Receiver() as receiver:
        serving = front.start("serve", "--json", env={"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url})
        assert serving.stdout is not None
        said = json.loads(serving.stdout.readline())
        with httpx.Client(base_url=said["url"], timeout=30) as page:
            assert page.get(said["link"]).status_code == 303
            asked = {"question": QUESTION, "protocol": "consensus"}
            files = [("evidence", (path.name, path.read_bytes())) for path in sorted(front.evidence.iterdir())]
            opened = page.post("/api/sessions", data={"request": json.dumps(asked)}, files=files)
            assert opened.status_code == 201, opened.text
            session = opened.json()["session"]
            found = receiver.until(partial(is_whole, session=session, root="parley gateway"))
        spans = of(found, session)
        (root,) = [span for span in spans if not span.parent_span_id]
        assert root.name == "parley gateway" and len({span.trace_id for span in spans}) == 1
        (own,) = named(spans, "invoke_workflow")
        assert own.parent_span_id == root.span_id
        services = {service for service, span in found if span.trace_id == root.trace_id}
        assert {"parley-gateway", "parley-moderator-1"} < services
        _goes_on_in_the_trace_of_its_asker(said, receiver)
        with httpx.Client(base_url=said["metrics"]) as metrics:
            shown = metrics.get("/metrics").text
        assert 'parley_gateway_requests_total{door="web",status="201"} 1.0' in shown
        assert "parley_bus_connected 1.0" in shown, "no alert says that it has no connection"
        serving.terminate()
        _, err = serving.communicate(timeout=20)
        assert serving.returncode == 0, err
