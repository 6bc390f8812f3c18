"""The critic protocol on the real bus: broker, moderator, and a worker process' half for each of its three queues."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from parley.agents.models import make_model
from parley.bus import subjects
from parley.bus.errors import BusError
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.result import Result
from parley.schemas.turn import Speak, SubmitAnswer
from parley.schemas.wire import decode, encode, raw
from tests.protocols.critic.simulate import ROLES, example, play
from tests.support.engine import Engine, engine

QUESTION, DOCUMENTS = example("critic-archive")


@pytest.fixture
async def panel(tmp_path: Path) -> AsyncIterator[Engine]:
    """One moderator and one extractive worker a queue."""
    async with engine(tmp_path, queues={role: role for role in ROLES}) as started:
        await started.moderator()
        for role in ROLES:
            await started.worker(role, model=make_model("extractive"))
        yield started


async def test_a_session_runs_to_its_verdict(panel: Engine) -> None:
    fate = await panel.open("s1", question=QUESTION, protocol="critic", documents=DOCUMENTS)
    assert fate.fate == "taken", fate
    result = decode((await panel.closed("s1")).body, Result)
    assert (result.stop.reason, result.status) == ("unsettled", "finished")
    same = (await play(QUESTION, DOCUMENTS)).result
    assert (result.outcome, result.rounds) == (same.outcome, same.rounds), "as without a bus"
    entries = await panel.log("s1")
    assert replay(PROTOCOLS.get, "s1", entries).session.closed
    stored = [decode(e.encode(), log.Entry) for e in entries]
    seats = {a.seat for e in stored for a in e.commands if isinstance(a, log.Ask)}
    assert seats == set(ROLES)


async def test_posts_hold_the_whole_transcript_and_not_the_users_question(panel: Engine) -> None:
    await panel.open("s1", question=QUESTION, protocol="critic", documents=DOCUMENTS)
    await panel.closed("s1")
    posts = await panel.posts("s1", "public")
    kinds = [p.kind for p in posts]
    assert kinds[0] == "question" and kinds[-2:] == ["tally", "verdict"]
    assert {"answer", "objection", "repeated", "judgement", "tally"} < set(kinds)
    assert [p.k for p in posts] == list(range(len(posts)))
    control = await panel.posts("s1", "control")
    said = b"".join(bytes(p.body) for p in (*posts, *control))
    assert QUESTION.encode() not in said
    assert msgspec.json.decode(posts[0].body)["question"].encode() in said


async def test_answerer_and_critic_cannot_speak_for_each_other(panel: Engine) -> None:
    """Each has an account of its own: the broker pins the author."""
    connection = await panel.connect("critic")
    await panel.open("s1", question=QUESTION, protocol="critic", documents=DOCUMENTS)
    speak = encode(Speak(window="w", kind="k", body=raw({})))
    own, other = (subjects.say(subjects.ANY, "public", author, "s1") for author in ("critic", "answerer"))
    answer = decode((await connection.request(own, speak, 2.0)).data, SubmitAnswer)
    assert answer.verdict == "refused", "a moderator heard it"
    with pytest.raises((BusError, TimeoutError)):
        await connection.request(other, speak, 0.5)
