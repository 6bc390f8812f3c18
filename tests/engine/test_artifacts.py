"""The object store: who may put what where, that nothing is overwritten, and that it goes with its session."""

import base64
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from parley.agents.tools.folder import archive
from parley.bus import artifacts, subjects
from parley.bus.artifacts import Artifacts
from parley.bus.connection import Connection
from parley.bus.errors import ArtifactRefused, BusError, Conflict, Denied, StoreError
from parley.coordinator.commands import Invite
from parley.schemas.artifact import MAX_ARTIFACTS
from parley.schemas.expert import pin, queue_of
from parley.schemas.post import EraseSession
from parley.schemas.session import Seat
from parley.schemas.turn import SubmitAnswer, Work
from parley.schemas.wire import InvalidValue, decode, encode
from tests.coordinator.floor_play import ANSWERS, asks, ends
from tests.engine.floor import opened, protocols, say
from tests.support import experts
from tests.support.engine import QUEUES, Engine, engine, until

TWO = {**QUEUES, "expert_sre": "expert", "expert_api": "expert"}
PINS = {queue_of(name): pin(experts.expert(name)) for name in ("sre", "api")}


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[Engine]:
    """A server that knows two experts."""
    async with engine(tmp_path, queues=TWO, pins=PINS) as started:
        yield started


def folder(text: bytes) -> bytes:
    """An archive of one file."""
    return archive({"text": (text, False)})


def id_of(data: bytes) -> str:
    return sha256(data).hexdigest()


async def asked(bus: Engine) -> tuple[Connection, dict[str, Any]]:
    """An expert's connection, and the open turn that it was asked: its id and its token."""
    ANSWERS["invite"] = lambda view: (Invite(seat=Seat(seat="sre", role="expert", queue="expert_sre")), asks("sre"))
    await opened(bus)
    await say(bus, "invite")
    moderator = await bus.connect("moderator")
    body = {"last_by_subj": subjects.work.of(queue="expert_sre", session="s1")}

    async def work() -> Work | None:
        try:
            found = await moderator.api("STREAM.MSG.GET.WORK", body)
        except BusError:
            return None
        return decode(base64.b64decode(found["message"]["data"]), Work)

    sent = await until(work)
    turn = sent.turns[0]
    return await bus.connect("expert_sre"), {"turn": turn.id, "token": turn.token}


async def test_an_expert_stores_for_its_open_turn_and_every_reader_fetches(bus: Engine) -> None:
    await bus.moderator(protocols())
    expert, turn = await asked(bus)
    data = folder(bytes(range(256)) * 4_000)
    id = await artifacts.put(expert, "s1", data, **turn)
    assert id == id_of(data)
    assert await artifacts.put(expert, "s1", data, **turn) == id, "stored twice is stored once"
    for name in ("auditor", "owner"):
        reader = await bus.connect(name)
        assert await artifacts.get(reader, "s1", id) == data
        with pytest.raises(ArtifactRefused, match="session s2 has no artifact"):
            await artifacts.get(reader, "s2", id)
    moderator = await bus.connect("moderator")
    info = await moderator.api("STREAM.INFO.ARTIFACTS")
    assert info["state"]["messages"] == 1


async def test_a_foreign_put_is_refused(bus: Engine) -> None:
    await bus.moderator(protocols())
    expert, turn = await asked(bus)
    other = await bus.connect("expert_api")
    with pytest.raises(ArtifactRefused, match="belongs to queue expert_sre, not to expert_api"):
        await artifacts.put(other, "s1", b"x", **turn)
    with pytest.raises(ArtifactRefused, match="the token is not right"):
        await artifacts.put(expert, "s1", b"x", turn=turn["turn"], token="0" * 32)
    with pytest.raises(ArtifactRefused, match="the token is not right"):
        await artifacts.put(expert, "s1", b"x")
    with pytest.raises(ArtifactRefused, match="there is no session s9"):
        await artifacts.put(expert, "s9", b"x", **turn)
    await bus.cancel("s1")
    with pytest.raises(ArtifactRefused, match="is not open"):
        await artifacts.put(expert, "s1", b"x", **turn)
    stranger = await bus.connect("client")
    with pytest.raises(ArtifactRefused, match="opened by somebody else"):
        await artifacts.put(stranger, "s1", b"x")
    with pytest.raises(ArtifactRefused, match="has no artifact"):
        await artifacts.get(bus.owner, "s1", id_of(b"x"))


