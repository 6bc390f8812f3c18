"""The rules found the hard way (docs/spec-map/bus.md), each with a test that fails without it."""

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.errors import BusError
from parley.coordinator import moderator as module
from parley.coordinator.briefing import token
from parley.coordinator.commands import Finish, Stop
from parley.coordinator.machine import Answered, to
from parley.coordinator.moderator import Moderator
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.protocols.consensus.state import Phase, State
from parley.schemas.log import Replied
from parley.schemas.post import ReadPosts
from parley.schemas.presence import Announcement
from parley.schemas.protocols.consensus import AnswerGroup, Comparison
from parley.schemas.result import Result
from parley.schemas.turn import Reply, SubmitAnswer, Turn, TurnStatus, TurnStatusRequest, Work
from parley.schemas.wire import decode, encode, raw
from tests.support.engine import Engine, counted, until


def journal(path: Path) -> list[str]:
    """Calls begun at the model."""
    return path.read_text().splitlines() if path.exists() else []


async def asked(engine: Engine, queue: str) -> Work:
    """Take the next WORK message of a queue by hand, without settling it."""
    connection = await engine.connect(queue)
    got: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    inbox = connection.nc.new_inbox()

    async def receive(msg: Any) -> None:
        if msg.reply and not got.done():
            got.set_result(msg)

    await connection.nc.subscribe(inbox, cb=receive)
    subject = subjects.next_turns(queue)
    await connection.nc.publish(subject, b'{"batch":1,"expires":5000000000}', reply=inbox)
    msg = await asyncio.wait_for(got, 5.0)
    work = decode(msg.data, Work)
    work_subject[work.session, work.turns[0].id] = (connection, msg.reply)
    return work


work_subject: dict[tuple[str, str], tuple[Connection, str]] = {}


async def say(engine: Engine, queue: str, work: Work, told: Turn, lane: str, **reply: Any) -> SubmitAnswer:
    """Reply to a turn by hand, unlike every other seat."""
    connection, _ = work_subject[work.session, work.turns[0].id]
    body = {"answer": f"42 by {queue}", "reasoning": "r", "confidence": 0.5}
    message = Reply(**{"turn": told.id, "token": told.token, "body": raw(body), **reply})
    subject = subjects.say(lane, work.channel, queue, work.session)
    return decode((await connection.request(subject, encode(message), 5.0)).data, SubmitAnswer)


async def announce(engine: Engine, *but: str) -> None:
    """Have every queue announced by a worker that takes nothing."""
    for queue, role in engine.queues.items():
        if queue not in but:
            connection = await engine.connect(queue)
            here = Announcement(instance="x", queue=queue, roles=(role,), model="none", family="none", room=4)
            await connection.publish(subjects.here(role, queue, ""), encode(here))


async def by_hand(engine: Engine) -> Moderator:
    """A moderator on lane `a`, and a session whose turns wait in their queues: whoever is announced takes nothing."""
    moderator = await engine.moderator(lane="a")
    await announce(engine)
    await engine.open("s1")
    return moderator


# -- rule 1


async def test_a_stale_moderator_looks_again_before_it_drops(bare: Engine) -> None:
    """Rule 1: before a submission is dropped as stale, the tail is read: it is dropped only if the session stayed."""
    a = await bare.moderator(lane="a")
    b = await bare.moderator(lane="b")
    await announce(bare)
    await bare.open("s1")
    await b.sessions.look("s1")  # b folds the opening, and then hears nothing of what a does
    n = (await b.sessions.look("s1")).session.n  # type: ignore[union-attr]
    for queue in ("panelist_1", "panelist_2", "panelist_3"):
        work = await asked(bare, queue)
        assert (await say(bare, queue, work, work.turns[0], "a")).verdict == "accepted"
    assert (await b.sessions.look("s1")).session.n == n, "b is stale"  # type: ignore[union-attr]
    score = await asked(bare, "analyst")
    groups = tuple(AnswerGroup(label=str(n), posts=(n,)) for n in range(3))
    said = Comparison(groups=groups, approach=50, priority=50)
    event = Replied(turn=score.turns[0].id, body=raw(said))
    taken = await b.sessions.take("s1", f"turn:{score.turns[0].id}", event)
    assert taken.accepted, taken.why
    assert (await a.sessions.look("s1", fresh=True)).session.n == 5  # type: ignore[union-attr]


