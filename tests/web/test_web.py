"""The server half of the web page: snapshots, streams, lists, and what each principal may see."""

import asyncio
import json
from pathlib import Path

import httpx2 as httpx
from prometheus_client import generate_latest

from parley.schemas.session import MAX_QUESTION
from tests.support.engine import until
from tests.support.model import HOLDS_OUT, NO_ANSWER
from tests.web.support import Event, Site, Web, posts, told

BAD: list[tuple[dict[str, object], str]] = [
    ({"question": "", "protocol": "consensus"}, "question"),
    ({"question": "x" * (MAX_QUESTION + 1), "protocol": "consensus"}, "question"),
    ({"question": "x?", "protocol": "consensos"}, "protocol"),
    ({"question": "x?", "protocol": "consensus", "budget": {"euros": 1}}, "budget.euros"),
    ({"question": "x?", "protocol": "consensus", "owner": "bob"}, "owner"),
]
"""A session that somebody wants, and the field that is refused."""


async def test_a_session_is_watched_from_its_start_to_its_result(site: Site) -> None:
    sid = await site.owner.start()
    events = await site.owner.watched(sid)
    names = [e.name for e in events]
    assert names[-1] == "end" and {"post", "view"} <= set(names)
    result = told(events, "result")
    assert result["text"] == "the agreed answer" and result["converged"] is True
    assert result["stop"] == "enough seats said or signed the same answer"
    assert result["dissent"] == "nobody"
    assert {e.data["session"] for e in events} == {sid}


async def test_a_snapshot_has_the_posts_of_the_stream_and_its_last_position(site: Site) -> None:
    sid = await site.owner.start()
    events = await site.owner.watched(sid)
    found = await site.owner.get(f"/api/sessions/{sid}")
    there = [(p["channel"], p["k"]) for r in found["rounds"] for p in r["posts"]]
    assert there == posts(events)
    assert found["position"] == [e.id for e in events if e.name == "post"][-1]
    assert found["status"] == "finished" and found["result"]["posts"]
    assert [s["seat"] for s in found["seats"]] == ["panelist_1", "panelist_2", "panelist_3", "analyst"]
    assert {s["state"] for s in found["seats"]} == {"done"}
    assert found["signals"][0]["threshold"] == 90.0 and len(found["signals"][0]["values"]) == 2
    assert {c["seat"] for c in found["changes"]} == {"panelist_1", "panelist_2", "panelist_3"}
    assert found["usage"]["input_tokens"] == 10 * found["usage"]["turns"]
    assert [w["kind"] for w in found["warnings"]] == ["one_family", "weights", "weak_evidence"]


async def test_a_stream_resumed_at_any_position_gives_each_post_once(site: Site) -> None:
    sid = await site.owner.start()
    events = await site.owner.watched(sid)
    ids = [e.id for e in events if e.name == "post"]
    whole = posts(events)
    assert len(whole) > 8 and len(set(whole)) == len(whole)
    for n, id_ in enumerate(ids, 1):
        again = [e async for e in site.owner.events(f"/api/sessions/{sid}/events", headers={"last-event-id": id_})]
        assert posts(again) == whole[n:]
        assert posts(await site.owner.watched(sid, f"?from={id_}")) == whole[n:]


async def test_a_stream_cut_while_it_runs_goes_on_at_another_copy(site: Site, tmp_path: Path) -> None:
    async with Web(site.bus.server.url, tmp_path / "keys") as other, other.client(site.owner.token) as there:
        sid = await site.owner.start()
        first: list[Event] = []
        async for event in site.owner.events(f"/api/sessions/{sid}/events"):
            first.append(event)
            if len(posts(first)) == 4:
                break
        rest = [e async for e in there.events(f"/api/sessions/{sid}/events", headers={"last-event-id": first[-1].id})]
    found = posts(first) + posts(rest)
    assert found == posts(await site.owner.watched(sid)) and rest[-1].name == "end"


