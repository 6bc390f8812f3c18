"""A threshold is told on one scale, whichever was typed."""

from pathlib import Path

import pytest

from parley.client import what_if
from parley.client.records import read_record

LOG = Path(__file__).parents[2] / "old_logs/1/consensus.jsonl"


@pytest.mark.parametrize("typed", [0.7, 70])
def test_a_replay_says_on_the_scale_of_scores_what_it_changes(typed: float) -> None:
    report = what_if.compare(read_record(LOG), {"consensus": {"threshold": typed}})
    assert report["changed"] == {"threshold": {"recorded": 90.0, "this": 70.0}}
    assert next(what_if.comparison_words(report)) == "threshold: 70 in place of 90"


def test_a_replay_with_the_settings_of_the_record_says_so() -> None:
    report = what_if.compare(read_record(LOG), {"consensus": {"threshold": 0.9}})
    assert next(what_if.comparison_words(report)) == "these settings are those of the record"
