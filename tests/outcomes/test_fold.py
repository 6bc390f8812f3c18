"""What sessions add to the totals when they close, what protocols measure, and what other rules would have saved."""

import json
import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from parley.bus import subjects
from parley.client.records import read_record, result_of
from parley.coordinator.outcomes import message
from parley.coordinator.outcomes.fold import Fold
from parley.coordinator.outcomes.session import Record, children
from parley.coordinator.protocols import PROTOCOLS, STANDING
from parley.coordinator.table import Sample
from parley.observability.metrics import MAX_VALUES
from parley.observability.outcomes import Outcomes
from parley.schemas.result import Totals
from parley.schemas.stops import STOPS
from parley.schemas.wire import decode, encode
from tests.outcomes.played import KNOWN, TENANT, fold, get, shown, take, values
from tests.protocols.madp.play import APPROVED, AUDITOR, IMPL, QA, SRE, done
from tests.protocols.madp.play import Play as Task
from tests.support.play import START_NS

TESTS = Path(__file__).parents[1]
RECORDS = sorted(TESTS.glob("old_logs/*/*.jsonl"))
DAY_NS = 86_400 * 10**9


def entries_of(path: Path) -> tuple[str, list[bytes]]:
    record = read_record(path)
    return record.sid, [e.encode() for e in record.entries]