async def test_an_expert_takes_what_its_open_turn_names_and_nothing_else(bus: Engine) -> None:
    """A task's folder is for who works on it. What a turn names is taken in tests/engine/madp/test_tasks.py."""
    await bus.moderator(protocols())
    expert, turn = await asked(bus)
    id = await artifacts.put(expert, "s1", folder(b"a folder"), **turn)
    with pytest.raises(Denied):
        await artifacts.get(expert, "s1", id)
    with pytest.raises(ArtifactRefused, match=f"names no artifact {id}"):
        await artifacts.take(expert, "s1", id, **turn)
    with pytest.raises(ArtifactRefused, match="the token is not right"):
        await artifacts.take(expert, "s1", id, turn=turn["turn"], token="0" * 32)
    with pytest.raises(ArtifactRefused, match="belongs to queue expert_sre, not to expert_api"):
        await artifacts.take(await bus.connect("expert_api"), "s1", id, **turn)
    await bus.cancel("s1")
    with pytest.raises(ArtifactRefused, match="is not open"):
        await artifacts.take(expert, "s1", id, **turn)


async def test_a_client_stores_before_it_opens_and_it_goes_with_the_session(bus: Engine) -> None:
    await bus.moderator(protocols())
    id = await artifacts.put(bus.owner, "s1", folder(b"a folder"))
    await opened(bus)
    assert await artifacts.put(bus.owner, "s1", folder(b"more")) == id_of(folder(b"more"))
    assert await artifacts.get(bus.owner, "s1", id) == folder(b"a folder")
    other = await artifacts.put(bus.owner, "s2", folder(b"stays"))
    ANSWERS["end"] = ends
    await say(bus, "end")
    msg = await bus.owner.request(subjects.own("erase", "owner", "s1"), encode(EraseSession()), 5.0)
    assert decode(msg.data, SubmitAnswer).verdict == "accepted"
    with pytest.raises(ArtifactRefused, match="has no artifact"):
        await artifacts.get(bus.owner, "s1", id)
    with pytest.raises(ArtifactRefused, match="was erased"):
        await artifacts.put(bus.owner, "s1", folder(b"again"))
    assert await artifacts.get(bus.owner, "s2", other) == folder(b"stays")


async def test_a_session_has_so_many_artifacts_and_none_of_a_strange_name(bare: Engine) -> None:
    await bare.moderator(protocols())
    for i in range(MAX_ARTIFACTS):
        await artifacts.put(bare.owner, "s1", folder(str(i).encode()))
    with pytest.raises(ArtifactRefused, match="artifacts: got 65, a session has at most 64"):
        await artifacts.put(bare.owner, "s1", folder(b"one more"))
    assert await artifacts.put(bare.owner, "s1", folder(b"0")) == id_of(folder(b"0")), "what is there is there"
    with pytest.raises(InvalidValue, match="64 hex digits"):
        await artifacts.get(bare.owner, "s1", "../x")


async def test_the_stream_itself_overwrites_nothing(bus: Engine) -> None:
    await bus.moderator(protocols())
    moderator = await bus.connect("moderator")
    store = Artifacts(moderator)
    id = await store.put("s1", b"first")
    with pytest.raises(StoreError) as refused:
        await moderator.store(subjects.artifact("s1", id), b"second")
    assert not isinstance(refused.value, Conflict)
    assert await store.get("s1", id) == b"first"
    assert await store.get("s1", id_of(b"second")) is None
