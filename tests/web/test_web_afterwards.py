"""After a session's end: whether its result is right, and its record carried on in another one, both from a page."""

from pathlib import Path
from typing import Any

from parley.schemas.session import MAX_FEEDBACK
from tests.engine.test_rules import announce
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
    for body, status, named in FORKS:
        refused = await site.alice.post(f"/api/sessions/{sid}/fork", body, status)
        assert named in f"{refused['error']['field']} {refused['error']['message']}", refused
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
