"""Sessions beneath sessions, words between them, human answers, and seats that join, on a real server."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.bus import subjects
from parley.bus.channels import CLIENT, OWNER, SESSION
from parley.bus.connection import Connection
from parley.bus.errors import BusError
from parley.coordinator.commands import CancelChild, StartChild, Tell
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.post import Fate
from parley.schemas.session import Budget, DecideItem, Document, ForkSession, OpenSession, Seat, TellSession
from parley.schemas.turn import Speak, SubmitAnswer
from parley.schemas.wire import decode, encode, raw
from tests.coordinator.floor_play import ANSWERS, ends, when
from tests.engine.floor import opened, posted, protocols, say
from tests.support.engine import QUEUES, Engine, engine, until


def starts(**request: Any) -> None:
    given = {"question": "Who is right?", "protocol": "consensus", "settings": {"round_limit": 1}, **request}
    when("start", StartChild(opening=OpenSession(**given)))


def once(due: list[tuple[str, str]]) -> Callable[[str, str], None]:
    """Moderators of which one gets no further at this point, once: what is stored is as if it had been killed."""

    def checkpoint(at: str, session: str) -> None:
        if (at, session) in due:
            due.clear()
            raise BusError("killed here")

    return checkpoint


async def test_a_session_beneath_runs_and_its_end_comes_back(bare: Engine) -> None:
    await bare.moderator(protocols())
    await bare.workers()
    text = "Vilnius is the capital."
    document = Document(id=sha256(text.encode()).hexdigest(), name="a.txt", text=text)
    other = Document(id=sha256(b"Riga.").hexdigest(), name="b.txt", text="Riga.")
    starts(inherits=True, only=("a.txt",), budget=Budget(calls=400))
    ANSWERS["ChildEnded"] = ends
    await opened(bare, documents=(document, other), budget=Budget(tokens=900_000, seconds=100))
    assert (await say(bare, "start")).verdict == "accepted"
    result = msgspec.json.decode((await bare.closed("s1")).body)
    ended = await posted(bare, "ChildEnded")
    assert (ended["session"], ended["status"], ended["protocol"]) == ("s1-c1", "finished", "consensus")
    assert ended["result"]["session"] == "s1-c1"
    (first, *_) = await bare.entries("s1-c1")
    assert isinstance(first.event, log.Opened)
    assert (first.event.parent, first.event.author) == ("s1", "owner")
    assert [d.text for d in first.event.documents] == [text] and first.event.documents[0].holders
    budget = first.event.budget
    assert (budget.calls, budget.tokens) == (400, 900_000) and budget.seconds is not None and budget.seconds <= 100
    assert result["usage"]["by_seat"]["session s1-c1"]["calls"] == ended["result"]["usage"]["calls"]
    assert [(r.session, r.parent) for r in (await bare.sessions()).rows] == [("s1", ""), ("s1-c1", "s1")]


async def test_cancelling_a_session_cancels_what_is_beneath(bare: Engine) -> None:
    await bare.moderator(protocols())
    await bare.workers({"latency_s": 30.0})
    starts()
    await opened(bare)
    await say(bare, "start")

    async def running() -> bool:
        return bool(await bare.posts("s1-c1", "control") or await bare.entries("s1-c1"))

    await until(running)
    alone = await bare.cancel("s1-c1")
    assert (alone.fate, alone.why) == ("refused", "session s1-c1 runs beneath session s1; end that one")
    await bare.cancel("s1")
    closed = msgspec.json.decode((await bare.closed("s1-c1")).body)
    assert closed["stop"]["reason"] == "cancelled"
    assert closed["stop"]["certificate"] == {"by": "s1", "why": "session s1 ended it"}


async def test_one_cancelled_before_it_was_opened_never_runs(bare: Engine) -> None:
    """The cancelling stands in its log first, and the opening meets it there by compare-and-swap."""
    await bare.workers()
    starts()
    when("cancel", CancelChild(session="s1-c1"))
    ANSWERS["ChildEnded"] = ends
    moderator = await bare.moderator(protocols())
    await opened(bare)
    connection = await bare.connect("moderator")
    cancel = b'{"t":"cancel"}'
    await connection.store(subjects.inbox(SESSION, "s1", "s1-c1"), cancel, msg_id="early")
    await until(lambda: moderator.sessions.look("s1-c1", fresh=True), right=lambda found: found.refusals)
    await say(bare, "start")
    ended = await posted(bare, "ChildEnded")
    assert ended["status"] == "refused" and "cancelled it before it was opened" in ended["why"]
    assert await bare.entries("s1-c1") == []


@pytest.mark.parametrize("sid", ["s1", "s1-c1"])
@pytest.mark.parametrize("point", ["appended", "effected"])
async def test_a_moderator_that_dies_on_the_way_loses_and_doubles_nothing(bare: Engine, point: str, sid: str) -> None:
    """In the step that starts it, and in the one that opens it."""
    starts()
    ANSWERS["ChildEnded"] = ends
    due: list[tuple[str, str]] = []
    for _ in range(2):
        await bare.moderator(protocols(), checkpoint=once(due))
    await bare.workers()
    await opened(bare)
    due.append((point, sid))
    connection = await bare.connect("panelist_1")
    speak = encode(Speak(window="floor", kind="start", body=raw({})))

    async def accepted() -> bool:
        try:
            msg = await connection.request(subjects.say(subjects.ANY, "public", "panelist_1", "s1"), speak, 1.0)
        except BusError:
            return False
        return decode(msg.data, SubmitAnswer).verdict == "accepted"

    await until(accepted)
    await bare.closed("s1")
    assert due == [], "one was killed"
    result = msgspec.json.decode((await bare.closed("s1")).body)
    assert result["stop"]["reason"] == "played"
    events = [type(e.event).__name__ for e in await bare.entries("s1")]
    assert events == ["Opened", "Spoke", "ChildEnded"]
    assert [r.status for r in (await bare.sessions()).rows if r.session == "s1-c1"] == ["finished"]


async def test_the_end_is_told_though_the_moderator_dies_as_it_closes(bare: Engine) -> None:
    starts()
    ANSWERS["ChildEnded"] = ends
    closing: list[str] = []

    def checkpoint(at: str, session: str) -> None:
        held = moderator.sessions._cache.get("s1-c1").session if session == "s1-c1" else None
        if at == "appended" and held is not None and held.closed and not closing:
            closing.append(session)
            raise BusError("killed here")

    moderator = await bare.moderator(protocols(), checkpoint=checkpoint)
    await bare.workers()
    await opened(bare)
    await say(bare, "start")
    await bare.closed("s1")
    assert closing == ["s1-c1"]
    assert [type(e.event).__name__ for e in await bare.entries("s1")] == ["Opened", "Spoke", "ChildEnded"]


async def test_a_client_starts_nothing_beneath_and_touches_nothing_of_the_moderators(bare: Engine) -> None:
    await bare.moderator(protocols())
    await bare.workers()
    beneath = await bare.open("s2", parent="s1")
    assert (beneath.fate, beneath.field) == ("refused", "parent")
    assert "opened by moderators" in beneath.why
    own = await bare.open("madp-breaker")
    assert own.fate == "refused" and "the moderators' own" in own.why
    standing = await bare.open("s3", protocol="breaker")
    assert standing.fate == "refused" and "known are competition, compound, consensus" in standing.why
    told = await bare.submit("s1", encode(TellSession(place="0-0", kind="x", body=raw(1))))
    assert told.fate == "refused" and "takes no TellSession" in told.why


# ---------------------------------------------------------------- words


async def test_what_is_told_twice_is_taken_once(bare: Engine) -> None:
    moderator = await bare.connect("moderator")
    await bare.moderator(protocols())
    when("pass", Tell(session="s2", kind="word", body=raw({"n": 1})))
    await opened(bare)
    await opened(bare, "s2")
    await say(bare, "pass")
    told = await posted(bare, "Told", "s2")
    assert told == {"t": "told", "sender": "s1", "kind": "word", "body": {"n": 1}}
    again = TellSession(place="1-1", kind="word", body=raw({"n": 1}))
    await moderator.store(subjects.inbox(SESSION, "s1", "s2"), encode(again), msg_id="long after")
    await moderator.store(
        subjects.inbox(SESSION, "s1", "s2"), encode(msgspec.structs.replace(again, place="9-9", kind="last"))
    )

    async def last() -> bool:
        return any(isinstance(e.event, log.Told) and e.event.kind == "last" for e in await bare.entries("s2"))

    await until(last)
    kinds = [e.event.kind for e in await bare.entries("s2") if isinstance(e.event, log.Told)]
    assert kinds == ["word", "last"]


# ---------------------------------------------------------------- humans


async def decide(bare: Engine, choice: str, by: Connection | None = None, channel: str = CLIENT) -> Fate:
    return await bare.submit("s1", encode(DecideItem(item="1", choice=choice, note="n")), by, channel)


async def test_its_opener_answers_an_item_and_an_owner_any_but_no_stranger(bare: Engine) -> None:
    await bare.moderator(protocols())
    client = await bare.connect("client")
    await opened(bare)
    stranger = await decide(bare, "end", client)
    assert stranger.fate == "refused" and "opened by somebody else" in stranger.why
    mine = await decide(bare, "yes")
    assert mine.fate == "taken"
    decided = {"t": "decided", "item": "1", "choice": "yes", "note": "n", "author": "owner"}
    assert await posted(bare, "Decided") == decided
    ANSWERS["end"] = ends
    assert (await decide(bare, "end", channel=OWNER)).fate == "taken"
    late = await decide(bare, "end", channel=OWNER)
    assert late.fate == "refused" and "closed" in late.why


# ---------------------------------------------------------------- seats


FOUR = {**QUEUES, "panelist_4": "panelist"}
SLOW = {"latency_s": 0.7}


async def opens(bare: Engine) -> None:
    """A session of three whose first round takes a moment, with a member that has no seat."""
    for queue in FOUR:
        await bare.worker(queue, SLOW if queue == "panelist_3" else None)
    seats = tuple(Seat(seat=seat, role=role, queue=seat) for seat, role in QUEUES.items())

    async def taken() -> bool:
        return (await bare.open("s1", settings={"round_limit": 3}, seats=seats)).fate == "taken"

    await until(taken)


def invited(entries: Sequence[log.Entry]) -> list[str]:
    return [c.seat.seat for e in entries for c in e.commands if isinstance(c, log.Invite)]


@pytest.mark.parametrize("point", ["appended", "effected"])
async def test_a_member_joins_once_though_a_moderator_dies_on_the_way(tmp_path: Path, point: str) -> None:
    """In the step that takes the decision. What is stored is carried out by another moderator, and recomputes."""
    async with engine(tmp_path, queues=FOUR) as bare:
        due: list[tuple[str, str]] = []
        for _ in range(2):
            await bare.moderator(checkpoint=once(due))
        await opens(bare)
        due.append((point, "s1"))
        added = await bare.submit("s1", encode(DecideItem(item="seat", choice="add panelist_4")))
        assert added.fate == "taken"
        await bare.closed("s1", 30.0)
        entries, texts = await bare.entries("s1"), await bare.log("s1")
        assert due == [], "one was killed"
        assert sum(isinstance(e.event, log.Decided) for e in entries) == 1 and invited(entries) == ["panelist_4"]
        asked = [c for e in entries for c in e.commands if isinstance(c, log.Ask) and c.seat == "panelist_4"]
        assert asked[0].kind == "answer" and not asked[0].sees
        posts = await bare.posts("s1", "public")
        assert any(p.kind == "position" and p.seat == "panelist_4" for p in posts)
        replayed = replay(PROTOCOLS.get, "s1", texts)
        assert (
            replayed.result is not None
            and [s["seat"] for s in replayed.result.outcome["signatures"]][-1] == "panelist_4"
        )
        fork = ForkSession(of="s1", round=2, settings={"threshold": 60.0})
        assert (await bare.submit("f1", encode(fork))).fate == "taken"
        await bare.closed("f1", 30.0)
        assert invited(await bare.entries("f1")) == ["panelist_4"]
