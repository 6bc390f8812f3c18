"""Replies that wait for one session are appended together: one message of LOG, and to each its own answer."""

import asyncio
import time
from typing import Any

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.errors import BusError
from parley.bus.storage.packs import pack, unpack
from parley.coordinator.machine import record
from parley.schemas.log import Entry, Replied
from parley.schemas.turn import SubmitAnswer, Work
from parley.schemas.wire import decode, encode, raw
from tests.engine.test_rules import announce, asked, say
from tests.support.engine import Engine, until

PANEL = ("panelist_1", "panelist_2", "panelist_3")


async def stored(engine: Engine, sid: str) -> list[bytes]:
    """The messages of a session's log, as they lie there."""
    connection = await engine.connect("moderator")
    found: list[bytes] = []
    seq = 0
    while True:
        body = encode({"seq": seq + 1, "next_by_subj": subjects.log_of(sid)})
        msg = await connection.request("$JS.API.DIRECT.GET.LOG", body, 5.0)
        headers = msg.headers or {}
        if "Nats-Sequence" not in headers:
            return found
        seq = int(headers["Nats-Sequence"])
        found.append(msg.data)


async def round_asked(engine: Engine, sid: str = "s1") -> dict[str, Work]:
    """A session whose first round is out, each seat's turn taken by hand."""
    await announce(engine)
    await engine.open(sid)
    return {q: await asked(engine, q) for q in PANEL}


async def said_at_once(engine: Engine, works: dict[str, Work], lane: str, **forged: Any) -> dict[str, SubmitAnswer]:
    told = {q: say(engine, q, w, w.turns[0], lane, **forged.get(q, {})) for q, w in works.items()}
    return dict(zip(told, await asyncio.gather(*told.values()), strict=True))


class Held:
    """Holds a session of a moderator, so that what comes meanwhile waits together."""

    def __init__(self, moderator: Any, sid: str = "s1") -> None:
        self._moderator = moderator
        self._sid = sid

    async def __aenter__(self) -> "Held":
        self.held = await self._moderator.sessions.look(self._sid)
        await self.held.lock.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.held.lock.release()

    async def came(self, many: int) -> None:
        """Wait until so many are waiting."""
        await until(lambda: len(self.held.waiting) >= many)


async def together(engine: Engine, moderator: Any, works: dict[str, Work], **forged: Any) -> dict[str, SubmitAnswer]:
    """All reply while the session is held."""
    async with Held(moderator) as held:
        answers = asyncio.create_task(said_at_once(engine, works, "a", **forged))
        await held.came(len(works))
    return await answers


async def test_replies_that_wait_together_are_one_message(bare: Engine) -> None:
    moderator = await bare.moderator(lane="a")
    works = await round_asked(bare)
    body = {"reasoning": "because " * 40, "confidence": 0.5}
    bodies = {q: {"body": raw({**body, "answer": f"42 by {q}"})} for q in PANEL}
    answers = await together(bare, moderator, works, **bodies)
    assert {a.verdict for a in answers.values()} == {"accepted"}
    assert sorted(a.n for a in answers.values()) == [1, 2, 3]
    opened, round_ = await stored(bare, "s1")
    entries = [decode(e, Entry) for e in unpack(round_)]
    assert [e.n for e in entries] == [1, 2, 3]
    assert [e.cause for e in entries] == [f"turn:{works[q].turns[0].id}" for q in _in_order(answers)]
    assert [encode(e) for e in [decode(opened, Entry), *entries]] == [e.encode() for e in await bare.log("s1")]
    posts = await bare.posts("s1", "public")
    assert [p.k for p in posts] == list(range(len(posts))), "no gaps"
    assert (await asked(bare, "analyst")).turns, "what the last one led to is out"


def _in_order(answers: dict[str, SubmitAnswer]) -> list[str]:
    return sorted(answers, key=lambda q: answers[q].n)


async def test_a_bad_reply_touches_none_of_the_others(bare: Engine) -> None:
    moderator = await bare.moderator(lane="a")
    works = await round_asked(bare)
    answers = await together(bare, moderator, works, panelist_2={"token": "0" * 32}, panelist_3={"body": raw({"x": 1})})
    assert [answers[q].verdict for q in PANEL] == ["accepted", "refused", "accepted"]
    assert "token" in answers["panelist_2"].why
    entries = await bare.entries("s1")
    assert [e.n for e in entries] == [0, 1, 2]
    assert len(await stored(bare, "s1")) == 2
    held = await moderator.sessions.look("s1", fresh=True)
    assert held.session is not None
    assert {t.ask.seat: t.ask.attempt for t in held.session.turns.values()} == {"panelist_2": 1, "panelist_3": 2}


async def test_a_message_that_cannot_be_taken_whole_is_not_taken_at_all(bare: Engine) -> None:
    """Of a message whose second entry does not recompute nothing is built upon, however often it is looked at."""
    moderator = await bare.moderator(lane="a")
    works = await round_asked(bare)
    connection = await bare.connect("moderator")
    entries = []
    held = await moderator.sessions.look("s1")
    for queue in PANEL[:2]:
        turn = works[queue].turns[0]
        body = raw({"answer": "42", "reasoning": "r", "confidence": 0.5})
        entries.append((f"turn:{turn.id}", Replied(turn=turn.id, body=body)))
    assert held.session is not None and held.protocol is not None
    one, first = record(held.protocol, held.session, held.digest, entries[0][1], time.time_ns(), entries[0][0])
    _, second = record(held.protocol, one, "another digest", entries[1][1], time.time_ns(), entries[1][0])
    await connection.store(
        subjects.log("s1", subjects.STEP), pack([first, second]),
        expected_last=(subjects.log_of("s1"), held.last_seq),
    )  # fmt: skip
    other = await bare.moderator(lane="b")
    for _ in range(2):
        told = await _silent(bare, works)
        assert told in ("busy", "silent")
    b = other.sessions._cache.get("s1")
    assert (b.session.n if b.session else 0) <= 1 and b.last_seq < (await _last(connection))
    assert [s.reason for s in other._unreadable.sessions()] == ["digest"]


async def _last(connection: Connection) -> int:
    return int((await connection.api("STREAM.INFO.LOG"))["state"]["last_seq"])


async def _silent(bare: Engine, works: dict[str, Work]) -> str:
    try:
        answer = await say(bare, "panelist_3", works["panelist_3"], works["panelist_3"].turns[0], "b")
    except BusError:
        return "silent"
    return answer.verdict
