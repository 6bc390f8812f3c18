"""The helper retrieves and measures: passages of the documents, figures that a plain computation gives too; and what
evidence is measured against, which is not made from what it judges."""

import asyncio
import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest

from parley.agents.encoders.embedded import Embedded
from parley.agents.models import Completion, make_model
from parley.agents.models.computed import with_computed
from parley.agents.models.extractive import Extractive
from parley.agents.models.recorded import RecordedModel
from parley.agents.retrieval.corpus import collapse
from parley.agents.text.tokens import estimate
from parley.coordinator.protocols.maci.round import passages_quality
from parley.schemas.control import CONSTANTS
from parley.schemas.protocols.maci.messages import MeasureBrief, RetrieveBrief, Span, Subject
from parley.schemas.text import BY_ENCODER, BY_WORDS, Similar, stands_in
from tests.llm.test_injections import ATTACKS
from tests.protocols.consensus.simulate import document
from tests.protocols.maci.play import AGAINST, FOR, PAPER, begun
from tests.protocols.maci.turns import DOCUMENTS, QUESTION, ask, numbered, shown

ALL = RetrieveBrief(k=32, tokens=4_000)
NOISE = [
    document(f"noise-{i}.md", f"The orchestra of town {i} played a waltz, and the hall was full.") for i in range(9)
]


def found(brief: RetrieveBrief = ALL, documents: object = None, encoder: str = "embedded", **more: str) -> Completion:
    held = DOCUMENTS if documents is None else documents
    return ask(
        shown("retrieve", brief, seat="helper", documents=held, **more),  # type: ignore[arg-type]
        make_model("extractive", {"encoder": encoder}),
    )


def matrix(similarities: Similar) -> np.ndarray:
    """The whole Gram matrix."""
    n = len(similarities.dots)
    rows = np.zeros((n, n))
    rows[np.triu_indices(n)] = similarities.gram
    return rows + np.triu(rows, 1).T


def naive(texts: list[str], task: str, context: list[str]) -> tuple[list[float], list[float]]:
    """(the upper triangle, cosines with the prototype), in plain loops."""

    async def encode(all_: list[str]) -> list[list[float]]:
        return [[float(x) for x in row] for row in await Embedded().encode(all_)]

    def dot(a: list[float], b: list[float]) -> float:
        return math.fsum(x * y for x, y in zip(a, b, strict=True))

    rows = asyncio.run(encode([collapse(t) for t in [task, *context, *texts]]))
    first, own = rows[: 1 + len(context)], rows[1 + len(context) :]
    mean = [sum(column) for column in zip(*first, strict=True)]
    length = math.sqrt(dot(mean, mean))
    theta = [x / length for x in mean]
    upper = [dot(own[i], own[j]) for i in range(len(own)) for j in range(i, len(own))]
    return upper, [dot(o, theta) for o in own]


def test_passages_stand_in_their_documents_and_those_of_the_question_come_first() -> None:
    completion = found(documents=[*NOISE, *DOCUMENTS])
    body = completion.body
    texts = {d.name: d.text for d in [*NOISE, *DOCUMENTS]}
    assert all(stands_in(p.text, texts[p.document]) for p in body.passages)
    places = {p.document: i for i, p in reversed(list(enumerate(body.passages)))}
    assert max(places[d.name] for d in DOCUMENTS) < min(places[d.name] for d in NOISE)
    assert completion.flags == (BY_ENCODER,)


def test_queries_find_what_is_not_known_yet_and_has_a_word_of_them() -> None:
    known = found(RetrieveBrief(k=4, tokens=4_000)).body.passages
    more = RetrieveBrief(
        queries=("white threads in a glass of water", "twisted leaves herbicide", "zebra"), k=2, tokens=4_000,
        known=tuple(p.text for p in known),
    )  # fmt: skip
    body = found(more).body
    assert len(known) == 4 and body.similar == Similar() and 0 < len(body.passages) <= 4
    few = found(RetrieveBrief(k=32, tokens=300)).body.passages
    assert few and sum(estimate(p.text) for p in few) <= 300
    assert not {p.text for p in body.passages} & {p.text for p in known}
    assert any("threads" in p.text for p in (*known, *body.passages))
    assert any(p.document == "spray-diary.md" for p in body.passages)
    assert found(RetrieveBrief(queries=("zebra",), k=2, tokens=4_000)).body.passages == ()


