"""What the helper retrieves and measures, and what debaters look up: passages of the documents, figures that a plain
computation gives too, and a prototype of the evidence that is not made from what it judges."""

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest

from parley.agents.context import Other, Shown
from parley.agents.models import Completion, make_model
from parley.agents.models.computed import with_computed
from parley.agents.models.extractive import Extractive
from parley.agents.models.recorded import RecordedModel
from parley.agents.prompts.prompting import build
from parley.agents.text.tokens import estimate
from parley.agents.tools.allow import LOOKING, load
from parley.agents.worker_model import WorkerModel
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.protocols.maci.round import passages_quality
from parley.coordinator.replay import replay
from parley.coordinator.table import Inadmissible
from parley.schemas.control import CONSTANTS
from parley.schemas.protocols.maci.messages import (
    Argument,
    Blind,
    BlindBrief,
    MeasureBrief,
    Passage,
    Passages,
    RetrieveBrief,
    Span,
    Subject,
)
from parley.schemas.session import Document
from parley.schemas.text import BY_ENCODER, BY_WORDS, Similar, stands_in
from parley.schemas.tools import LookUpResult
from parley.schemas.turn import Caps
from tests.client import shown as client
from tests.llm.support import asked
from tests.llm.test_injections import ATTACKS
from tests.protocols.consensus.simulate import document
from tests.protocols.maci.play import AGAINST, FOR, PAPER, TEXTS, Play, begun, case, worker, workers
from tests.protocols.maci.turns import DOCUMENTS, QUESTION, ask, numbered, shown
from tests.tools.support import Scripted, use

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
    for turn_ in (*play.asks("retrieve"), *play.asks("measure")):
        assert json.loads(bytes(turn_.brief)).get("subject") == wanted


def test_no_language_model_is_asked_for_what_is_computed() -> None:
    seat = with_computed(RecordedModel({}))  # it raises whenever it is asked
    turn = shown("retrieve", ALL, seat="helper", documents=DOCUMENTS)
    assert ask(turn, seat).body == found().body and seat.name == "recorded"
    own = Extractive()
    assert with_computed(own) is own


FOUND = LookUpResult(
    server="web",
    tool="search",
    arguments='{"query": "rash"}',
    text="A rash.\n\nIn dengue platelets are low.\n\nIt itches.",
)


def looked(*found: LookUpResult, **settings: Any) -> Play:
    """Two debaters who answered blind, the first of whom looked something up."""
    play = Play({"look_ups": 2, "round_limit": 3, **settings})
    play.reply("debater_1", Blind(belief=FOR), found=found or msgspec.UNSET)
    play.reply("debater_2", Blind(belief=AGAINST))
    return play


def cites(passage: str, quote: str) -> Argument:
    return Argument(claim="It is dengue.", reasons=("so",), spans=(Span(passage=passage, quote=quote),))


def test_what_is_found_is_a_passage_for_everybody_in_the_next_round() -> None:
    play = looked(FOUND)
    given, more = play.bodies("passages")
    assert len(given["passages"]) == len(TEXTS) and more["looked"] is True
    assert [(p["id"], p["document"], p["text"]) for p in more["passages"]] == [
        ("p4", FOUND.name, "A rash."), ("p5", FOUND.name, "In dengue platelets are low."),
        ("p6", FOUND.name, "It itches."),
    ]  # fmt: skip
    post = play.posts("passages")[-1].n
    assert all(post in play.ask(seat).sees for seat in play.debaters)
    play.reply("debater_2", case(AGAINST, cites("p5", "platelets are low")))
    assert "debater_2" in play.session.inner.pending, "it was taken"
    again = replay(PROTOCOLS.get, "s1", play.log)
    assert again.session == play.session


def test_it_is_no_passage_in_the_round_in_which_it_is_found_and_one_once() -> None:
    play = looked()
    assert len(play.bodies("passages")) == 1
    argued = case(FOR, cites("p4", "platelets are low"))
    play.reply("debater_1", argued, found=(FOUND,))
    assert play.ask("debater_1").attempt == 2 and "p4" in play.ask("debater_1").error
    play.reply("debater_1", case(FOR))
    play.reply("debater_2", case(AGAINST))
    assert len(play.bodies("passages")) == 2
    play.argue(case(FOR, cites("p5", "platelets are low")), case(AGAINST))
    play.measure(lambda span: 0.8)
    play.judge("judge_1")
    assert len(play.bodies("passages")) == 2


def test_only_turns_that_answer_or_argue_look_things_up() -> None:
    play = looked()
    assert {seat: ask.caps.calls for seat, ask in ((s, play.ask(s)) for s in play.debaters)} == dict.fromkeys(
        play.debaters, 2 + 2 + 1
    )
    assert play.brief("debater_1")["look_ups"] == 2
    most = PROTOCOLS["maci"].look_ups
    assert [most(play.session.settings, kind) for kind in ("blind", "attack", "answer", "crit")] == [2, 2, 0, 0]
    with pytest.raises(Inadmissible, match="look_ups: got 9"):
        Play({"look_ups": 9})


def test_who_watches_sees_what_was_looked_up_and_that_nobody_can() -> None:
    fold = client.fold(looked(FOUND))
    assert any(f"3 passages looked up, from {FOUND.name}" in card.text for card in fold.cards)
    told = "look-ups: no debater has a language model with tools, so nothing is looked up"
    assert told in [n.text for n in fold.notices()]
    there = (*(worker(f"debater_{n}", "debater", tools=True) for n in (1, 2)), *workers()[2:])
    assert told not in [n.text for n in client.fold(Play({"look_ups": 1}, there=there)).notices()]


def turn(*documents: Document, passages: tuple[Passage, ...] = ()) -> Shown:
    brief = BlindBrief(outcomes=("low", "high"), look_ups=2)
    shown = asked(list(documents), caps=Caps(calls=5), seconds=50.0)
    posts = (Other(post=0, kind="passages", round=0, body=Passages(passages=passages)),) if passages else ()
    return msgspec.structs.replace(
        shown, protocol="maci", kind="blind", reply=Blind, brief=brief, others=posts, own=None, round=0
    )


def text(shown: Shown) -> str:
    return "\n".join(str(m["content"]) for m in build(shown, boundary=lambda: "0" * 16).messages)


async def test_a_debater_is_shown_what_it_found_in_this_very_turn_and_no_passage_twice() -> None:
    before = Document(id=FOUND.id, name=FOUND.name, text=FOUND.text)
    own = Document(id="1" * 64, name="mine.md", text="Of the opening.")
    model = Scripted(
        use(("calculate", {"expression": "2+2"}), server="calculator"), {"outcome": "done"},
        {"reasoning": "so", "spans": [], "belief": [{"outcome": "low", "p": 1.0}]},
    )  # fmt: skip
    shown = turn(before, own, passages=(Passage(id="p1", document=FOUND.name, text=FOUND.text),))
    done = await WorkerModel(model, tools=load(LOOKING)).reply(shown, lambda text: None)
    assert [f.text for f in done.found] == ["2+2 = 4"] and isinstance(done.body, Blind)
    assert [s.kind for s in model.shown] == ["look_up", "look_up", "blind"]
    assert [d.name for d in model.shown[-1].documents] == [done.found[0].name]
    assert "which is no passage yet" in text(model.shown[-1]) and "2+2 = 4" in text(model.shown[-1])
    assert "no passage yet" not in text(turn()), "nothing is said where nothing was looked up"
    assert text(model.shown[0]).count("In dengue platelets are low.") == 1 and "you may look things up" in text(
        model.shown[0]
    )
