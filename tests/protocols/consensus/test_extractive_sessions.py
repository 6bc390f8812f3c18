"""Whole consensus sessions with the extractive model: the shipped examples, and corpora it was not written for."""

from parley.client.view.fold import of_result
from parley.schemas.result import RIGHT
from tests.agents import corpora
from tests.protocols.consensus.simulate import Ended, document, example, run


def no_refusals(ended: Ended) -> None:
    """Every reply passed the moderator's checks at the first attempt."""
    assert ended.shown and all(s.attempt == 1 for s in ended.shown)


def test_rollout_two_answers_become_one_by_quoted_evidence() -> None:
    ended = run(*example("rollout"))
    no_refusals(ended)
    assert set(ended.answers(1).values()) == {"Canary", "Blue-green"}
    assert ended.result.stop.reason == "threshold" and ended.result.stop.converged
    assert 2 <= len(ended.scores) <= 4
    assert ended.scores == sorted(ended.scores)
    assert ended.result.outcome["flips_without_evidence"] == 0
    moved = [p for r in range(2, len(ended.scores) + 1) for p in ended.positions(r).values() if p.change == "adopted"]
    assert len(moved) == 1 and all(p.moved_by and p.change_reason for p in moved)


def test_a_corpus_it_was_not_written_for() -> None:
    ended = run(corpora.CAPITAL, corpora.CAPITAL_DOCUMENTS)
    no_refusals(ended)
    assert "Vilnius" in ended.result.outcome["answer"]


def test_where_much_is_praised_and_nothing_decided_nobody_answers_and_what_bears_on_it_is_shown() -> None:
    ended = run(corpora.MONOLITH, corpora.MONOLITH_DOCUMENTS, round_limit=2)
    assert not ended.result.stop.converged and ended.answers(1)["panelist_1"] == ""


def test_a_belief_that_a_document_reports_or_denies_is_no_answer() -> None:
    texts = (
        "Many visitors wrongly believe that the tower is 90 metres tall.",
        "It is false that the tower is 90 metres tall.",
        "The tower of Halvik is 72 metres tall.",
    )
    ended = run("How tall is the tower of Halvik?", [document(f"{i}.md", t) for i, t in enumerate(texts)])
    assert (ended.result.stop.reason, ended.result.outcome["answer"]) == ("one_source", texts[2])


def test_one_document_in_three_is_enough() -> None:
    texts = ("The mill was built by Ada Holt in 1871.", "Rabbits eat clover in spring.", "The tram stops at noon.")
    ended = run("Who built the mill?", [document(f"{i}.md", t) for i, t in enumerate(texts)])
    stop, outcome = ended.result.stop, ended.result.outcome
    assert (stop.reason, stop.converged, stop.certificate["document"]) == ("one_source", False, "0.md")
    assert (outcome["answer"], outcome["confidence"]) == (texts[0], RIGHT) and ended.result.keyless is True
    assert ended.result.rounds[-1]["band"] == stop.certificate["band"] == "one_source"
    assert "strong agreement" not in str(of_result(ended.result))
    told = of_result(ended.result).sure
    assert "rests on one document, or on copies of one sentence" in told and "8 of 15 such answers were right" in told
    assert " agree" not in told and "onverged" not in told and "onsensus" not in told
    assert len([a for a in ended.answers(1).values() if a]) == 1
