"""Sessions that earlier versions recorded (README.md) are listed, shown, explained, exported and replayed."""

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
from parley.coordinator.protocols import PROTOCOLS, STANDING
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.post import SessionRow
from parley.schemas.result import Result
from parley.schemas.session import TimerDue
from parley.schemas.stops import STOPS, VERSION_LOST
from parley.schemas.wire import decode, encode
from tests.parley.support import Front
from tests.support.engine import Engine

HERE = Path(__file__).parent
LOGS = {f"{path.parent.name}-{path.stem}": path for path in sorted(HERE.glob("*/*.jsonl"))}
BEFORE = {
    "092e006-consensus": "cap", "092e006-critic": "round_limit", "092e006-maci": "max_rounds",
    "092e006-competition": "played", "092e006-madp": "planned", "181de64-consensus": "quorum",
    "ddd5e55-critic": "round_limit", "ac09e8d-consensus": "round_limit",
    "8f75d90-maci": "round_limit",
    "a8569c4-critic": "round_limit",
    "ca7831c-competition": "played", "ca7831c-consensus": "round_limit",
    "7e0d3ca-madp": "planned", "5d0b627-madp": "planned", "5025d66-madp": "unproven", "6455ef0-madp": "approved",
    "1f79e67-consensus": "round_limit", "817589f-consensus": "stuck", "e67a76c-single": "answered",
    "1bab740-maci": "plateau",
}  # fmt: skip
"""The reason that each of them was recorded with."""
FIRST = ("092e006", "e67a76c")
"""Folders with the first version of a protocol."""
EXIT_CODES = {"cap": 3, "round_limit": 3, "max_rounds": 3, "played": 0, "planned": 3, "quorum": 1, "unproven": 3,
              "stuck": 3, "answered": 0, "plateau": 0,
              "approved": 0}  # fmt: skip
each = pytest.mark.parametrize("path", LOGS.values(), ids=LOGS.keys())
ended = pytest.mark.parametrize("name", BEFORE)


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


def test_every_protocol_has_a_record_of_its_first_version() -> None:
    opened = {path: records.opening(read_record(path)) for path in LOGS.values()}
    first = {path.stem for path in opened if path.parent.name in FIRST}
    assert first >= set(PROTOCOLS) - set(STANDING)
    assert {path.stem for path in opened} == {o.protocol for o in opened.values()}


@each
def test_it_recomputes_to_its_own_bytes(front: Front, path: Path) -> None:
    out = run(front, "replay", str(path))
    assert f"{len(path.read_text().splitlines()) - 1} transitions recompute to the same entries" in out


@ended
def test_its_result_keeps_the_reason_that_it_was_recorded_with(name: str) -> None:
    stop = result_of(LOGS[name]).stop
    assert stop.reason == BEFORE[name] and stop.converged == (stop.reason in ("plateau", "approved"))
    assert STOPS[stop.reason].exit_status(stop.converged) == EXIT_CODES[stop.reason]


@ended
def test_it_is_shown_with_its_answer(front: Front, name: str) -> None:
    result = result_of(LOGS[name])
    out = run(front, "sessions", "show", str(LOGS[name]))
    assert result.session in out and f"({BEFORE[name]})" in out


@each
def test_it_is_explained(front: Front, path: Path) -> None:
    out = run(front, "explain", str(path))
    assert read_record(path).sid in out


def test_a_fork_says_what_it_carries_and_who_paid_for_that(front: Front) -> None:
    found = json.loads(run(front, "explain", str(LOGS["817589f-consensus"]), "--json"))
    assert (found["fork"]["round"], found["fork"]["carried"], found["fork"]["paid"]["calls"]) == (1, 4, 4)
    assert found["fork"]["changes"] == [{"what": "consensus.round_limit", "before": 2, "after": 3}]
    assert len(found["rounds"]) > 1 and found["usage"]["calls"] > 0, "it went on by itself"


@each
def test_it_is_exported_as_markdown_as_html_and_as_json(front: Front, path: Path) -> None:
    sid = read_record(path).sid
    assert sid in run(front, "sessions", "export", str(path), "--format", "markdown")
    page = run(front, "sessions", "export", str(path), "--html")
    assert page.startswith("<!DOCTYPE html>") and sid in page
    document = json.loads(run(front, "sessions", "export", str(path), "--format", "json", "--all"))
    assert document["session"] == sid


@each
def test_it_is_exported_as_it_was_stored(front: Front, path: Path) -> None:
    assert run(front, "sessions", "export", str(path), "--all") == path.read_text()


@pytest.mark.parametrize("setting", ["round_limit", "max_rounds"])
@pytest.mark.parametrize("name", ["092e006-consensus", "092e006-maci"])
def test_what_if_takes_the_round_limit_by_both_its_names(front: Front, name: str, setting: str) -> None:
    path = LOGS[name]
    protocol = records.opening(read_record(path)).protocol
    out = run(front, "replay", str(path), "--set", f"{protocol}.{setting}=9")
    assert f"recorded: stops: {BEFORE[name]}" in out and "this run: asks round" in out


def test_another_run_of_an_old_session_keeps_to_the_words_of_its_version(front: Front) -> None:
    out = run(front, "replay", str(LOGS["092e006-consensus"]), "--set", "consensus.round_limit=1")
    assert "this run: stops: cap" in out


def test_a_session_before_version_3_ends_where_too_few_answer_the_blind_round(front: Front) -> None:
    """Two of its three seats abstain. What if it had needed a third changes nothing of that."""
    record = read_record(LOGS["181de64-consensus"])
    assert records.opening(record).version == 2
    asked = [c.round for e in records.entries_of(record) for c in e.commands if isinstance(c, log.Ask)]
    assert asked == [1, 1, 1]


async def test_a_moderator_lists_them_and_gives_them_out(tmp_path: Path) -> None:
    """They lie in the log of a bus, as that version left them; the moderator folds each, and checks its digests."""
    async with Engine(tmp_path) as engine:
        connection = await engine.connect("moderator")
        await ensure_streams(connection, ack_wait_s=engine.ack_wait_s)
        stored = {name: read_record(path) for name, path in LOGS.items()}
        for record in stored.values():
            await _store(Log(connection), record)
        moderator = await engine.moderator()
        client = Client(engine.owner, "owner")
        assert [piece.done async for piece in client.rebuild_index()][-1], "the release that wrote them kept no index"
        rows = {row.session: row for row in await client.sessions()}
        for name, record in stored.items():
            row = rows[record.sid]
            assert row.reason == BEFORE.get(name, "")
            assert await client.log(record.sid) == list(record.entries)
            held = await moderator.sessions.look(record.sid, fresh=True)
            assert held.session is not None and held.session.n == len(record.entries)
            if name in BEFORE:
                assert (await client.result(record.sid)).stop.reason == BEFORE[name]


async def test_a_session_that_was_open_then_ends_with_a_reason(tmp_path: Path) -> None:
    """Its first entries lie in the log one by one, as that release wrote them; what comes now is appended behind."""
    record = read_record(LOGS["1f79e67-consensus"])
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
        assert found[:3] == record.entries[:3] and len(found) > 4
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
