"""Posts that lie together, and what nobody hears: not sent, and not missed by who comes later."""

import asyncio
import contextlib
import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.bus import subjects
from parley.bus.channels import CONTROL, PUBLIC
from parley.bus.errors import BusError
from parley.bus.library import Msg
from parley.bus.posts import Audience, Reader
from parley.schemas.post import CLOSED, Live, Post, Posts, ReadPosts, decode_posts, together
from parley.schemas.wire import decode, encode, raw
from tests.engine.together.test_replies import PANEL, round_asked, said_at_once
from tests.support.engine import Engine, until
from tests.support.model import read_journal


def post(channel: str, kind: str, k: int, size: int = 10) -> Post:
    return Post(
        session="s1", channel=channel, k=k, n=k, transition=1, at_ns=1, seat="pro_1", kind=kind, round=1,
        body=raw("x" * size),
    )  # fmt: skip


def made(kinds: str) -> list[Post]:
    """Posts of one go: upper-case letters are kinds on one channel, lower-case ones on another."""
    numbers = {PUBLIC: itertools.count(), CONTROL: itertools.count()}
    channels = [PUBLIC if kind.isupper() else CONTROL for kind in kinds]
    return [post(c, kind, next(numbers[c])) for c, kind in zip(channels, kinds, strict=True)]


def kinds_of(groups: list[list[Post]]) -> list[str]:
    return ["".join(p.kind for p in group) for group in groups]


@pytest.mark.parametrize(
    ("given", "messages"),
    [("AAA", ["AAA"]), ("AaA", ["AA", "a"]), ("ABA", ["A", "B", "A"]), ("AaBbB", ["A", "a", "BB", "b"]), ("", [])],
)
def test_posts_of_one_kind_that_follow_each_other_are_one_message(given: str, messages: list[str]) -> None:
    assert kinds_of(together(made(given))) == messages


async def test_what_nobody_hears_is_left_out_until_somebody_reads(bare: Engine) -> None:
    moderator, client = await bare.connect("moderator"), await bare.connect("client")
    audience = Audience(moderator, subjects.owned(None, subjects.read.each))
    await audience.open()
    subject = subjects.owned("client", subjects.post("s1", PUBLIC, "answer"))
    another = subjects.owned("client", subjects.post("s1", PUBLIC, "verdict"))
    assert audience.hears("s1", subject)
    assert audience.follows("s1")
    assert audience.put("s1", subject, b"1")
    await until(lambda: not audience.hears("s1", subject))
    assert not audience.follows("s1")
    assert audience.hears("s1", another)
    assert audience.hears("s2", subject)
    came: list[bytes] = []
    await client.subscribe(subjects.post.of(session="s1", channel=PUBLIC), lambda msg: came.append(msg.data))
    assert not audience.hears("s1", subject), "who hears and does not ask has it within two seconds"
    with contextlib.suppress(BusError):  # no moderator runs that would answer
        await client.request(subjects.read(PUBLIC, "s1"), encode(ReadPosts()), 0.2)
    await until(lambda: audience.hears("s1", subject), 1.0)
    assert audience.put("s1", subject, b"2")
    await until(lambda: came)
    await moderator.nc.flush()
    assert came == [b"2"]
    assert audience.hears("s1", subject)
    assert audience.follows("s1")


async def test_who_comes_later_hears_all_that_is_said_from_then_on(bare: Engine) -> None:
    """Of either moderator, without waiting for a gap or for silence."""
    await bare.moderator(lane="a")
    await bare.moderator(lane="b")
    works = await round_asked(bare)
    answers = await said_at_once(bare, works, "a")
    assert {a.verdict for a in answers.values()} == {"accepted"}
    connection = await bare.connect("owner")
    live: list[Post] = []
    await connection.subscribe(
        subjects.post.of(session="s1", channel=PUBLIC), lambda msg: live.extend(decode_posts(msg.data))
    )
    followed: list[Post] = []

    async def follow() -> None:
        async for said in Reader(connection, quiet_s=60.0).follow("s1", [PUBLIC, CONTROL]):
            followed.append(said)

    async def caught_up() -> bool:
        return len(followed) >= len(PANEL)

    following = asyncio.create_task(follow())
    try:
        await until(caught_up)
        before = len(followed)
        await bare.workers()
        await asyncio.wait_for(following, 20.0)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    public = [p for p in followed if p.channel == PUBLIC]
    assert tuple(public) == await bare.posts("s1", PUBLIC)
    assert len(public) > before
    assert {p.k for p in live} >= {p.k for p in public[before:]}


async def test_who_comes_later_soon_sees_who_is_thinking(bare: Engine, tmp_path: Path) -> None:
    journal = tmp_path / "calls"
    await bare.moderator()
    slow: dict[str, Any] = {"latency_s": 1.0, "journal": str(journal)}
    for queue in bare.queues:
        await bare.worker(queue, slow if queue in PANEL else None)
    await bare.open("s1")

    async def seen() -> bool:
        return thinking >= set(PANEL)

    await until(lambda: sum("/2/" in call.turn for call in read_journal(journal)) == len(PANEL))
    thinking: set[str] = set()

    def on_live(live: Live) -> None:
        if live.state == "thinking" and live.turn.split("-")[0] != "0":
            thinking.add(live.seat)

    async def follow() -> None:
        async for _ in Reader(bare.owner).follow("s1", [PUBLIC, CONTROL], on_live=on_live):
            pass

    following = asyncio.create_task(follow())
    try:
        await until(seen)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    assert thinking >= set(PANEL)


async def test_what_a_moderator_could_not_read_in_time_is_asked_for_until_it_is_whole(bare: Engine) -> None:
    """Before `closed` ends all: on a busy machine its log may be behind what it knew."""
    moderator, asked = await bare.connect("moderator"), 0

    def post(channel: str, kind: str, k: int) -> Post:
        return Post(
            session="s1", transition=k, n=k, k=k, channel=channel, kind=kind, round=0, body=msgspec.Raw(b"{}"), at_ns=0
        )

    async def answer(msg: Msg) -> None:
        nonlocal asked
        if f".{CONTROL}." in msg.subject:
            page = Posts(posts=(post(CONTROL, CLOSED, 0),))
        else:
            asked += 1
            there = tuple(post(PUBLIC, "position", k) for k in range(min(asked, 3)))
            page = Posts(posts=there[decode(msg.data, ReadPosts).k :], behind=asked < 4)
        await msg.respond(encode(page))

    await moderator.subscribe(subjects.read.each, answer)
    reader = Reader(bare.owner, patience_s=5.0)
    heard = [(p.channel, p.k) async for p in reader.follow("s1", (PUBLIC, CONTROL))]
    assert heard == [(PUBLIC, 0), (PUBLIC, 1), (PUBLIC, 2), (CONTROL, 0)] and asked == 4
