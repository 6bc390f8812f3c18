"""Whole consensus sessions with the extractive model: the shipped examples, and corpora it was not written for."""

import pytest

from schemas.session import Document
from schemas.text import same
from tests.agents import corpora
from tests.protocols.consensus.simulate import Ended, example, run


def no_refusals(ended: Ended) -> None:
    """Every reply passed the moderator's checks at the first attempt."""
    assert ended.shown and all(s.attempt == 1 for s in ended.shown)


def test_rollout_three_answers_become_one_by_quoted_evidence() -> None:
    ended = run(*example("rollout"))
    no_refusals(ended)
    assert len(set(ended.answers(1).values())) == 3
    assert ended.result.stop.reason == "threshold" and ended.result.stop.converged
    assert 2 <= len(ended.scores) <= 4
    assert ended.scores == sorted(ended.scores)
    assert ended.result.outcome["flips_without_evidence"] == 0
    moved = [p for r in range(2, len(ended.scores) + 1) for p in ended.positions(r).values() if p.change == "adopted"]
    assert len(moved) == 2 and all(p.moved_by and p.change_reason for p in moved)


def test_rollout_without_one_seats_documents_ends_with_another_answer() -> None:
    whole = run(*example("rollout")).result.outcome["answer"]
    part = run(*example("rollout", without="panelist_1")).result.outcome["answer"]
    assert whole and part and not same(whole, part)


@pytest.mark.parametrize("seat", ["panelist_1", "panelist_2", "panelist_3"])
def test_rollout_takes_another_course_without_any_one_seats_documents(seat: str) -> None:
    whole, part = run(*example("rollout")), run(*example("rollout", without=seat))
    assert part.scores != whole.scores and part.answers(1)[seat] == ""


def test_unresolved_ends_without_consensus() -> None:
    ended = run(*example("unresolved"))
    no_refusals(ended)
    assert ended.result.stop.reason in ("stuck", "round_limit") and not ended.result.stop.converged
    assert ended.result.outcome["minority"]
    assert {p.change for p in ended.positions(len(ended.scores)).values()} == {"kept"}


def test_factual_exits_in_the_first_round() -> None:
    ended = run(*example("factual"))
    no_refusals(ended)
    assert len(ended.scores) == 1 and ended.result.stop.converged
    assert ended.result.outcome["answer"] == "1869"


@pytest.mark.parametrize(
    ("question", "documents", "answer"),
    [
        (corpora.RETENTION, corpora.RETENTION_DOCUMENTS, "5 weeks"),
        (corpora.MONOLITH, corpora.MONOLITH_DOCUMENTS, "Monolith"),
        (corpora.CAPITAL, corpora.CAPITAL_DOCUMENTS, "Vilnius"),
    ],
    ids=["retention", "monolith", "capital"],
)
def test_corpora_it_was_not_written_for(question: str, documents: list[Document], answer: str) -> None:
    ended = run(question, documents)
    no_refusals(ended)
    assert same(ended.result.outcome["answer"], answer)


def test_a_panel_without_documents_abstains_and_the_session_still_ends() -> None:
    ended = run("Should we use A or B?", [])
    assert not ended.result.stop.converged
    assert all(p.abstains for p in ended.positions(1).values())


@pytest.mark.parametrize("name", ["rollout", "unresolved", "factual"])
def test_the_same_session_twice(name: str) -> None:
    one, two = run(*example(name)), run(*example(name))
    assert [p.body for p in one.posts] == [p.body for p in two.posts]