async def test_a_conflict_is_stepped_again(bare: Engine) -> None:
    """Two moderators take two replies of one round at once: both are in the log, in one order, with no gap."""
    await bare.moderator(lane="a")
    await bare.moderator(lane="b")
    await announce(bare)
    await bare.open("s1")
    works = {q: await asked(bare, q) for q in ("panelist_1", "panelist_2", "panelist_3")}
    lanes = iter("aba")
    answers = await asyncio.gather(*(say(bare, q, w, w.turns[0], next(lanes)) for q, w in works.items()))
    assert [a.verdict for a in answers] == ["accepted"] * 3
    assert sorted(a.n for a in answers) == [1, 2, 3]
    assert [e.n for e in await bare.entries("s1")] == [0, 1, 2, 3]


# -- rule 2


async def test_a_reply_told_twice_is_taken_once(bare: Engine) -> None:
    """Rule 2: the cause of a reply is its turn, whatever the sender calls it; a repeat is answered, not taken again."""
    await bare.moderator(lane="a")
    await bare.moderator(lane="b")
    await announce(bare)
    await bare.open("s1")
    work = await asked(bare, "panelist_1")
    first = await say(bare, "panelist_1", work, work.turns[0], "a")
    again = await say(bare, "panelist_1", work, work.turns[0], "b", body=raw({"other": "content"}))
    assert (first.verdict, first.n) == (again.verdict, again.n) == ("accepted", 1)
    assert len(await bare.log("s1")) == 2


# -- rule 3


async def test_effects_lost_with_a_process_are_carried_out_by_the_repeat(bare: Engine) -> None:
    """Rule 3: a repeat whose cause is in the log re-issues that transition's effects, marked as re-issued, and
    answers."""
    crash = True
    appended: list[str] = []

    def checkpoint(point: str, sid: str) -> None:
        if point == "appended":
            appended.append(sid)
            if crash and len(appended) == 4:
                raise BusError("gone after the append")

    await bare.moderator(lane="a", checkpoint=checkpoint)
    await announce(bare)
    await bare.open("s1")
    works = {q: await asked(bare, q) for q in ("panelist_1", "panelist_2", "panelist_3")}
    await say(bare, "panelist_1", works["panelist_1"], works["panelist_1"].turns[0], "a")
    await say(bare, "panelist_2", works["panelist_2"], works["panelist_2"].turns[0], "a")
    with pytest.raises(BusError):
        await asyncio.wait_for(say(bare, "panelist_3", works["panelist_3"], works["panelist_3"].turns[0], "a"), 6)
    assert len(await bare.log("s1")) == 4, "appended"
    crash = False
    await bare.moderator(lane="b")
    answer = await say(bare, "panelist_3", works["panelist_3"], works["panelist_3"].turns[0], "b")
    assert answer.verdict == "accepted" and answer.n == 3
    score = await asked(bare, "analyst")
    assert score.reissued, "the analyst's turn was marked as re-issued"
    await say(bare, "panelist_3", works["panelist_3"], works["panelist_3"].turns[0], "b")
    connection = await bare.connect("moderator")
    state = await connection.api("STREAM.INFO.WORK", {"subjects_filter": subjects.work.of(queue="analyst")})
    assert sum(state["state"]["subjects"].values()) == 1, "one id, one message, however often it is re-issued"


# -- rule 4


async def test_a_forged_token_is_refused(bare: Engine) -> None:
    """Rule 4: a turn's token is a keyed hash of session and turn."""
    await by_hand(bare)
    work = await asked(bare, "panelist_1")
    turn = work.turns[0]
    forged = await say(bare, "panelist_1", work, turn, "a", token=token(b"x" * 32, "s1", turn.id))
    assert forged.verdict == "refused" and "token" in forged.why
    strange = await say(bare, "panelist_1", work, turn, "a", token="тоўкен-é")
    assert (strange.verdict, strange.why) == ("refused", f"turn {turn.id}: the token is not right")
    foreign = await say(bare, "panelist_1", work, turn, "a", turn="0-1", token=turn.token)
    assert foreign.verdict == "refused"
    assert (await say(bare, "panelist_1", work, turn, "a")).verdict == "accepted"


