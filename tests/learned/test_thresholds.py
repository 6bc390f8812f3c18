"""What feedback says of a panel's settings: tried on recorded rounds, chosen on a half, compared on the other."""

import json
from pathlib import Path

import pytest

from parley.client.learned import store
from parley.client.learned.thresholds import Dials, compare_settings, defaults, end, ends, found
from parley.client.learned.verdicts import KnownOutcome, PanelRound
from parley.client.records import opening, parse_record
from tests.parley.support import Front


def held(n: int, *rounds: tuple[float, int, bool | None], stop: str = "threshold", kind: str = "law") -> KnownOutcome:
    """A session with the share, answers and truth of each round."""
    played = tuple(PanelRound(share=share, answers=answers, right=right) for share, answers, right in rounds)
    return KnownOutcome(session=f"s{n}", question=f"q{n}", kind=kind, at_ns=1, right=True, stop=stop, rounds=played)


def dials(threshold: float = 90, round_limit: int = 5, quorum: int = 2) -> Dials:
    return Dials(threshold=threshold, round_limit=round_limit, quorum=quorum)


@pytest.mark.parametrize(
    ("said", "tried", "ended"),
    [
        (held(1, (67, 3, False), (100, 3, True)), dials(67), ("wrong", 1)),
        (held(1, (67, 3, False), (100, 3, True)), dials(90), ("right", 2)),
        (held(1, (67, 3, False), (100, 3, True)), dials(90, 1), ("none", 1)),
        (held(1, (67, 3, False), (100, 3, True)), dials(60, 5, 4), ("unknown", 2)),
        (held(1, (67, 3, True), stop="round_limit"), dials(90, 7), ("unknown", 1)),
        (held(1, (67, 3, True), stop="stuck"), dials(90, 7), ("none", 1)),
        (held(1, (67, 3, None)), dials(60), ("unknown", 1)),
    ],
)
def test_other_settings_end_a_session_in_the_first_round_that_reaches_them(
    said: KnownOutcome, tried: Dials, ended: tuple[str, int]
) -> None:
    assert end(said, tried) == ended


def test_ends_are_counted_and_compared_where_both_are_known() -> None:
    sessions = [
        held(1, (67, 3, True), stop="stuck"),
        held(2, (67, 3, False), stop="stuck"),
        held(3, (67, 3, None), (100, 3, True)),
    ]
    told = ends(sessions, dials(67))
    assert (told.right, told.wrong, told.none, told.unknown, told.rounds) == (1, 1, 0, 1, 1.0)
    against = compare_settings(sessions, dials(67))
    assert (against.sessions, against.better) == (2, 0.0) and against.low == -against.high < 0
    assert compare_settings([], defaults()).sessions == 0


def panels(right: int, wrong: int, kind: str = "law") -> list[KnownOutcome]:
    """Sessions in which two of three held one answer to the end, right or wrong."""
    truths = [True] * right + [False] * wrong
    return [held(n, (66.67, 3, truth), (66.67, 3, truth), stop="stuck", kind=kind) for n, truth in enumerate(truths)]


def test_a_majority_that_was_right_speaks_for_a_lower_threshold_and_one_that_was_wrong_does_not() -> None:
    better = found(panels(36, 4), "law")
    assert better.chosen is not None and better.chosen.dials.threshold == 60 and better.holds
    assert better.chosen.dials.round_limit == 1 or better.chosen.rounds == 1
    assert better.held_out is not None and better.held_out.low > 0
    assert found(panels(5, 35), "law").chosen is None
    few = found(panels(29, 0), "law")
    assert few.defaults is None and few.outcomes == 29 and not few.holds
    assert found(panels(40, 0), "medicine").outcomes == 0


def test_what_did_worse_where_it_was_not_chosen_does_not_hold() -> None:
    sessions = panels(40, 0)
    halves = [found([said] * 30, "law").held_out for said in sessions]
    chose = [half is None for half in halves]  # alone on the other half, nobody chooses
    turned = [
        said if not held_out else held(n, (66.67, 3, False), stop="stuck")
        for n, (said, held_out) in enumerate(zip(sessions, chose, strict=True))
    ]
    worse = found(turned, "law")
    assert worse.chosen is not None and not worse.holds and worse.held_out is not None and worse.held_out.better < 0


@pytest.mark.slow
def test_applied_thresholds_open_new_sessions_of_the_kind_until_they_are_taken_back(tmp_path: Path) -> None:
    front = Front(tmp_path)
    evidence = str(Path(__file__).parents[2] / "examples" / "rollout" / "evidence")
    store.write(tmp_path / store.NAME, store.Store(verdicts=tuple(panels(36, 4))))
    where = ("--file", str(tmp_path / store.NAME))
    code, told, _ = front.run("thresholds", "show", "--kind", "law", *where)
    assert code == 0 and "40 panels with feedback on questions of the kind law" in told
    assert "use it: parley thresholds apply --kind law" in told
    assert front.run("thresholds", "apply", "--kind", "law", *where)[0] == 0

    def asked(*options: str) -> tuple[dict[str, object], str]:
        code, out, err = front.run(
            "ask", "Canary or big-bang?", "--protocol", "consensus", "--evidence", evidence, "--json",
            "--set", f"learned.file={tmp_path / store.NAME}", *options,
        )  # fmt: skip
        assert code in (0, 3), err
        session = json.loads(out)["session"]
        log = front.run("sessions", "export", session)[1]
        return dict(opening(parse_record(log.encode(), "log")).settings), session

    settings, session = asked("--kind", "law")
    assert (settings["threshold"], settings["quorum"]) == (60, 2)
    assert "learned: threshold 60" in front.run("explain", session)[1]
    assert front.run("replay", session)[0] == 0
    assert asked("--kind", "law", "--threshold", "80")[0]["threshold"] == 80
    assert asked("--kind", "other")[0]["threshold"] == 90
    assert front.run("thresholds", "apply", "--kind", "law", "--defaults", *where)[0] == 0
    assert asked("--kind", "law")[0]["threshold"] == 90
