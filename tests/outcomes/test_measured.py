"""What protocols measure in their sessions, and what other stop rules would have saved."""

from itertools import pairwise
from typing import Any

import pytest

from parley.client.records import read_record, result_of
from parley.coordinator.estimate import estimate
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.result import Result
from parley.schemas.wire import decode
from tests.outcomes.played import counted, fold, get, shown, take, values
from tests.outcomes.test_fold import RECORDS, entries_of
from tests.protocols.consensus.play import Play, cite, says

MINE = {"protocol": "consensus"}
DOCUMENT = "Vilnius is the capital of Lithuania."
QUOTED = says("Vilnius", citations=(cite("d.md", DOCUMENT),))


def test_agreement_and_disagreement_are_those_of_the_last_round() -> None:
    play = Play({"round_limit": 2})
    play.round(20, "Vilnius", "Kaunas", "Riga")
    play.round(40, "Vilnius", "Vilnius", "Riga")
    play.sign_all("rival")
    result = decode(play.session.posts[-1].body, Result)
    m = counted(play)
    assert get(m, "agreement_sum", **MINE) == result.rounds[-1]["score"] / 100
    assert get(m, "disagreement_sum", **MINE) == pytest.approx(1 - result.outcome["agree"] / 3)
    assert 0 < result.outcome["agree"] < 3
    assert get(m, "plateaus_total", **MINE) == 0


def test_other_rules_would_have_saved_the_rounds_behind_them() -> None:
    """All are of one group in round 2, where two sentences are put and the signatures of one seat fail, and nobody
    moves in round 3. A round takes four calls, and three where nobody moves; the signatures of round 2, and the
    wording, take seven."""
    play = Play({"round_limit": 4, "threshold": 99.0, "stuck_rounds": 9})
    play.round(30, "Vilnius", "Kaunas", "Vilnius")
    for n in (2, 3, 4):
        play.answers("Vilnius", "Vilnius, for now", "Vilnius")
        if n == 2:
            play.compare({"Vilnius": "123"}, near=40.0)
            play.fail("panelist_2")
            play.synthesize("Vilnius, the capital")
            play.sign("panelist_1")
            play.sign("panelist_3")
            play.fail("panelist_2")
    m = counted(play)
    assert play.stop["reason"] == "round_limit" and get(m, "session_calls_total", **MINE) == 21
    saved = {labels[1]: n for labels, n in values(m, "rule_calls_saved_total").items()}
    assert saved == {"no_debate": 17, "unanimity": 6, "unchanged": 3}
    assert values(m, "calls_saved_total") == {}, "it went to the limit"


def test_an_early_stop_saved_what_a_run_to_the_limit_usually_has() -> None:
    play = Play({"round_limit": 5})
    play.round(95, "Vilnius", "Vilnius", "Vilnius")
    usual = estimate(PROTOCOLS["consensus"], play.session.opened).likely_most.calls
    m = counted(play)
    assert get(m, "calls_saved_total", **MINE) == usual - 3 > 0


def test_a_session_that_was_stopped_saved_nothing() -> None:
    play = Play({"round_limit": 5})
    play.event(log.Cancelled(author="owner"))
    assert values(counted(play), "calls_saved_total") == {}


def test_recorded_debates_of_maci_are_measured_as_their_results_say() -> None:
    seen = 0
    for path in RECORDS:
        result = result_of(read_record(path))
        if result is None or result.protocol != "maci":
            continue
        into = fold()
        take(into, *entries_of(path))
        m = shown(into.totals())
        signals: list[dict[str, Any]] = [r["signals"] for r in result.rounds]
        assert get(m, "disagreement_sum", protocol="maci") == min(1.0, signals[-1]["jsd"])
        variances = [s["crit_variance"] for s in signals if s["crit_variance"] is not None]
        assert get(m, "judge_variance_count", protocol="maci") == len(variances)
        leading = [
            {seat: max(b, key=lambda share: float(share["p"]))["outcome"] for seat, b in r["beliefs"].items()}
            for r in result.rounds
        ]
        flips = sum(now[s] != before[s] for before, now in pairwise(leading) for s in now)
        assert sum(values(m, "flips_total").values()) == flips
        assert 0 < get(m, "rule_calls_saved_total", protocol="maci", rule="no_debate") < result.usage.calls
        seen += 1
    assert seen
