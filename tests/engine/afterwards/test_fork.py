"""A session that carries another's record on: what it carries, where it parts, what it says of itself, what is refused."""

import json
from typing import Any

import pytest

from client.client import Client
from client.errors import Refusal
from client.records import record_of
from client.what_if import compare, verify
from schemas import log
from schemas.afterwards.fork import Fork
from schemas.session import ForkSession
from tests.support.engine import Engine


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


async def test_with_nothing_changed_it_ends_as_the_record_did(stack: Engine) -> None:
    before = await finished(stack)
    await owner(stack).fork(ForkSession(of="s1"), "f1")
    after = await result(stack, "f1")
    for part in ("outcome", "rounds"):
        assert after[part] == before[part]
    assert after["stop"]["reason"] == before["stop"]["reason"]
    fork = (await opening(stack, "f1")).fork
    assert isinstance(fork, Fork) and (fork.parent, fork.parted, fork.changes) == ("s1", None, ())
    assert fork.carried == fork.position
