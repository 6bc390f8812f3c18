"""Sample logs (README.md) are listed and exported, and replay to the same states and commands."""

import json
from pathlib import Path
from typing import Any

import pytest

from parley.bus import subjects
from parley.bus.log import Log
from parley.bus.streams import ensure_streams
from parley.client import records
from parley.client.client import Client
from parley.client.records import read_record
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.post import SessionRow
from parley.schemas.result import Result
from parley.schemas.session import TimerDue
from parley.schemas.stops import STOPS, VERSION_LOST
from parley.schemas.wire import decode, encode
from tests.old_logs.record import FORK
from tests.parley.support import Front
from tests.support.engine import Engine

HERE = Path(__file__).parent
LOGS = {f"{path.parent.name}-{path.stem}": path for path in sorted(HERE.glob("*/*.jsonl"))}
ENDED = [name for name, path in LOGS.items() if records.result_of(read_record(path)) is not None]
"""All but those of standing sessions, which stay open."""
FIRST = "1"
"""The folder with the first version of every protocol."""
each = pytest.mark.parametrize("path", LOGS.values(), ids=LOGS.keys())
ended = pytest.mark.parametrize("name", ENDED)


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Front:
    return Front(tmp_path_factory.mktemp("front"))


def run(front: Front, *arguments: str) -> str:
    code, out, err = front.run(*arguments)
    assert (code, err) == (0, ""), err
    return out


def result_of(path: Path) -> Result:
    found = records.result_of(read_record(path))
    assert found is not None
    return found


def test_every_protocol_has_a_record_in_the_first_folder() -> None:
    opened = {path: records.opening(read_record(path)) for path in LOGS.values()}
    assert {path.stem for path in opened if path.parent.name == FIRST} == {*PROTOCOLS, FORK}
    assert all(path.stem in (o.protocol, FORK) for path, o in opened.items())
    assert {PROTOCOLS[o.protocol].steps(o.version) for o in opened.values()} == {True}


@each
def test_it_recomputes_to_its_own_bytes(front: Front, path: Path) -> None:
    out = run(front, "replay", str(path))
    assert f"{len(path.read_text().splitlines()) - 1} steps recomputed, and all came out the same" in out


@each
def test_it_is_exported_as_markdown_as_html_and_as_json(front: Front, path: Path) -> None:
    sid = read_record(path).sid
    assert sid in run(front, "sessions", "export", str(path), "--format", "markdown")
    page = run(front, "sessions", "export", str(path), "--format", "html")
    assert page.startswith("<!DOCTYPE html>") and sid in page
    document = json.loads(run(front, "sessions", "export", str(path), "--format", "json", "--all"))
    assert document["session"] == sid


async def test_a_moderator_lists_them_and_gives_them_out(tmp_path: Path) -> None:
    """They lie in the log of a bus one by one; the moderator folds each, and checks its digests."""
    async with Engine(tmp_path) as engine:
        connection = await engine.connect("moderator")
        await ensure_streams(connection, ack_wait_s=engine.ack_wait_s)
        stored = {name: read_record(path) for name, path in LOGS.items()}
        for record in stored.values():
            await _store(Log(connection), record)
        moderator = await engine.moderator()
        client = Client(engine.owner, "owner")
        assert [piece.done async for piece in client.rebuild_index()][-1], "no row was written with them"
        rows = {row.session: row for row in await client.sessions()}
        for name, record in stored.items():
            row = rows[record.sid]
            assert row.reason == (result_of(LOGS[name]).stop.reason if name in ENDED else "")
            assert await client.log(record.sid) == list(record.entries)
            held = await moderator.sessions.look(record.sid, fresh=True)
            assert held.session is not None and held.session.n == len(record.entries)
            if name in ENDED:
                assert await client.result(record.sid) == records.result_of(record)


async def test_a_session_that_is_open_ends_with_a_reason(tmp_path: Path) -> None:
    """Its first entries lie in the log as they were recorded; what comes now is appended behind."""
    record = read_record(LOGS[f"{FIRST}-consensus"])
    async with Engine(tmp_path) as engine:
        connection = await engine.connect("moderator")
        await ensure_streams(connection, ack_wait_s=engine.ack_wait_s)
        await _store(Log(connection), record, 3)
        await engine.moderator()
        await engine.workers()
        await connection.store(subjects.fired(record.sid), encode(TimerDue()))
        result = decode((await engine.closed(record.sid)).body, Result)
        assert result.stop.reason in STOPS and result.stop.reason != VERSION_LOST
        assert result.outcome
        found = await engine.log(record.sid)
        assert found[:3] == record.entries[:3] and len(found) > 3
        assert replay(PROTOCOLS.get, record.sid, found).session.closed


async def _store(kept: Log, record: records.Record, many: int | None = None) -> None:
    entries, last = records.entries_of(record)[:many], 0
    opened: Any = entries[0].event
    row = SessionRow(
        session=record.sid, seq=0, protocol=opened.protocol, question=opened.question, status="open",
        opened_ns=entries[0].at_ns,
    )  # fmt: skip
    for entry, text in zip(entries, record.entries[:many], strict=True):
        close = next((c for c in entry.commands if isinstance(c, log.Close)), None)
        ended = SessionRow(
            session=record.sid, seq=0, protocol=opened.protocol, question="", status=close.status, reason=close.reason,
            opened_ns=entries[0].at_ns, closed_ns=entry.at_ns,
        ) if close else None  # fmt: skip
        kind = subjects.OPENED if entry.n == 0 else subjects.CLOSED if close else subjects.STEP
        last = await kept.append(record.sid, kind, text.encode(), last, ended if entry.n else row)
