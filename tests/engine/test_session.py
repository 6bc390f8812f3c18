"""One question, several participants, a durable log."""

import json

from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.result import Result
from parley.schemas.wire import decode
from tests.support.engine import Engine


async def test_a_session_runs_to_its_stop(stack: Engine) -> None:
    assert (await stack.open("s1")).fate == "taken"
    result = decode((await stack.closed("s1")).body, Result)
    assert result.status == "finished"
    assert result.stop.reason == "threshold" and result.stop.converged
    assert result.outcome["answer"] == "the agreed answer"
    assert [r["score"] for r in result.rounds] == [40.0, 95.0]
    assert result.usage.turns == 10, "two rounds of three positions and a score, and two signatures"
    assert [x["stands"] for x in result.outcome["signatures"]] == ["said", "signed", "signed"]


async def test_the_log_has_one_message_a_transition_and_replays(stack: Engine) -> None:
    """Rule 2: one log message per transition: the event, its cause, the commands."""
    await stack.open("s1")
    await stack.closed("s1")
    entries = await stack.entries("s1")
    assert [e.n for e in entries] == list(range(len(entries)))
    assert len(entries) == 11, "the opening and ten replies"
    assert len({e.cause for e in entries}) == len(entries)
    assert entries[0].cause.startswith("in:") and all(e.cause.startswith("turn:") for e in entries[1:])
    assert replay(PROTOCOLS.get, "s1", await stack.log("s1")).session.closed


async def test_posts_are_numbered_without_gaps(stack: Engine) -> None:
    await stack.open("s1")
    await stack.closed("s1")
    for channel in ("public", "control"):
        posts = await stack.posts("s1", channel)
        assert [p.k for p in posts] == list(range(len(posts)))
    kinds = [p.kind for p in await stack.posts("s1", "control")]
    assert kinds == ["stop", "closed"]


async def test_the_token_key_reaches_no_log_and_no_post(stack: Engine) -> None:
    """Rule 4: a turn's token is never stored, never in a post."""
    from parley.coordinator.briefing import token
    from tests.support.engine import KEY

    await stack.open("s1")
    await stack.closed("s1")
    text = "".join(await stack.log("s1")) + json.dumps([str(p) for p in await stack.posts("s1", "public")])
    assert token(KEY, "s1", "0-0") not in text
    assert '"token"' not in text


async def test_a_client_cancels(bare: Engine) -> None:
    """A stop decision is posted on `control`, and the model calls then running for it are cancelled."""
    bare.ack_wait_s = 30.0  # so that they do not find out by asking
    await bare.moderator()
    workers = await bare.workers({"latency_s": 30, "metered": True})
    await bare.open("s1")

    async def begun() -> bool:
        return sum(isinstance(entry.event, log.Begun) for entry in await bare.entries("s1")) == 3

    from tests.support.engine import until

    await until(begun)
    assert (await bare.cancel("s1", "enough")).fate == "taken"
    result = decode((await bare.closed("s1")).body, Result)
    assert (result.status, result.stop.reason, result.stop.converged) == ("cancelled", "cancelled", False)
    assert result.usage.unaccounted_turns == 3

    async def idle() -> bool:
        return sum(w._busy for w in workers) == 0 and not any(w._jobs for w in workers)

    await until(idle, 3.0)
    assert (await bare.cancel("s1")).fate == "refused", "it is over"


async def test_two_moderators_share_sessions(bare: Engine) -> None:
    await bare.moderator()
    await bare.moderator()
    await bare.workers()
    for i in range(6):
        await bare.open(f"s{i}")
    for i in range(6):
        result = decode((await bare.closed(f"s{i}")).body, Result)
        assert result.stop.reason == "threshold"
        entries = await bare.entries(f"s{i}")
        assert [e.n for e in entries] == list(range(11))


async def test_sessions_are_listed_with_their_end(stack: Engine) -> None:
    await stack.open("s1", question="Why?")
    await stack.closed("s1")
    row = (await stack.sessions()).rows[0]
    assert (row.session, row.question, row.status, row.reason) == ("s1", "Why?", "finished", "threshold")
    assert row.closed_ns is not None and row.closed_ns > row.opened_ns


async def test_series_of_workers_and_queues_say_which_queue(bare: Engine) -> None:
    moderator = await bare.moderator()
    workers = await bare.workers()
    await bare.open("s1")
    await bare.closed("s1")
    analyst = next(w for w in workers if w._spec.queue == "analyst")
    get = analyst._link._metrics.registry.get_sample_value
    by_turn = {"queue": "analyst", "role": "analyst"}
    assert get("parley_worker_room", by_turn) == 4
    assert get("parley_worker_turns_total", {**by_turn, "outcome": "accepted"}) == 2, "two scores"
    assert get("parley_worker_turns_total", {**by_turn, "outcome": "failed"}) == 0, "it is there before it happens"
    assert get("parley_redeliveries_total", {"queue": "analyst"}) == 0
    get = moderator._metrics.registry.get_sample_value
    assert get("parley_queue_workers", {"queue": "analyst"}) == 1
    assert get("parley_transitions_total", {"event": "replied"}) == 10
    assert get("parley_effects_total", {"kind": "ask"}) == 10
    assert get("parley_turns_total", {"role": "analyst", "outcome": "missed"}) == 0