async def test_a_turn_of_another_queue_is_refused_even_with_its_token(bare: Engine) -> None:
    await by_hand(bare)
    mine, theirs = await asked(bare, "panelist_1"), await asked(bare, "panelist_2")
    stolen = await say(bare, "panelist_1", mine, theirs.turns[0], "a")
    assert stolen.verdict == "refused" and "panelist_2" in stolen.why


# -- rule 5


@pytest.mark.parametrize("sign", ["reissued", "old", "decided while away", "delivered before"])
async def test_no_model_is_paid_for_a_turn_that_is_answered(bare: Engine, tmp_path: Path, sign: str) -> None:
    """Rule 5: unless a turn is surely open, a moderator is asked before the model is called."""
    calls = tmp_path / "journal"
    await by_hand(bare)
    work = await asked(bare, "panelist_1")
    connection, ack = work_subject["s1", work.turns[0].id]
    await say(bare, "panelist_1", work, work.turns[0], "a")
    moderator = await bare.connect("moderator")
    now = time.time_ns()
    fresh = {"decided_ns": now + 10**10, "reissued": False}
    if sign == "reissued":
        fresh["reissued"] = True
    if sign == "decided while away":
        fresh["decided_ns"] = now
    copy = decode(encode({**json.loads(encode(work)), **fresh}), Work)
    await connection.publish(ack, b"+ACK")
    await moderator.store(subjects.work("panelist_1", "s1", "again"), encode(copy))
    if sign == "delivered before":
        await asked(bare, "panelist_1")
        connection, ack = work_subject["s1", work.turns[0].id]
        await connection.publish(ack, b"-NAK")  # the server counts this delivery
    if sign == "old":
        await until(lambda: time.time_ns() - now > 0.6 * bare.ack_wait_s * 1e9)
    worker = await bare.worker("panelist_1", {"journal": str(calls)})
    await bare.emptied("WORK", subjects.work.of(queue="panelist_1"))
    assert journal(calls) == []
    assert not worker._jobs


async def test_a_fresh_turn_is_not_asked_about(bare: Engine, tmp_path: Path) -> None:
    """The assumption is worth having: a first, young delivery costs no question once its worker has heard the time."""
    bare.ack_wait_s = 8.0  # as it is by default: what is young is measured by it
    moderator = await bare.moderator()
    workers = await bare.workers({"journal": str(tmp_path / "journal")})
    for sid in ("s1", "s2"):
        await bare.play(sid)
        assert counted(moderator._metrics.checks.labels(open="yes")) == len(workers)
    assert len(journal(tmp_path / "journal")) == 20


async def test_a_question_about_a_closed_turn_reissues_what_it_led_to(bare: Engine) -> None:
    """Whoever stored its reply may have died before the effects were out."""
    a = await by_hand(bare)
    works = {q: await asked(bare, q) for q in ("panelist_1", "panelist_2", "panelist_3")}
    for q, w in works.items():
        await say(bare, q, w, w.turns[0], "a")
    before = counted(a._metrics.effects_reissued)
    w = works["panelist_3"]
    connection, _ = work_subject["s1", w.turns[0].id]
    question = encode(TurnStatusRequest(turn=w.turns[0].id, token=w.turns[0].token))
    msg = await connection.request(subjects.check("a", w.channel, "panelist_3", "s1"), question, 5.0)
    assert decode(msg.data, TurnStatus).open is False
    assert counted(a._metrics.effects_reissued) == before + 1


# -- rule 6