@pytest.mark.parametrize("attack", ATTACKS[:2])
def test_what_talks_as_to_a_machine_is_left_out_and_flagged(attack: str) -> None:
    plain = found(encoder="none")
    tried = found(encoder="none", documents=[*DOCUMENTS, document("z.md", f"{attack}\n")])
    assert tried.body == plain.body and tried.flags == (BY_WORDS, "injection")


def test_similarities_are_what_a_plain_computation_gives() -> None:
    body = found().body
    texts = [p.text for p in body.passages]
    upper, dots = naive(texts, QUESTION, texts)
    assert body.similar.gram == pytest.approx(upper, abs=2e-6) and body.similar.dots == pytest.approx(dots, abs=2e-6)
    gram = matrix(body.similar)
    assert np.allclose(np.diag(gram), 1, atol=2e-6) and np.linalg.eigvalsh(gram).min() > -1e-5
    assert all(v == round(v, 6) for v in (*body.similar.gram, *body.similar.dots))


def test_measured_by_words() -> None:
    post = numbered(("a.md", "brown vessels"), ("b.md", "firm roots"))
    spans = (Span(passage="p1", quote="brown vessels"), Span(passage="p2", quote="roots"))
    turn = shown("measure", MeasureBrief(spans=spans), question="brown roots", seat="helper", others=[post])
    completion = ask(turn, make_model("extractive", {"encoder": "none"}))
    half = math.sqrt(0.5)
    # In the order brown, firm, roots, vessels: task (1,0,1,0), passages (1,0,0,1) and (0,1,1,0), all over sqrt 2.
    theta = np.array([2, 1, 2, 1]) / math.sqrt(10)
    assert completion.body.similar.gram == (1.0, 0.0, 1.0)
    expected = [(theta[0] + theta[3]) * half, theta[2]]
    assert completion.body.similar.dots == pytest.approx(expected, abs=1e-6)
    assert completion.flags == (BY_WORDS,)


WALTZ = "The orchestra played a waltz, and the hall was full."
OFF = "Which team won the World Cup?"
SUBJECT = {"outcomes": ["dengue", "chikungunya"], "relevant_from": 0.35}


def test_documents_about_something_else_are_no_good_evidence() -> None:
    """B.1's figures fit the scale: low is up to 0.5. The published prototype is made of what it judges."""

    def first_quality(question: str, *outcomes: str) -> float:
        subject = Subject(outcomes=outcomes, relevant_from=CONSTANTS.relevant_from)
        brief = msgspec.structs.replace(ALL, subject=subject) if outcomes else ALL
        return passages_quality(found(brief, question=question).body.similar)

    about = first_quality(QUESTION, "Fusarium wilt", "Root rot")
    assert about > CONSTANTS.q_lo >= first_quality(OFF, "Brazil", "Germany")
    assert first_quality(OFF) > CONSTANTS.q_lo


def test_passages_that_are_not_about_the_task_are_not_in_the_prototype() -> None:
    """A quotation of them stays as far from the matter as it is."""
    post = numbered(("x.md", "The vessels of all three stems were brown."), ("y.md", WALTZ))
    spans = (Span(passage="p1", quote="vessels"), Span(passage="p2", quote=WALTZ))
    published, now = (
        ask(shown("measure", MeasureBrief(spans=spans, **given), seat="helper", others=[post])).body.similar.dots
        for given in ({}, {"subject": Subject(outcomes=("Fusarium wilt", "Root rot"), relevant_from=0.35)})
    )
    assert published[1] > 0.5 > 0.2 > now[1]


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
    for asked in (*play.asks("retrieve"), *play.asks("measure")):
        assert json.loads(bytes(asked.brief)).get("subject") == wanted


def test_no_language_model_is_asked_for_what_is_computed() -> None:
    seat = with_computed(RecordedModel({}))  # it raises whenever it is asked
    turn = shown("retrieve", ALL, seat="helper", documents=DOCUMENTS)
    assert ask(turn, seat).body == found().body and seat.name == "recorded"
    own = Extractive()
    assert with_computed(own) is own