@pytest.mark.parametrize("path", RECORDS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_recorded_session_is_counted_as_its_result_says(path: Path) -> None:
    result = result_of(read_record(path))
    sid, entries = entries_of(path)
    into = fold()
    take(into, sid, entries)
    found = shown(into.totals())
    if result is None:  # the breaker's
        assert values(found, "sessions_closed_total") == values(found, "sessions_opened_total") == {}
        assert get(found, "breaker_degraded") == 0
        return
    reason, usage = STOPS[result.stop.reason].reason, result.usage
    closed = (result.protocol, reason, "yes" if result.stop.converged else "no", result.status)
    assert values(found, "sessions_closed_total") == {closed: 1}
    assert get(found, "sessions_opened_total", protocol=result.protocol) == 1
    assert get(found, "session_seconds_sum", protocol=result.protocol) == pytest.approx(result.duration_s)
    beneath = sum(of.calls for seat, of in usage.by_seat.items() if seat.startswith("session "))  # counted on their own
    assert get(found, "session_calls_total", protocol=result.protocol) == usage.calls - beneath
    tokens = usage.input_tokens + usage.output_tokens
    assert get(found, "session_tokens_sum", protocol=result.protocol) == tokens
    assert sum(values(found, "tokens_total").values()) == tokens
    assert get(found, "spend_usd_total", tenant=TENANT) == pytest.approx(usage.cost_usd)
    assert get(found, "unaccounted_calls_total") == usage.unaccounted_turns
    assert get(found, "tasks_ended_total") == (result.protocol == "madp")


def test_every_protocol_is_among_the_records_and_measures_something() -> None:
    """Their machines replay them, and their protocols say what they measured."""
    into = fold()
    for path in RECORDS:
        take(into, *entries_of(path))
    reviewed = Task().match({SRE: 0.6, IMPL: 0.5}).claims(SRE).passes(IMPL)
    reviewed.reply(SRE, done())
    reviewed.fail(AUDITOR)
    reviewed.reply(QA, APPROVED)
    take(into, reviewed.session.sid, [encode(e) for e in reviewed.entries])
    found = shown(into.totals())
    protocols = {p for p in KNOWN if p not in {s.name for s in STANDING.values()}}
    assert {labels[0] for labels in values(found, "sessions_closed_total")} == protocols
    assert {labels[0] for labels in values(found, "agreement_count")} >= {"consensus", "critic", "maci", "madp"}
    assert {labels[0] for labels in values(found, "disagreement_count")} >= {"consensus", "maci"}


def test_where_no_machine_replays_it_its_entries_are_counted() -> None:
    sid, entries = entries_of(TESTS / "old_logs" / "1" / "consensus.jsonl")
    first = json.loads(entries[0])
    first["event"]["version"] = 99
    into = fold()
    take(into, sid, [json.dumps(first, separators=(",", ":")).encode(), *entries[1:]])
    found, record = shown(into.totals()), Record(entries)
    assert record.close is not None
    assert sum(values(found, "sessions_closed_total").values()) == 1
    assert get(found, "session_calls_total", protocol="consensus") == sum(c.usage.calls for c in record.calls) > 0
    assert values(found, "agreement_count") == {}


def test_every_number_whose_labels_are_known_is_there_from_the_start() -> None:
    found = shown(Totals())
    for name, protocol in PROTOCOLS.items():
        if protocol.standing:
            continue
        for reason in (*protocol.stops, "cancelled", "version_lost"):
            row = STOPS[reason]
            converged = "yes" if row.converged else "no"
            labels = {"protocol": name, "reason": reason, "converged": converged, "status": row.status}
            assert get(found, "sessions_closed_total", **labels) == 0
        for series in ("session_seconds_count", "agreement_count", "calls_saved_total", "plateaus_total"):
            assert get(found, series, protocol=name) == 0
    assert get(found, "review_revisions_bucket", le="2.0") == 0
    assert get(found, "coordination_tokens_bucket", depth="extended", le="400.0") == 0
    assert get(found, "selections_total", by="feedback", verdict="wrong") == 0
    assert get(found, "items_opened_total", kind="security") == 0
    assert get(found, "breaker_changes_total", to="degraded") == 0
    assert get(found, "overrides_total") == get(found, "breaker_degraded") == 0


def test_totals_are_not_shown_before_they_are_known() -> None:
    """A restart would else look like a fall to 0, and what was there before would be counted once more."""
    found = Outcomes(CollectorRegistry(), children(KNOWN), tenant=TENANT, budget_usd=3.0)
    assert found.registry.get_sample_value("parley_tasks_ended_total") is None
    assert found.registry.get_sample_value("parley_outcomes_position") is None
    assert found.registry.get_sample_value("parley_nats_up") is None
    assert get(found, "budget_today_usd", tenant=TENANT) == 3
    found.show(Totals(position=4), 0)
    assert (get(found, "tasks_ended_total"), get(found, "outcomes_position")) == (0, 4)


def test_labels_from_outside_are_bounded() -> None:
    into = fold()
    for n in range(10 * MAX_VALUES):
        into.add([Sample("cost_usd_total", {"model": f"model-{n}"}, 1.0)])
    again = Fold(decode(encode(into.totals()), Totals), TENANT)
    again.add([Sample("cost_usd_total", {"model": "one more"}, 1.0), Sample("cost_usd_total", {"model": "model-3"})])
    found = values(shown(again.totals()), "cost_usd_total")
    assert len(found) == MAX_VALUES + 1
    assert (found[("other",)], found[("model-3",)]) == (9 * MAX_VALUES + 1, 2)


def test_a_checkpoint_says_all_that_counting_goes_on_from() -> None:
    """Written and read again between any two messages, the totals are the same to the bit."""
    plain, broken = fold(), fold()
    for path in RECORDS:
        sid, entries = entries_of(path)
        take(plain, sid, entries)
        take(broken, sid, entries)
        broken = Fold(decode(encode(broken.totals()), Totals), TENANT)
    assert encode(plain.totals()) == encode(broken.totals())
    assert len(encode(plain.totals())) < 100_000


def test_an_exemplar_leads_to_the_last_traced_session_of_a_number_and_outlives_restarts() -> None:
    sid, entries = entries_of(TESTS / "old_logs" / "1" / "consensus.jsonl")
    first = json.loads(entries[0])
    into = fold()
    for name, traceparent in (("s1", f"00-{'a1' * 16}-{'b2' * 8}-01"), ("s2", f"00-{'c3' * 16}-{'d4' * 8}-01")):
        first["event"]["trace"] = traceparent
        take(into, name, [json.dumps(first, separators=(",", ":")).encode(), *entries[1:]])
    take(into, sid, entries)
    again = Fold(decode(encode(into.totals()), Totals), TENANT)
    encode_page, _ = choose_encoder("application/openmetrics-text;version=1.0.0")
    page = encode_page(shown(again.totals()).registry).decode()
    closed = [line for line in page.splitlines() if "# {" in line]
    assert {re.search(r'trace_id="(\w+)"', line)[1] for line in closed} == {"c3" * 16}  # type: ignore[index]
    record = Record(entries)
    told = [line for line in closed if line.startswith("parley_session_seconds_bucket")]
    seconds = (record.closed_ns - record.opened_ns) / 1e9
    assert [line.partition(" # ")[2] for line in told] == [
        f'{{trace_id="{"c3" * 16}"}} {seconds} {record.closed_ns / 1e9}'
    ]
    assert {"parley_sessions_closed_total", "parley_session_rounds_bucket"} <= {
        line.partition("{")[0] for line in closed
    }


def test_numbers_of_a_metered_model_are_there_once_it_is_seated() -> None:
    sid, entries = entries_of(TESTS / "old_logs" / "1" / "consensus.jsonl")
    first = json.loads(entries[0])
    first["event"]["seats"][0] |= {"model": "m", "metered": True}
    into = fold()
    message.count(into, KNOWN, sid, subjects.OPENED, [json.dumps(first, separators=(",", ":")).encode()])
    found = shown(into.totals())
    for kind in ("input", "output"):
        assert get(found, "tokens_total", model="m", kind=kind, estimated="no") == 0
    assert get(found, "cost_usd_total", model="m") == get(found, "cached_tokens_total", model="m") == 0
    assert values(found, "tokens_total") == {}


def test_money_is_counted_by_the_utc_day_of_each_call() -> None:
    into = fold()
    into.spend(START_NS, 0.25)
    into.spend(START_NS + DAY_NS, 0.5)
    assert get(shown(into.totals(), START_NS), "spend_today_usd", tenant=TENANT) == 0.25
    assert get(shown(into.totals(), START_NS + DAY_NS), "spend_today_usd", tenant=TENANT) == 0.5
    assert get(shown(into.totals(), START_NS + 2 * DAY_NS), "spend_today_usd", tenant=TENANT) == 0
    assert get(shown(into.totals()), "spend_usd_total", tenant=TENANT) == 0.75
    for day in range(2, 40):
        into.spend(START_NS + day * DAY_NS, 1.0)
    assert len(into.totals().days) == 8
