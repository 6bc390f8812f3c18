"""Posts that are made in one go are one message a channel and kind, and readers of either release have all of them."""

import asyncio
import itertools

import pytest

from parley.bus import subjects
from parley.bus.channels import CONTROL, PUBLIC
from parley.bus.posts import Reader
from parley.schemas.post import Post, decode_posts, posted, together
from parley.schemas.wire import Undecodable, decode, encode, raw
from tests.engine.together.test_replies import PANEL, round_asked
from tests.engine.together.test_replies import together as all_at_once
from tests.support.engine import Engine, until


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


def test_on_every_channel_messages_keep_the_order_of_posts() -> None:
    for given in map("".join, itertools.product("ABa", repeat=5)):
        posts = made(given)
        told = [p for group in together(posts) for p in decode_posts(posted(group))]
        for channel in (PUBLIC, CONTROL):
            assert [p for p in told if p.channel == channel] == [p for p in posts if p.channel == channel]


def test_what_is_long_goes_out_by_itself() -> None:
    posts = [post(PUBLIC, "A", k, 20_000) for k in range(3)]
    assert kinds_of(together(posts)) == ["A", "A", "A"]


def test_a_reader_of_the_release_before_takes_the_first_one() -> None:
    posts = made("AAA")
    assert decode(posted(posts), Post) == posts[0]
    assert posted(posts[:1]) == encode(posts[0])
    with pytest.raises(Undecodable):
        decode_posts(b'{"session":"s1"}')


async def test_answers_of_one_append_are_one_message_and_are_followed_in_order(bare: Engine) -> None:
    moderator = await bare.moderator(lane="a")
    works = await round_asked(bare)
    connection = bare.owner
    messages: list[tuple[Post, ...]] = []
    await connection.subscribe(subjects.channel("s1", PUBLIC), lambda msg: messages.append(decode_posts(msg.data)))
    followed: list[Post] = []

    async def follow() -> None:
        async for said in Reader(connection, quiet_s=60.0).follow("s1", [PUBLIC]):
            followed.append(said)

    following = asyncio.create_task(follow())
    try:
        answers = await all_at_once(bare, moderator, works)
        assert {a.verdict for a in answers.values()} == {"accepted"}

        async def all_there() -> bool:
            return len(followed) >= len(PANEL)

        await until(all_there)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    (message,) = messages
    assert [p.k for p in message] == [0, 1, 2]
    assert tuple(followed) == message == await bare.posts("s1", PUBLIC)
