"""A session that carries another's record on: what it carries, where it parts, what is refused, in every protocol."""

import json
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.bus.accounts import publics
from parley.bus.clients.hot_paths import HEADROOM
from parley.bus.embedded import EmbeddedServer
from parley.client.client import Client
from parley.client.errors import Refusal
from parley.client.records import record_of
from parley.client.rendering import documents, explain, html, terminal
from parley.client.what_if import compare, verify
from parley.schemas import log
from parley.schemas.past_sessions.fork import Fork
from parley.schemas.session import EVERYBODY, Document, ForkSession
from tests.engine.test_children import once
from tests.outcomes.played import fold, get, shown, take
from tests.support.engine import Engine
from tests.support.model import StubModel


def owner(engine: Engine) -> Client:
    return Client(engine.owner, "owner")


async def result(engine: Engine, sid: str) -> dict[str, Any]:
    post = await engine.closed(sid)
    found: dict[str, Any] = json.loads(bytes(post.body))
    return found


async def opening(engine: Engine, sid: str) -> log.Opened:
    event = (await engine.entries(sid))[0].event
    assert isinstance(event, log.Opened)
    return event


async def finished(engine: Engine, sid: str = "s1", **request: Any) -> dict[str, Any]:
    fate = await engine.open(sid, **request)
    assert fate.fate == "taken", fate
    return await result(engine, sid)


@pytest.mark.parametrize("point", ["", "stepped", "appended", "effected"])
async def test_with_nothing_changed_it_ends_as_the_record_did(bare: Engine, point: str) -> None:
    """Also where a moderator dies on the way to its opening, and another one takes it on."""
    due: list[tuple[str, str]] = []
    for _ in range(2):
        await bare.moderator(checkpoint=once(due))
    await bare.workers()
    before = await finished(bare)
    due += [(point, "f1")] if point else []
    await owner(bare).fork(ForkSession(of="s1"), "f1")
    after = await result(bare, "f1")
    assert due == [], "one was killed"
    for part in ("outcome", "rounds"):
        assert after[part] == before[part]
    assert after["stop"]["reason"] == before["stop"]["reason"]
    fork = (await opening(bare, "f1")).fork
    assert isinstance(fork, Fork) and (fork.parent, fork.parted, fork.changes) == ("s1", None, ())
    assert fork.carried == fork.position - 1, "the last signature is asked for anew"
    assert verify(record_of("f1", await bare.log("f1")))["recomputed"]


async def test_it_says_where_it_comes_from_everywhere(stack: Engine) -> None:
    await finished(stack)
    await owner(stack).fork(ForkSession(of="s1", settings={"least": {"approach": 99}}), "f1")
    after = await result(stack, "f1")
    fork = (await opening(stack, "f1")).fork
    assert isinstance(fork, Fork)
    words = f"forked from s1 after round {fork.round}, with consensus.least "
    assert after["fork"]["parent"] == "s1" and words in after["stop"]["certificate"]["record"]
    record = record_of("f1", await stack.log("f1"))
    for text in (
        "\n".join(explain.explanation_lines(record)),
        "\n".join(terminal.show(record)),
        "\n".join(terminal.markdown(record)).replace("Forked", "forked"),
        "\n".join(html.html(record)).replace("-&gt;", "->"),
    ):
        assert words in text
        assert f"it parts from the record at transition {fork.parted}" in text.replace("It parts", "it parts")
    told = documents.document(record)["fork"]
    assert told["round"] == fork.round and told["changes"][0]["what"] == "consensus.least"
    row = await owner(stack).row("f1")
    assert row is not None and row.forks == "s1"
    assert verify(record)["result"] is not None, "its own log alone recomputes it"
    found = compare(record_of("s1", await stack.log("s1")), {"consensus": {"least": {"approach": 99}}})
    assert fork.parted == found["n"] and str(found["how"]).startswith(fork.how)


async def test_what_cannot_be_is_refused_in_words(bare: Engine) -> None:
    await bare.moderator()
    await bare.workers({"latency_s": 30.0})
    client = owner(bare)

    async def refused(why: str, request: ForkSession, by: Client = client) -> None:
        with pytest.raises(Refusal, match=why):
            await by.fork(request)

    await bare.open("s1")
    await refused("there is no session s9", ForkSession(of="s9"))
    await refused("session s1 is open: a fork carries the record of one that is over", ForkSession(of="s1"))
    await bare.cancel("s1")
    await bare.closed("s1")
    await refused("session s1 has no whole round", ForkSession(of="s1"))
    await refused("moderators' own", ForkSession(of="madp-breaker"))
    other = Client(await bare.connect("client"), "client")
    await refused("session s1 was opened by somebody else", ForkSession(of="s1"), other)
    await client.erase("s1")
    await refused("session s1: it was erased", ForkSession(of="s1"))


async def test_what_it_carries_is_counted_once(stack: Engine) -> None:
    await finished(stack)
    await owner(stack).fork(ForkSession(of="s1"), "f1")
    after = await result(stack, "f1")
    into = fold()
    take(into, "f1", [e.encode() for e in await stack.log("f1")])
    assert 0 < after["usage"]["calls"] < after["fork"]["paid"]["calls"]
    assert get(shown(into.totals()), "session_calls_total", protocol="consensus") == after["usage"]["calls"]


ROOM = 256 * 1024
"""Bytes of one message that Parley uses."""
WORDS = "It is as it was said before. " * 60
"""What each reply says."""
TEXT = "The answer is known. " * 11_000
"""A document: with it the opening nearly fills a message, and what four rounds said does not fit beside it."""
DOCUMENT = Document(id=sha256(TEXT.encode()).hexdigest(), name="known.md", text=TEXT, holders=(EVERYBODY,))


class Wordy(StubModel):
    """Says much."""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The stub's reply, with many words in it."""
        found = await super().reply(shown, emit)
        if hasattr(found.body, "reasoning") and shown.kind in ("answer", "revise"):
            return msgspec.structs.replace(found, body=msgspec.structs.replace(found.body, reasoning=WORDS))
        return found


@pytest.fixture
async def small(tmp_path: Path) -> AsyncIterator[Engine]:
    """A bus whose messages are small, with a panel that says much."""
    engine = Engine(tmp_path)
    engine.server = EmbeddedServer(
        tmp_path, engine.users, publics(engine.credentials), max_payload=ROOM + HEADROOM
    )  # fmt: skip
    async with engine:
        await engine.moderator()
        for queue in engine.queues:
            await engine.worker(queue, model=Wordy({"agree_from": 99}))
        yield engine


async def test_a_record_that_is_larger_than_one_message_is_refused_in_words(small: Engine) -> None:
    before: dict[str, Any] = await finished(small, settings={"round_limit": 6, "stuck_rounds": 9}, documents=[DOCUMENT])
    assert len(before["rounds"]) == 6
    client = Client(small.owner, "owner")
    with pytest.raises(Refusal, match="the record up to the end of the round does not fit one message"):
        await client.fork(ForkSession(of="s1"), "f1")
    row = await client.row("f1")
    assert row is not None and row.status == "refused" and "does not fit one message" in row.reason
    await client.fork(ForkSession(of="s1", round=1, settings={"round_limit": 2}), "f2")
    after = await result(small, "f2")
    assert after["fork"]["round"] == 1 and len(after["rounds"]) == 2, "a shorter part of it is carried on"
