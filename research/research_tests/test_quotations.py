"""Gates on evidence, compared on labelled quotations (research/parley_research/quotations)."""

from collections import Counter
from pathlib import Path

import pytest

import parley_research.quotations
from parley.schemas.control import Control
from parley_research.quotations.__main__ import FINDING, FIT, HEARSAY, HELD_OUT, OFF_TOPIC, main, read

README = Path(parley_research.quotations.__file__).with_name("README.md")


def test_a_hundred_quotations_of_five_fields_stand_in_their_passages() -> None:
    found = read()
    assert Counter(q.label for q in found) == {FINDING: 40, HEARSAY: 30, OFF_TOPIC: 30}
    assert Counter(q.half for q in found) == {FIT: 50, HELD_OUT: 50} and len({q.field for q in found}) == 5
    assert all(q.quote in q.passage for q in found) and len({q.quote for q in found}) == 100


def test_the_page_has_the_figures_and_the_gate_is_off_since_none_suffices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    table = capsys.readouterr().out
    assert table in README.read_text(encoding="utf-8")
    held_out = [row for row in table.splitlines() if f"| {HELD_OUT} |" in row]
    assert len(held_out) == 4 and not any(row.endswith("| yes |") for row in held_out)
    assert not Control().q_gated and Control(reading="paper").q_gated