async def test_a_redelivery_of_a_running_turn_only_replaces_its_ack(bare: Engine, tmp_path: Path) -> None:
    """Rule 6: the model is called once, and the message is settled at its last delivery."""
    calls = tmp_path / "journal"
    await bare.moderator()
    worker = await bare.worker("panelist_1", {"journal": str(calls), "latency_s": 0.8})
    for queue in ("panelist_2", "panelist_3", "analyst"):
        await bare.worker(queue)
    await bare.open("s1", settings={"round_limit": 1})
    job = await until(lambda: next(iter(worker._jobs.values()), None) if journal(calls) else None)
    first = job.delivery.ack_subject
    await worker._pull.settle(job.delivery, b"-NAK")
    await until(lambda: job.delivery.ack_subject != first)
    assert job.delivery.delivered == 1, "nobody else had it"
    await bare.closed("s1")
    assert len(journal(calls)) == 1
    await bare.emptied("WORK", subjects.work.of(queue="panelist_1"))


async def test_a_worker_that_stops_hands_back_what_it_holds(bare: Engine, tmp_path: Path) -> None:
    """The server redelivers only after ack_wait; a nak at the end of the drain is at once."""
    bare.ack_wait_s = 30.0
    calls = tmp_path / "journal"
    await bare.moderator()
    for queue in ("panelist_2", "panelist_3", "analyst"):
        await bare.worker(queue)
    slow = await bare.worker("panelist_1", {"journal": str(calls), "latency_s": 60}, drain_s=0.1)
    await bare.open("s1", settings={"round_limit": 1})
    await until(lambda: len(journal(calls)) == 1)
    started = time.monotonic()
    await slow.__aexit__(None, None, None)
    await bare.worker("panelist_1")
    await bare.closed("s1", 10.0)
    assert time.monotonic() - started < 8.0, "without waiting for ack_wait"


# -- rule 7


async def test_a_dead_seat_does_not_hang_the_session(bare: Engine) -> None:
    """Rule 7: every turn has a deadline; one durable timer a session says when it passes."""
    await bare.moderator()
    await announce(bare)
    for queue in ("panelist_1", "panelist_2", "analyst"):
        await bare.worker(queue)
    await bare.open("s1", turn_timeout_s=0.5, settings={"round_limit": 1})
    assert await bare.kept("TIMER", subjects.timer.each) == [subjects.timer("s1")]
    result = decode((await bare.closed("s1")).body, Result)
    assert result.rounds[0]["missing"] == ["panelist_3"]
    assert result.usage.unaccounted_turns == 0, "nobody began its turn"
    assert result.status == "finished"


async def test_a_timer_that_fires_early_reissues_and_is_set_again(bare: Engine) -> None:
    """A timer that fires and finds nothing due re-issues the last transition's effects and re-arms."""
    moderator = await bare.moderator()
    await announce(bare)
    await bare.open("s1", turn_timeout_s=600)
    connection = await bare.connect("moderator")
    await connection.store(subjects.fired("s1"), b'{"t":"timer"}')
    await until(lambda: bare.log("s1"), right=lambda found: len(found) == 2)
    entry = (await bare.entries("s1"))[1]
    assert type(entry.event).__name__ == "TimerFired"
    assert [type(c).__name__ for c in entry.commands] == ["SetTimer"]
    assert counted(moderator._metrics.effects_reissued) == 1


# -- lanes, and what cannot be handled


async def test_a_reply_finds_another_moderator_when_its_lane_is_gone(bare: Engine) -> None:
    first = await bare.moderator(lane="first")
    await announce(bare)
    await bare.open("s1", settings={"round_limit": 1})
    await first.__aexit__(None, None, None)
    second = await bare.moderator(lane="second")
    workers = await bare.workers()
    await bare.closed("s1")
    misses = sum(counted(w._link._metrics.lane.labels(outcome="miss")) for w in workers)
    assert misses >= 3, "the first round's turns name a lane that is gone"
    assert second.ready is None


async def test_what_cannot_be_decoded_is_put_aside_and_stops_nobody(stack: Engine) -> None:
    fate = await stack.submit("s1", b"\xff not a message")
    assert fate.fate == "aside" and "not a" in fate.why
    assert (await stack.open("s2")).fate == "taken"
    await stack.closed("s2")
    assert await stack.kept("IN") == [], "terminated, not delivered again"


