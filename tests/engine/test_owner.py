"""What an owner may: have a closed session's texts removed, and say how long logs are kept."""

import json
import time
from hashlib import sha256
from pathlib import Path

import pytest

from parley.bus import streams, subjects
from parley.bus.log import LOG
from parley.bus_admin.streams import Kept, change
from parley.client.errors import BadInput
from parley.schemas.post import EraseSession, Posts, ReadPosts
from parley.schemas.presence import AskWorkers, Workers
from parley.schemas.session import Document, GiveFeedback
from parley.schemas.turn import Documents, FetchDocuments, SubmitAnswer
from parley.schemas.wire import decode, encode
from tests.support.engine import Engine, until

SECRET = "the-words-of-this-session"
TEXT = f"A document with {SECRET} in it."


async def workers(engine: Engine) -> Workers:
    msg = await engine.owner.request(subjects.own("workers", "owner", ""), encode(AskWorkers()), 5.0)
    return decode(msg.data, Workers)


async def erase(engine: Engine, sid: str) -> SubmitAnswer:
    msg = await engine.owner.request(subjects.own("erase", "owner", sid), encode(EraseSession()), 5.0)
    return decode(msg.data, SubmitAnswer)


async def test_erasing_leaves_a_tombstone_alone(stack: Engine) -> None:
    second = await stack.moderator()
    document = Document(id=sha256(TEXT.encode()).hexdigest(), name="d.md", text=TEXT)
    await stack.play("s1", question=SECRET, documents=(document,))
    await second.sessions.find("s1")
    assert (await erase(stack, "s1")).verdict == "accepted"
    left = [s for name in ("LOG", "INDEX", "WORK", "TIMER", "IN", "ASIDE") for s in await stack.kept(name)]
    assert left == [subjects.log("s1", subjects.ERASED), subjects.index("over", "owner", "s1")]
    assert await stack.log("s1") == ()
    (row,) = (await stack.sessions()).rows
    told = (row.session, row.status, row.reason, row.erased_by, row.question)
    assert told == ("s1", "erased", "threshold", "owner", "")
    assert row.erased_ns and row.closed_ns and row.opened_ns < row.closed_ns < row.erased_ns
    for _ in range(6):  # whichever of the two moderators answers
        posts = await stack.owner.request(subjects.read("public", "s1"), encode(ReadPosts()), 5.0)
        assert decode(posts.data, Posts) == Posts(posts=(), known=False)
        ask = encode(FetchDocuments(ids=(document.id,)))
        msg = await stack.owner.request(subjects.doc("public", "s1"), ask, 5.0)
        assert decode(msg.data, Documents).documents == ()
    assert (await erase(stack, "s1")).verdict == "accepted", "repeating it is fine"
    fate = await stack.open("s1")
    assert (fate.fate, fate.why) == ("refused", "session s1 exists already")


async def test_no_file_of_the_store_holds_a_word_of_an_erased_session(stack: Engine) -> None:
    """Also rows that were replaced, feedback, and turns that were answered, once no other turn waits."""
    document = Document(id=sha256(TEXT.encode()).hexdigest(), name="d.md", text=TEXT)
    for sid in ("s1", "s2"):
        await stack.play(sid, question=f"{SECRET} of {sid}", documents=(document,))
        fate = await stack.submit(sid, encode(GiveFeedback(right=False, note=f"{SECRET} of {sid}")))
        assert fate.fate == "taken", fate
    assert holding(stack, f"{SECRET} of s1")
    assert (await erase(stack, "s1")).verdict == "accepted"
    await until(lambda: not holding(stack, f"{SECRET} of s1"))
    assert holding(stack, f"{SECRET} of s2")


def holding(engine: Engine, text: str) -> list[str]:
    """The files of the server's store that hold a text."""
    files = [file for file in Path(engine.server.folder).rglob("*") if file.is_file()]
    return [file.name for file in files if text.encode() in file.read_bytes()]


async def test_a_tombstone_without_its_purge_is_finished_by_the_repeat(stack: Engine) -> None:
    """The process that erases dies between the two."""
    await stack.play("s1", question=SECRET)
    moderator = await stack.connect("moderator")
    info = await moderator.api("STREAM.INFO.LOG", {"subjects_filter": subjects.log_of("s1")})
    before = sum(info["state"]["subjects"].values())
    erased = {"at_ns": 1, "author": "owner", "protocol": "x", "status": "s", "reason": "r", "opened_ns": 1}
    await moderator.store(subjects.log("s1", subjects.ERASED), json.dumps(erased).encode())
    assert before > 3
    assert (await erase(stack, "s1")).verdict == "accepted"
    info = await moderator.api("STREAM.INFO.LOG", {"subjects_filter": subjects.log_of("s1")})
    assert sum(info["state"]["subjects"].values()) == 1


@pytest.mark.parametrize(
    ("settings", "days"),
    [((7.0, 90.0, 0.0), 0.0), ((7.0, 90.0), 90.0), ((90.0, 7.0), 90.0), ((0.0, 0.0003), 0.0)],
    ids=["for ever", "longer", "shorter", "a slip"],
)
async def test_a_moderator_makes_the_logs_age_limit_longer_and_never_shorter(
    bare: Engine, settings: tuple[float, ...], days: float
) -> None:
    connection = await bare.connect("moderator")
    for one in settings:
        await bare.moderator(log_max_age_s=one * streams.DAY_S)
    for name in (LOG, streams.ARTIFACTS, "INDEX"):
        info = await connection.api(f"STREAM.INFO.{name}")
        assert info["config"]["max_age"] == round(days * streams.DAY_S * 1e9), name
    assert await change(connection, None, not_asked) == Kept(days=days)


def not_asked(shorter: Kept) -> None:
    raise AssertionError(f"asked about {shorter}")


async def test_who_shortens_the_age_limit_is_told_how_many_sessions_that_removes(stack: Engine) -> None:
    connection = await stack.connect("moderator")
    for sid in ("s1", "s2"):
        await stack.play(sid)
    await until(lambda: indexed(stack, 2))
    ended = time.monotonic()
    await stack.play("s3")
    asked: list[Kept] = []

    def no(shorter: Kept) -> None:
        asked.append(shorter)
        raise BadInput("--yes", "no")

    await until(lambda: indexed(stack, 3))
    since = time.monotonic() - ended
    with pytest.raises(BadInput):
        await change(connection, since / streams.DAY_S, no)
    assert [kept.removes for kept in asked] == [2]
    assert len((await stack.sessions()).rows) == 3
    assert (await change(connection, 30.0, asked.append)).days == 30.0
    assert (await change(connection, 60.0, not_asked)).days == 60.0


async def indexed(engine: Engine, closed: int) -> bool:
    return sum(row.closed_ns is not None for row in (await engine.sessions()).rows) == closed