async def test_a_client_sees_its_own_sessions_and_no_others(site: Site) -> None:
    sid = await site.alice.start("Whose is this?")
    events = await site.alice.watched(sid)
    whole = posts(await site.owner.watched(sid))
    assert sorted(posts(events)) == sorted(whole)
    assert (await site.alice.get(f"/api/sessions/{sid}"))["result"]["text"] == "the agreed answer"
    for path in (f"/api/sessions/{sid}", f"/api/sessions/{sid}/events", f"/api/sessions/{sid}/export/record"):
        assert (await site.bob.get(path, 404))["error"]["field"] == "session"
    assert [r["session"] for r in (await site.alice.get("/api/sessions"))["sessions"]] == [sid]
    assert (await site.bob.get("/api/sessions"))["sessions"] == []
    assert (await site.auditor.get("/api/sessions"))["sessions"][0]["session"] == sid
    assert (await site.bob.post(f"/api/sessions/{sid}/cancel", {}, 404))["error"]["field"] == "session"


async def test_who_reads_the_session_of_another_cannot_act_in_it(site: Site) -> None:
    sid = await site.alice.start(NO_ANSWER)
    for path, body in (("cancel", {}), ("decide", {"item": "1", "choice": "emit"}), ("feedback", {"right": True})):
        refused = await site.auditor.post(f"/api/sessions/{sid}/{path}", body, 403)
        assert refused["error"]["field"] == "session" and "opened by somebody else" in refused["error"]["message"]
        await site.bob.post(f"/api/sessions/{sid}/{path}", body, 404)
    seen = await site.auditor.get(f"/api/sessions/{sid}")
    assert seen["status"] == "open" and not {"cancel", "decide", "fork"} & set(seen["may"])
    await site.alice.post(f"/api/sessions/{sid}/cancel")


async def test_a_client_follows_up_its_own_session_and_no_other(site: Site) -> None:
    first = await site.alice.start()
    await site.alice.watched(first)
    then = await site.alice.start("Are you sure?", continues=first)
    assert (await site.alice.get(f"/api/sessions/{then}"))["status"] in ("open", "finished")
    (opened, *_) = await site.bus.log(then)
    assert f"previous/{first}.md" in opened
    asked = {"question": "x?", "protocol": "consensus", "continues": first}
    assert (await site.bob.post("/api/sessions", asked, 404))["error"]["field"] == "session"


async def test_twenty_sessions_run_in_one_stream(site: Site) -> None:
    sids = [await site.owner.start(f"Question {n}?") for n in range(20)]
    async with asyncio.timeout(30):
        events = [e async for e in site.owner.events(f"/api/events?session={','.join(sids)}")]
    assert sorted(e.data["session"] for e in events if e.name == "end") == sorted(sids)
    assert posts(events) == [] and sum("result" in e.data for e in events) == 20


