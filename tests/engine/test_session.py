"""One question, several participants, a durable log."""

from parley.coordinator.briefing import token
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.result import Result
from parley.schemas.wire import decode
from tests.support.engine import KEY, Engine, until


async def test_a_session_runs_to_its_stop(stack: Engine) -> None:
    """One message of the log a transition: the event, its cause, the commands. It replays, and holds no token."""
    assert (await stack.open("s1")).fate == "taken"
    result = decode((await stack.closed("s1")).body, Result)
    assert result.status == "finished"
    assert result.stop.reason == "threshold" and result.stop.converged
    assert result.outcome["answer"] == "the agreed answer"
    assert [r["score"] for r in result.rounds] == [40.0, 95.0]
    assert result.usage.turns == 10, "two rounds of three positions and a score, and two signatures"
    assert [x["stands"] for x in result.outcome["signatures"]] == ["said", "signed", "signed"]
    entries, stored = await stack.entries("s1"), await stack.log("s1")
    assert [e.n for e in entries] == list(range(11)), "the opening and ten replies"
    assert len({e.cause for e in entries}) == len(entries)
    assert entries[0].cause.startswith("in:") and all(e.cause.startswith("turn:") for e in entries[1:])
    assert replay(PROTOCOLS.get, "s1", stored).session.closed
    posts = {channel: await stack.posts("s1", channel) for channel in ("public", "control")}
    assert all([p.k for p in of] == list(range(len(of))) for of in posts.values())
    assert [p.kind for p in posts["control"]] == ["stop", "closed"]
    text = "".join(stored) + str(posts)
    assert token(KEY, "s1", "0-0") not in text and '"token"' not in text


async def test_a_client_cancels(bare: Engine) -> None:
    """A stop decision is posted on `control`, and the model calls then running for it are cancelled."""
    bare.ack_wait_s = 30.0  # so that they do not find out by asking
    await bare.moderator()
    workers = await bare.workers({"latency_s": 30, "metered": True})
    await bare.open("s1")

    async def begun() -> bool:
        return sum(isinstance(entry.event, log.Begun) for entry in await bare.entries("s1")) == 3

    await until(begun)
    assert (await bare.cancel("s1", "enough")).fate == "taken"
    result = decode((await bare.closed("s1")).body, Result)
    assert (result.status, result.stop.reason, result.stop.converged) == ("cancelled", "cancelled", False)
    assert result.usage.unaccounted_turns == 3
    await until(lambda: sum(w._busy for w in workers) == 0 and not any(w._jobs for w in workers), 3.0)
    assert (await bare.cancel("s1")).fate == "refused", "it is over"


async def test_series_of_workers_and_queues_say_which_queue(bare: Engine) -> None:
    moderator = await bare.moderator()
    workers = await bare.workers()
    await bare.play("s1")
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
