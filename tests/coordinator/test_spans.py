"""The spans that are written from a session's log: which, when, and how they hang together."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from parley.client.records import read_record
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.sessions.spans import spans
from parley.observability import tracing
from parley.observability.tracing import FinishedSpan
from parley.schemas import log
from parley.schemas.wire import decode

LOGS = Path(__file__).parents[1] / "old_logs" / "1"
CLIENT = f"00-{7:032x}-{8:016x}-01"
SID = "s1"


def entries_of(path: str, **opened: object) -> list[log.Entry]:
    """A recorded session as it would have been with another opening."""
    found = [decode(line, log.Entry) for line in (LOGS / path).read_bytes().splitlines() if b'"cause"' in line[:400]]
    assert found and found[0].n == 0 and len(read_record(LOGS / path).entries) == len(found)
    event = msgspec.structs.replace(found[0].event, **{"trace": CLIENT, **opened})
    return [msgspec.structs.replace(found[0], event=event), *found[1:]]


def written(entries: Sequence[log.Entry]) -> list[list[FinishedSpan]]:
    """What is written with each transition."""
    opened = entries[0].event
    assert isinstance(opened, log.Opened)
    return [list(spans(SID, PROTOCOLS[opened.protocol], entries, n)) for n in range(len(entries))]


def turns_of(entries: Sequence[log.Entry]) -> dict[int, str]:
    """Span id -> the turn that a worker tells of."""
    asked = [f"{e.n}-{i}" for e in entries for i, c in enumerate(e.commands) if isinstance(c, log.Ask)]
    return {tracing.span_of(SID, "turn", turn): turn for turn in asked}


@pytest.mark.parametrize("path", ["consensus.jsonl", "critic.jsonl", "maci.jsonl", "competition.jsonl", "madp.jsonl"])
def test_all_are_written_with_the_end_and_hang_on_what_is_written(path: str) -> None:
    entries = entries_of(path)
    found = written(entries)
    assert not any(found[:-1]) and found[-1]
    ids = [s.id.span_id for s in found[-1]]
    assert len(ids) == len(set(ids)) and {s.id.trace_id for s in found[-1]} == {7}
    (own,) = [s for s in found[-1] if s.name.startswith("invoke_workflow")]
    assert own.within is not None and own.within.span_id == 8
    assert (own.started_ns, own.ended_ns) == (entries[0].at_ns, entries[-1].at_ns)
    known = {*ids, *turns_of(entries), 8}
    for span in found[-1]:
        assert span.within is not None and span.within.span_id in known
        assert {link.span_id for link in span.links} <= known
        assert entries[0].at_ns <= span.started_ns <= span.ended_ns <= entries[-1].at_ns
    rounds = {c.round for e in entries for c in e.commands if isinstance(c, log.Ask)}
    assert {f"round {n}" for n in rounds} <= {s.name for s in found[-1]}
    posts = sum(isinstance(c, log.Say) for e in entries for c in e.commands)
    assert sum(s.name.startswith("publish") for s in found[-1]) == posts
    assert found == written(entries), "whoever writes them writes the same"


def test_a_session_with_people_is_one_trace_a_round_linked_to_the_opening_and_the_round_before() -> None:
    path = "consensus.jsonl"
    entries = entries_of(path, waits={"panelist_1": 600.0})
    found = written(entries)
    rounds = [(n, s) for n, part in enumerate(found) for s in part if s.name.startswith("round")]
    assert len(rounds) > 1 and rounds[0][0] < len(entries) - 1, "the first is written when it is over"
    assert [s.name for _, s in rounds] == [s.name for s in found_rounds(written(entries_of(path))[-1])]
    assert len({s.id.trace_id for _, s in rounds}) == len(rounds)
    (own,) = [s for s in found[-1] if s.name.startswith("invoke_workflow")]
    for place, (_, span) in enumerate(rounds):
        assert span.within is None
        before = [rounds[place - 1][1].id.span_id] if place else []
        assert [link.span_id for link in span.links] == [own.id.span_id, *before]
    for part in found:
        for span in part:
            if span.name.startswith("publish") and span.within is not None and span.within != own.id:
                assert span.id.trace_id == span.within.trace_id


def found_rounds(found: Sequence[FinishedSpan]) -> list[FinishedSpan]:
    return [s for s in found if s.name.startswith("round")]


def test_a_turn_whose_worker_is_gone_is_written_as_failed() -> None:
    entries = entries_of("consensus.jsonl")
    replied = next(e for e in entries if isinstance(e.event, log.Replied))
    assert isinstance(replied.event, log.Replied) and isinstance(entries[0].event, log.Opened)
    n, place = map(int, replied.event.turn.split("-"))
    ask = entries[n].commands[place]
    assert isinstance(ask, log.Ask)
    queue = next(s.queue for s in entries[0].event.seats if s.seat == ask.seat)
    fired = msgspec.structs.replace(replied, event=log.TimerFired(gone=(queue,)))
    found = written([fired if e is replied else e for e in entries])[-1]
    (turn,) = [s for s in found if s.name.startswith("invoke_agent")]
    assert turn.id.span_id == tracing.span_of(SID, "turn", replied.event.turn)
    assert (turn.failed, turn.ended_ns) == ("worker_gone", replied.at_ns)
    (own,) = [s for s in found if s.name.startswith("invoke_workflow")]
    assert own.attributes["parley.turns.missed"] == 1
