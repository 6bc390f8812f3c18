"""A moderator that cannot run a session leaves it to one that can; where nobody can any more, it ends and says why."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from prometheus_client import generate_latest

from parley.bus import subjects
from parley.bus.log import Log
from parley.bus.storage.index import Index
from parley.client.client import Client
from parley.client.listing import ListFilter, Listing
from parley.coordinator.machine import Protocol
from parley.coordinator.moderator import Moderator
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Step, View
from parley.schemas import log
from parley.schemas.presence import Workers
from parley.schemas.result import Result
from parley.schemas.stops import STOPS, VERSION_LOST
from parley.schemas.wire import decode
from tests.support.engine import Engine, counted, until

NOW = PROTOCOLS["consensus"]
LATER = {"consensus": replace(NOW, version=NOW.version + 90, oldest=NOW.version), "breaker": PROTOCOLS["breaker"]}
"""As a later release has them: it steps the sessions of this one, and opens others."""


def otherwise() -> Mapping[str, Protocol]:
    """The same version, but it leads elsewhere: whoever forgets to raise it."""
    return {"consensus": replace(NOW, attempts=9, start=_start), "breaker": PROTOCOLS["breaker"]}


def _start(view: View) -> Step:
    state, wishes = NOW.start(view)
    return state, tuple(reversed(wishes))


def left(moderator: Moderator, reason: str) -> float:
    return counted(moderator._metrics.left_to_others.labels(reason=reason))


@pytest.mark.parametrize(
    ("protocols", "reason"), [(LATER, "version"), (otherwise(), "digest")], ids=["version", "digest"]
)
async def test_a_moderator_leaves_what_it_cannot_run_to_one_that_can(
    bare: Engine, protocols: Mapping[str, Protocol], reason: str
) -> None:
    """Replies, checks, timers and cancels reach either of them; none is refused, dropped or put aside."""
    other = await bare.moderator(protocols)
    await bare.workers()
    fates = [await bare.open(f"s{i}") for i in range(6)]
    assert {f.fate for f in fates} == {"taken"}
    now = await bare.moderator()
    fates = [await bare.open(f"t{i}", budget={"seconds": 60}) for i in range(6)]
    assert {f.fate for f in fates} == {"taken"}
    for sid in (*(f"s{i}" for i in range(6)), *(f"t{i}" for i in range(6))):
        closed = decode((await bare.closed(sid, 30.0)).body, Result)
        assert closed.stop.reason == "threshold", closed
    del other
    assert left(now, reason) > 0 or left(now, "entry") > 0
    assert await bare.kept("ASIDE") == []


async def opened(engine: Engine, sid: str) -> Moderator:
    """A moderator of a later release, and a session that it has opened; its workers are gone before they answered."""
    later = await engine.moderator(LATER)
    workers = await engine.workers({"latency_s": 600.0}, drain_s=0.0)
    assert (await engine.open(sid)).fate == "taken"
    for worker in workers:
        await worker.__aexit__()
    return later


async def lost(engine: Engine, sid: str, **options: Any) -> Moderator:
    """A session of a later release that ran no further, and a moderator of this one alone."""
    later = await opened(engine, sid)
    await later.__aexit__()
    return await engine.moderator(**options)


async def test_it_is_neither_answered_nor_acknowledged_nor_put_aside_and_others_go_on(bare: Engine) -> None:
    moderator = await lost(bare, "s1")
    await bare.workers(drain_s=0.0)
    await bare.owner.store(subjects.inbox("client", "owner", "s1"), b'{"t":"cancel"}')
    await until(lambda: left(moderator, "version") >= 4)
    assert (await bare.open("s2")).fate == "taken"
    await bare.closed("s2")
    assert len(await bare.kept("IN")) == 1 and await bare.kept("ASIDE") == []
    assert len(await bare.log("s1")) == 1
    assert b'parley_sessions_unreadable{reason="version"} 1.0' in generate_latest(moderator._metrics.registry)
    client = Client(bare.owner, "owner")
    found: Workers = await client.workers()
    (one,) = found.unreadable
    assert (one.session, one.protocol, one.version, one.reason) == ("s1", "consensus", NOW.version + 90, "version")
    await bare.moderator(LATER)
    result = decode((await bare.closed("s1")).body, Result)
    assert result.status == "cancelled" and await bare.kept("ASIDE") == []


async def test_a_session_that_nobody_can_run_ends_and_says_so(bare: Engine) -> None:
    client = Client(bare.owner, "owner")
    later = await opened(bare, "s1")
    waiting = asyncio.create_task(client.result("s1"))
    public = len(await bare.posts("s1", "control"))
    await later.__aexit__()
    moderator = await bare.moderator(unreadable_s=0.3)
    await bare.owner.store(subjects.inbox("client", "owner", "s1"), b'{"t":"cancel"}')
    result = await asyncio.wait_for(waiting, 20)
    assert (result.status, result.stop.reason, result.stop.converged) == ("failed", VERSION_LOST, False)
    assert result.stop.certificate["version"] == NOW.version + 90
    assert STOPS[VERSION_LOST].exit_code == 1
    (row,) = await client.sessions()
    assert (row.status, row.reason, row.protocol) == ("failed", VERSION_LOST, "consensus") and row.closed_ns
    posts = await bare.posts("s1", "control")
    assert [p.k for p in posts] == list(range(len(posts))) and len(posts) == public + 2
    entries = await bare.entries("s1")
    assert isinstance(entries[-1].event, log.Lost) and entries[-1].n == len(entries) - 1
    # the submission that brought it is settled, and later ones are refused
    fate = await bare.cancel("s1")
    assert fate.fate == "refused" and VERSION_LOST in fate.why
    assert (await bare.open("s1")).fate == "refused"
    assert moderator._unreadable.sessions() == () and await bare.kept("ASIDE") == []
    # a later release takes nothing more for it, and shows the same
    await moderator.__aexit__()
    again = await bare.moderator(LATER)
    assert (await bare.cancel("s1")).fate == "refused"
    assert await bare.posts("s1", "control") == posts
    await client.erase("s1")
    assert [r.status for r in await client.sessions()] == ["erased"]
    assert await client.log("s1") == []
    del again


MANY = 60
PATIENCE_S = 0.4


async def test_what_cannot_be_read_stands_in_the_list_and_the_rest_is_not_tried(bare: Engine) -> None:
    await lost(bare, "s1")
    connection = await bare.connect("moderator")
    entry, opened = (await bare.log("s1"))[0].encode(), (await bare.sessions()).rows[0]
    index, ended_log = Index(connection), Log(connection)
    sids = [f"x{n}" for n in range(MANY)]
    for sid in sids:
        ended = msgspec.structs.replace(opened, session=sid, status="finished", closed_ns=opened.opened_ns + 1)
        await ended_log.append(sid, subjects.OPENED, entry, 0, ended)
        await index.put(ended)
    client = Client(bare.owner, "owner", patience_s=PATIENCE_S)
    began = time.monotonic()
    for ended_as in ("", "agreed"):
        found = await Listing().find(client, ListFilter(ended=ended_as), limit=200)
        lines = {one.session: one for one in found.sessions if one.session in sids}
        assert list(lines) == sids[::-1], "in their order, whatever is asked for: whether they fit is not known"
        tried = [one for one in lines.values() if "not tried" not in one.unread]
        assert all(one.unread and not one.kind for one in lines.values()) and 0 < len(tried) <= 16
        assert tried == list(lines.values())[: len(tried)]
    assert time.monotonic() - began < 2 * PATIENCE_S + 8, "each list waited once"
