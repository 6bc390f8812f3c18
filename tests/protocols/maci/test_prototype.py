"""The prototype of the evidence's quality is not made from what it judges: it tells a corpus about the question from
one about something else. With the encoder that is the default."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from parley.agents.models import make_model
from parley.coordinator.protocols.maci.round import passages_quality
from parley.schemas.control import CONSTANTS
from parley.schemas.protocols.maci.messages import MeasureBrief, RetrieveBrief, Span, Subject
from tests.protocols.consensus.simulate import document
from tests.protocols.maci.play import AGAINST, FOR, PAPER, begun
from tests.protocols.maci.turns import ask, numbered, shown

RELEVANT_FROM = CONSTANTS.relevant_from
WALTZ = "The orchestra played a waltz, and the hall was full."
CORPORA = json.loads((Path(__file__).parent / "subjects" / "pairs.json").read_text(encoding="utf-8"))


class Pair(NamedTuple):
    corpus: str
    about: bool
    q: float


def first_quality(documents: dict[str, str], question: str, outcomes: list[str] | None) -> float:
    """Q(0); without outcomes by the prototype as it was published, which is made of the passages too."""
    given: dict[str, Any] = (
        {} if outcomes is None else {"subject": Subject(outcomes=tuple(outcomes), relevant_from=RELEVANT_FROM)}
    )
    turn = shown(
        "retrieve", RetrieveBrief(k=32, tokens=4_000, **given), question=question, seat="helper",
        documents=[document(name, text) for name, text in documents.items()],
    )  # fmt: skip
    return passages_quality(ask(turn, make_model("extractive")).body.similar)


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [
        Pair(c["corpus"], kind == "about", first_quality(c["documents"], c[kind]["question"], c[kind]["outcomes"]))
        for c in CORPORA
        for kind in ("about", "not_about")
    ]


def test_no_corpus_about_something_else_is_taken_for_good_evidence(pairs: list[Pair]) -> None:
    """B.1's figures fit the scale: low is up to 0.5."""
    assert all(p.q <= CONSTANTS.q_lo for p in pairs if not p.about)
    assert sum(p.q > CONSTANTS.q_lo for p in pairs if p.about) == 19


def test_a_football_question_on_documents_about_pumps_has_a_low_quality(pairs: list[Pair]) -> None:
    (football,) = [p for p in pairs if p.corpus == "pumps" and not p.about]
    assert football.q <= 0.5
    pumps = next(c for c in CORPORA if c["corpus"] == "pumps")
    published = first_quality(pumps["documents"], pumps["not_about"]["question"], None)
    assert published > 0.85, "the published one is made of what it judges"


def test_passages_that_are_not_about_the_task_are_not_in_the_prototype() -> None:
    """A quotation of them stays as far from the matter as it is."""
    post = numbered(("x.md", "The vessels of all three stems were brown."), ("y.md", WALTZ))
    spans = (Span(passage="p1", quote="vessels"), Span(passage="p2", quote=WALTZ))
    published, now = (
        ask(shown("measure", MeasureBrief(spans=spans, **given), seat="helper", others=[post])).body.similar.dots
        for given in ({}, {"subject": Subject(outcomes=("Fusarium wilt", "Root rot"), relevant_from=0.35)})
    )
    assert published[1] > 0.5 > 0.2 > now[1]


SUBJECT = {"outcomes": ["dengue", "chikungunya"], "relevant_from": 0.35}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, SUBJECT),
        (PAPER, None),
        ({"prototype": "all"}, None),
        ({**PAPER, "prototype": "relevant", "relevant_from": 0.2}, {**SUBJECT, "relevant_from": 0.2}),
    ],
)
def test_the_reading_names_the_prototype_of_passages_and_quotations(given: dict[str, Any], wanted: Any) -> None:
    play = begun(given)
    play.same(FOR, AGAINST)
    for ask_ in (*play.asks("retrieve"), *play.asks("measure")):
        assert json.loads(bytes(ask_.brief)).get("subject") == wanted
