"""Replies that a worker has ready at the same time travel in one message, and each is judged for itself."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.session import Seat
from parley.schemas.turn import Answers, Replies, Reply, SessionReply, Turn, Work
from parley.schemas.wire import decode, encode, raw
from tests.engine.test_rules import announce, asked, work_subject
from tests.support.engine import Engine, engine

QUEUES = {"panelist": "panelist", "analyst": "analyst"}
SEATS = tuple(Seat(seat=f"p{i}", role="panelist", queue="panelist") for i in range(3))
BODY = raw({"answer": "42", "reasoning": "r", "confidence": 0.5})


def reply(turn: Turn, **changed: Any) -> bytes:
    return encode(Reply(**{"turn": turn.id, "token": turn.token, "body": BODY, **changed}))


async def opened(bare: Engine, *sids: str) -> dict[str, list[Work]]:
    """Sessions whose first round is out, one turn a message, taken by hand."""
    await announce(bare)
    for sid in sids:
        await bare.open(sid, seats=(*SEATS, Seat(seat="analyst", role="analyst", queue="analyst")))
    found: dict[str, list[Work]] = {sid: [] for sid in sids}
    for _ in range(3 * len(sids)):
        work = await asked(bare, "panelist")
        found[work.session].append(work)
    return found


async def submit(bare: Engine, work: Work, said: list[tuple[str, bytes]], lane: str = "a") -> Answers:
    connection, _ = work_subject[work.session, work.turns[0].id]
    several = Replies(replies=tuple(SessionReply(session=sid, reply=raw_of(data)) for sid, data in said))
    subject = subjects.say(lane, work.channel, "panelist", said[0][0])
    return decode((await connection.request(subject, encode(several), 5.0)).data, Answers)


def raw_of(data: bytes) -> msgspec.Raw:
    return msgspec.Raw(data)


async def test_replies_of_several_sessions_are_answered_each_for_itself(tmp_path: Path) -> None:
    async with engine(tmp_path, queues=QUEUES) as bare:
        await bare.moderator(lane="a", turns_per_message=1)
        works = await opened(bare, "s1", "s2")
        turns = [(sid, w.turns[0]) for sid in ("s1", "s2") for w in works[sid]]
        (_, good), (_, forged), (_, bad), (_, other), *_ = turns
        answers = await submit(
            bare, works["s1"][0],
            [
                ("s1", reply(good)), ("s1", reply(forged, token="0" * 32)), ("s1", reply(bad, body=raw({"x": 1}))),
                ("s2", reply(other)), ("s1", reply(turns[4][1])), ("no.such=id!", reply(other)),
                ("s3", reply(good)), ("s1", b'{"t":"reply","turn":1}'), ("s1", reply(good)),
            ],
        )  # fmt: skip
        verdicts = [a.verdict for a in answers.answers]
        assert verdicts == [
            "accepted", "refused", "accepted", "accepted", "refused", "busy", "refused", "busy", "accepted",
        ]  # fmt: skip
        told = answers.answers
        assert "token" in told[1].why
        assert "token" in told[4].why, "a token of another session's turn"
        assert "there is no session s3" in told[6].why
        assert told[8].n == told[0].n, "a repeat is answered, and taken once"
        assert [e.n for e in await bare.entries("s1")] == [0, 1, 2]
        assert [e.n for e in await bare.entries("s2")] == [0, 1]


async def test_what_is_on_a_channel_that_is_not_the_turns_is_refused(tmp_path: Path) -> None:
    """The broker pins author and channel of the whole message; each turn's own are held against them."""
    async with engine(tmp_path, queues={**QUEUES, "judge": "judge"}) as bare:
        await bare.moderator(lane="a", turns_per_message=1)
        works = await opened(bare, "s1")
        connection: Connection = await bare.connect("analyst")
        several = Replies(replies=(SessionReply(session="s1", reply=raw_of(reply(works["s1"][0].turns[0]))),))
        subject = subjects.say("a", works["s1"][0].channel, "analyst", "s1")
        told = decode((await connection.request(subject, encode(several), 5.0)).data, Answers).answers
        assert [a.verdict for a in told] == ["refused"] and "belongs to queue panelist" in told[0].why


async def heard(bare: Engine, lane: str) -> list[bytes]:
    """What comes on a moderator's lane."""
    connection, found = await bare.connect("moderator"), list[bytes]()

    def hear(msg: Any) -> None:
        found.append(msg.data)

    await connection.subscribe(subjects.say.of(lane=lane), hear)
    return found


async def test_a_worker_submits_together_what_is_ready_together(tmp_path: Path) -> None:
    async with engine(tmp_path, queues=QUEUES) as bare:
        await bare.moderator(lane="a")
        said = await heard(bare, "a")
        await bare.workers(room=8)
        sids = [f"s{n}" for n in range(4)]
        await asyncio.gather(*(bare.open(sid, seats=(*SEATS, _analyst())) for sid in sids))
        results = [decode((await bare.closed(sid)).body, Result) for sid in sids]
        assert [r.usage.turns for r in results] == [10] * 4, "none is lost, none is doubled"
        several = [decode(data, Replies).replies for data in said if data.startswith(b'{"t":"replies"')]
        assert several and max(map(len, several)) >= 3, "a round of one session at least"
        for sid in sids:
            posts: tuple[Post, ...] = await bare.posts(sid, "public")
            assert [p.k for p in posts] == list(range(len(posts)))


def _analyst() -> Seat:
    return Seat(seat="analyst", role="analyst", queue="analyst")
