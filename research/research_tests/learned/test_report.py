"""The page of figures: its table, and that it is the one that the module makes."""

import pytest

from parley_research.debates.registry import loaded
from parley_research.learned import report
from research_tests.learned.test_methods import LAW, OPEN, TAX


def test_a_row_compares_a_method_with_itself() -> None:
    methods = {method.name: method for method in loaded().methods()}
    results = report._played(methods["vote"], LAW, [*LAW, *TAX, *OPEN])
    row = report._row(methods["vote"], results, results)
    assert (row.gain.value, row.words, row.rounds) == (0.0, 1.0, 1.0)
    assert "| 100 | 100 | 100 |" in report.table([row], "the vote")


def test_a_method_that_is_worse_is_not_called_the_same() -> None:
    methods = {method.name: method for method in loaded().methods()}
    base = report._played(methods["full"], OPEN, OPEN)
    row = report._row(methods["vote"], report._played(methods["vote"], OPEN, OPEN), base)
    assert row.gain.value == pytest.approx(-0.5) and row.same > 0.9 and row.words == pytest.approx(0.5)


def test_a_row_that_cannot_be_made_here_is_named_with_what_to_do() -> None:
    registry = loaded()
    there = "agreement_vote" in {method.name for method in registry.methods()}
    assert there is not ("agreement_vote" in registry.missing), "it is run, or the page says why not"
    registry.missing["agreement_vote_2"] = "crowd-kit is not installed; pip install 'parley-research[agreement]'"
    try:
        (line,) = report.not_run(("vote", "agreement_vote_2"))
    finally:
        del registry.missing["agreement_vote_2"]
    assert (
        line == "`agreement_vote_2` was not run: crowd-kit is not installed; pip install 'parley-research[agreement]'."
    )


def test_every_set_and_method_of_the_page_is_there() -> None:
    names = {method.name for method in loaded().methods()} | {"agreement_vote"}
    sets = {data_set.name for data_set in loaded().sets()}
    assert report.TABLES.keys() <= sets
    assert {name for against, listed in report.TABLES.values() for name in (against, *listed)} <= names


def test_the_page_begins_as_its_template_says() -> None:
    assert report.PAGE.read_text().startswith(report.HEAD.read_text().rstrip())
