"""A question of a task waits for a human: it is in the inbox and on the page, and is answered there."""

import asyncio
from pathlib import Path

from tests.protocols.madp.play import AUDITOR, EXPERTS, REVISE, SRE, matched, spec
from tests.support.madp import Actor, Crew
from tests.web.support import Event, Web, folder_of

ONE = matched({SRE: 0.95}, reviewers=[AUDITOR])


async def test_a_question_is_answered_on_the_page(tmp_path: Path) -> None:
    async with Crew(tmp_path / "bus", (spec(x) for x in EXPERTS)) as crew:
        moderator = await crew.moderator()
        await crew.experts(AUDITOR)
        await crew.expert(AUDITOR, Actor(review=[REVISE]))
        await crew.helper(ONE)
        await crew.know(moderator)
        tokens = folder_of(crew, tmp_path / "keys")
        async with Web(crew.server.url, tmp_path / "keys") as web, web.client(tokens["owner"]) as owner:
            await crew.task("s1", max_reviews=0)
            events: list[Event] = []
            async with asyncio.timeout(30):
                async for event in owner.events("/api/sessions/s1/events"):
                    events.append(event)
                    if event.name == "items" and event.data["items"]:
                        break
            (item,) = events[-1].data["items"]
            assert item["choices"] == ["emit", "revise", "reject"] and item["deadline_ms"] > 0
            assert (await owner.get("/api/inbox"))["items"] == [item]
            shown = await owner.get("/api/sessions/s1")
            assert "decide" in shown["may"] and shown["overrides"][0]["item"] == "expert"
            wrong = {"item": item["item"], "choice": "ship"}
            refused = await owner.post("/api/sessions/s1/decide", wrong, 400)
            assert refused["error"]["field"] == "choice" and "emit, revise, reject" in refused["error"]["message"]
            refused = await owner.post("/api/sessions/s1/decide", {"item": "expert", "choice": "nobody"}, 409)
            assert "nobody" in refused["error"]["message"]
            await owner.post("/api/sessions/s1/decide", {"item": item["item"], "choice": "reject", "note": "No."})
            result = next(e.data for e in await owner.watched("s1") if e.name == "result")
            assert result["result"]["reason"] == "rejected" and result["status"] == "failed"
            assert (await owner.get("/api/inbox"))["items"] == []