async def test_lists_are_searched_filtered_and_paged(site: Site) -> None:
    sids = [await site.owner.start(f"Does the {word} hold?") for word in ("bridge", "rope", "bridge over it")]
    await asyncio.gather(*(site.owner.watched(sid) for sid in sids))

    async def closed() -> bool:
        return all(r["status"] == "finished" for r in (await site.owner.get("/api/sessions"))["sessions"])

    await until(closed)
    found = await site.owner.get("/api/sessions?q=BRIDGE")
    assert {r["session"] for r in found["sessions"]} == {sids[0], sids[2]} and found["before"] is None
    assert (await site.owner.get(f"/api/sessions?q={sids[1][:8]}"))["sessions"][0]["session"] == sids[1]
    assert (await site.owner.get("/api/sessions?ended=open"))["sessions"] == []
    assert len((await site.owner.get("/api/sessions?protocol=consensus&ended=finished"))["sessions"]) == 3
    seen, before = [], ""
    for _ in range(3):
        page = await site.owner.get(f"/api/sessions?limit=1{before}")
        seen += [r["session"] for r in page["sessions"]]
        before = f"&before={page['before']}"
    assert sorted(seen) == sorted(sids)
    (row,) = (await site.owner.get(f"/api/sessions?q={sids[1]}"))["sessions"]
    assert (row["kind"], row["answer"], row["confidence"]) == ("agreed", "the agreed answer", 0.8)
    said = (await site.owner.get("/api/sessions?q=bridge+round"))["sessions"]
    assert {r["session"] for r in said} == {sids[0], sids[2]}, "words of question and posts count together"
    for narrowed, there in (
        ("ended=agreed", 3), ("ended=unsettled", 0), ("sure=0.8", 3), ("sure=0.85", 0), ("usd=10", 0),
        (f"since={row['opened_ns'] // 1_000_000 + 3_600_000}", 0), ("since=1", 3),
    ):  # fmt: skip
        found = await site.owner.get(f"/api/sessions?{narrowed}")
        assert len(found["sessions"]) == there, narrowed
    for name in ("limit", "sure", "usd", "since", "ended"):
        assert (await site.owner.get(f"/api/sessions?{name}=zehn", 400))["error"]["field"] == name


async def test_evidence_is_sent_with_a_question_and_checked_as_on_the_command_line(site: Site) -> None:
    async def sent(*files: tuple[str, bytes]) -> httpx.Response:
        request = json.dumps({"question": "What is it?", "protocol": "consensus"})
        parts = [("evidence", file) for file in files]
        return await site.owner.http.post("/api/sessions", data={"request": request}, files=parts)

    opened = await sent(("panelist_1/a.md", b"It is the answer."), ("b.txt", b"It is not."))
    found = await site.owner.get(f"/api/sessions/{opened.json()['session']}")
    assert [row["name"] for row in found["documents"]] == ["b.txt", "panelist_1/a.md"]
    twice = await sent(("a.md", b"x"), ("a.md", b"y"))
    assert twice.json()["error"]["field"] == "evidence" and "twice" in twice.text


async def test_a_session_that_cannot_be_is_refused_with_its_field(site: Site) -> None:
    for body, field in BAD:
        refused = await site.owner.post("/api/sessions", body, 400)
        assert refused["error"]["field"] == field, refused


async def test_an_estimate_says_what_a_session_may_come_to(site: Site) -> None:
    body = {"question": "x?", "protocol": "consensus", "budget": {"tokens": 10}}
    found = await site.owner.post("/api/estimate", body)
    assert found["most"]["tokens"] > found["likely"]["tokens"] > 0 and found["rounds"] == 5
    assert "budget.tokens" in found["shortfall"]


async def test_another_rule_is_replayed_without_a_call(site: Site) -> None:
    sid = await site.owner.start(HOLDS_OUT, settings={"round_limit": 4})
    await site.owner.watched(sid)
    found = await site.owner.post(f"/api/sessions/{sid}/what-if", {"settings": {"threshold": 60}})
    assert found["stop"] == "threshold" and found["round"] == 2 and found["saved_tokens"] > 0
    refused = await site.owner.post(f"/api/sessions/{sid}/what-if", {"settings": {"threshold": 900}}, 400)
    assert refused["error"]["field"] == "consensus.threshold"
    refused = await site.owner.post(f"/api/sessions/{sid}/what-if", {"settings": {"panel": 5}}, 400)
    assert refused["error"]["field"] == "consensus.panel"


async def test_exports_are_what_the_command_line_exports(site: Site) -> None:
    sid = await site.owner.start()
    await site.owner.watched(sid)
    record = await site.owner.http.get(f"/api/sessions/{sid}/export/record")
    assert record.text.splitlines()[1:] == list(await site.bus.log(sid))
    page = await site.owner.http.get(f"/api/sessions/{sid}/export/html")
    assert page.headers["content-disposition"] == f'attachment; filename="parley-{sid}.html"'
    assert (await site.owner.get(f"/api/sessions/{sid}/export/json"))["result"]["outcome"]["answer"]
    mine = await site.alice.start("Whose is this?")
    await site.alice.watched(mine)
    told = await site.alice.get(f"/api/sessions/{mine}/export/json")
    assert (told["opened"]["question"], told["opened"]["protocol"]) == ("Whose is this?", "consensus")
    assert told["opened"]["owner"] == "alice" and "seats" not in told["opened"], "the rest stands in the log"
    assert (await site.owner.get(f"/api/sessions/{sid}/export/exe", 400))["error"]["field"] == "form"