def broken(*_: Any) -> Any:
    raise ZeroDivisionError("a bug")


async def test_a_protocol_whose_start_fails_refuses_its_session(bare: Engine) -> None:
    """A bug in a protocol costs its own sessions, never the moderator."""
    consensus = PROTOCOLS["consensus"]
    await bare.moderator(protocols={"consensus": consensus, "broken": replace(consensus, name="broken", start=broken)})
    await bare.workers()
    fate = await bare.open("s1", protocol="broken")
    assert fate.fate == "refused" and "ZeroDivisionError: a bug (tests/engine/test_rules.py:" in fate.why
    await bare.play("s2")


def unknown_reason(*_: Any) -> Any:
    return State(phase=Phase.DONE), (Stop(reason="bored", certificate=raw({})), Finish())


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"check": broken}, "ZeroDivisionError: a bug (tests/engine/test_rules.py:"),
        ({"outcome": broken}, "ZeroDivisionError: a bug (tests/engine/test_rules.py:"),
        ({"answered": unknown_reason}, "protocol consensus stopped with 'bored', which is no stop reason"),
    ],
    ids=["check", "outcome", "stop"],
)
async def test_a_protocol_whose_code_fails_ends_its_session(bare: Engine, changes: dict[str, Any], why: str) -> None:
    """At once, with its place; the log folds to the same on a moderator that has only the log."""
    consensus = PROTOCOLS["consensus"]
    if "answered" in changes:
        row = {**consensus.table[Phase.ANSWERING], Answered: to(unknown_reason, Phase.DONE)}
        changes = {"table": {**consensus.table, Phase.ANSWERING: row}}
    protocols = {"consensus": replace(consensus, **changes)}
    moderator: Moderator = await bare.moderator(protocols=protocols)
    await bare.workers()
    result = await bare.play("s1")
    assert (result.status, result.stop.reason, result.outcome) == ("failed", "protocol_fault", {})
    assert why in result.stop.certificate["why"]
    assert moderator.ready is None
    other: Moderator = await bare.moderator(protocols=protocols)
    folded = (await other.sessions.look("s1")).session
    assert folded is not None and folded.closed


async def test_a_flood_of_one_author_is_told_busy(bare: Engine) -> None:
    """Core requests have no stream limits: each author is served through a bounded queue, and beside it others are."""
    await by_hand(bare)
    work = await asked(bare, "panelist_1")
    connection, _ = work_subject["s1", work.turns[0].id]
    question = encode(TurnStatusRequest(turn="0-0", token="x"))
    subject = subjects.check("a", work.channel, "panelist_1", "s1")
    many = module._PER_AUTHOR * 3
    flooding = asyncio.gather(*(connection.request(subject, question, 20.0) for _ in range(many)))
    other = await bare.connect("panelist_2")
    modest = [await other.request(subjects.read("public", "s1"), encode(ReadPosts()), 20.0) for _ in range(5)]
    busy = sum(1 for a in await flooding if b"busy" in a.data)
    assert 0 < busy < many and not any(b"busy" in a.data for a in modest)


async def test_the_worker_cancels_what_was_closed_while_it_was_away(bare: Engine, tmp_path: Path) -> None:
    """After a reconnect a worker asks after its running turns: posts on `control` can be missed."""
    bare.ack_wait_s = 30.0  # so that the question does not come from the heartbeat
    await bare.moderator()
    calls = tmp_path / "journal"
    worker = await bare.worker("panelist_1", {"journal": str(calls), "latency_s": 60})
    for queue in ("panelist_2", "panelist_3", "analyst"):
        await bare.worker(queue)
    for sub in worker._subs:
        await sub.unsubscribe()  # from now on it hears nothing
    await bare.open("s1")
    await until(lambda: len(journal(calls)) == 1)
    await bare.cancel("s1")
    bare.server.kill()
    bare.server.restart()
    await until(lambda: not worker._jobs, 8.0)
    assert len(journal(calls)) == 1