async def test_who_asks_is_told_what_it_may_start(site: Site) -> None:
    found = await site.owner.get("/api/me")
    assert found["operates"] is True and found["default_protocol"] == "consensus"
    offers = {p["name"]: p for p in found["protocols"]}
    assert set(offers) == {"competition", "compound", "consensus", "critic", "maci", "madp", "single"}
    settings = {s["name"]: s for s in offers["consensus"]["settings"]}
    wanted = {
        "name": "round_limit", "kind": "integer", "default": 5, "least": 1.0, "most": 50.0, "choices": [],
        "help": "Largest number of rounds.", "replayable": True, "item": "text", "common": True,
    }  # fmt: skip
    assert {name: settings["round_limit"][name] for name in wanted} == wanted
    assert settings["panel"]["replayable"] is False and "in turn" in offers["consensus"]["dealt"]
    mine = await site.alice.get("/api/me")
    assert mine["operates"] is False


async def test_what_is_larger_than_its_limit_is_refused(site: Site) -> None:
    request = json.dumps({"question": "x?", "protocol": "consensus"})
    large = [("evidence", ("a.md", b"x" * 17_000_000))]
    answer = await site.owner.http.post("/api/sessions", data={"request": request}, files=large)
    assert answer.status_code == 413
    sid = await site.owner.start()
    answer = await site.owner.http.post(f"/api/sessions/{sid}/decide", content=b'"' + b"x" * 900_000 + b'"')
    assert answer.status_code == 413
    many = [("evidence", (f"{n}.md", b"x")) for n in range(2_001)]
    answer = await site.owner.http.post("/api/sessions", data={"request": request}, files=many)
    assert answer.status_code == 400 and "2000" in answer.text
    deep = b'{"settings":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001
    answer = await site.owner.http.post(f"/api/sessions/{sid}/what-if", content=deep)
    assert answer.status_code == 400


async def test_an_answer_to_a_question_that_is_not_there_is_refused(site: Site) -> None:
    sid = await site.alice.start()
    refused = await site.alice.post(f"/api/sessions/{sid}/decide", {"item": "7", "choice": "emit"}, 400)
    assert refused["error"]["field"] == "item" and "does not exist" in refused["error"]["message"]
    assert (await site.bob.post(f"/api/sessions/{sid}/decide", {"item": "7", "choice": "emit"}, 404))["error"]
    assert (await site.alice.get("/api/inbox"))["items"] == []
    found = await site.alice.get(f"/api/sessions/{sid}")
    assert found["items"] == []


async def test_the_gateway_counts_what_it_does(site: Site) -> None:
    sid = await site.owner.start()
    events = await site.owner.watched(sid)
    await site.bob.get(f"/api/sessions/{sid}", 404)
    shown = generate_latest(site.web.metrics.registry).decode()
    told = len(posts(events))
    assert f'parley_gateway_events_total{{event="post"}} {float(told)}' in shown
    assert 'parley_gateway_requests_total{door="web",status="201"} 1.0' in shown
    assert 'parley_gateway_requests_total{door="web",status="404"} 1.0' in shown
    assert "parley_gateway_streams 0.0" in shown and "parley_gateway_feeds 1.0" in shown
    (lags,) = [float(n.split()[1]) for n in shown.splitlines() if n.startswith("parley_gateway_lag_seconds_count")]
    assert 0 < lags <= told, "of posts that were said while the viewer was there"
