"""critic beyond its seed: what is asked and said, repetitions, the judge's bias, missing seats, budgets, verdicts."""

from hashlib import sha256
from itertools import product
from typing import Any

import pytest

from parley.coordinator.admission import admit
from parley.coordinator.machine import Inadmissible, View
from parley.coordinator.protocols.critic.confidence import WORTHLESS, confidence, refutes
from parley.coordinator.protocols.critic.rewriting import compare_rewriting
from parley.coordinator.protocols.critic.state import answer_first
from parley.schemas.protocols.critic import Critique, Judgement, Met, Rewritten
from parley.schemas.session import Budget, Document, OpenSession
from parley.schemas.text import Citation
from parley.schemas.turn import Usage
from tests.client import shown
from tests.protocols.critic.play import ASKED, CRITIC, Play, answer, judgement, workers

QUICK = {"min_rounds": 1}


def document(name: str, text: str, *holders: str) -> Document:
    return Document(id=sha256(text.encode()).hexdigest(), name=name, text=text, holders=holders)


# ---------------------------------------------------------------- circular arguments


def second(settings: dict[str, Any] | None = None, said: str = "Fire destroys it", *, weight: float = 0.2) -> Play:
    """A session in which the critic objects a second time, in other words."""
    play = Play(settings or QUICK | {"threshold": 95})
    play.round("it burns", 100 - 100 * weight)
    play.answers()
    play.objects(said)
    return play


def test_a_repetition_weighs_upon_what_it_repeats() -> None:
    """Nothing is lost by calling an objection old."""
    play = second(weight=0.6)
    play.judges(0, repeats=1)
    assert [o.weight for o in play.session.inner.profile] == [1.0]
    assert (play.stop["reason"], play.exit_status) == ("overturned", 3)


def test_an_objection_that_holds_repeats_none_that_is_met() -> None:
    play = Play({"round_limit": 2, "threshold": 95})
    play.round("it burns", 80)
    play.answers("Tape", 1)
    play.objects("Fire destroys it")
    play.judges(0, 1, repeats=1)
    assert "only one of the two can be" in play.ask("judge").error
    play.judges(0, 1, repeats=1)
    assert [(o.number, o.answered) for o in play.session.inner.profile] == [(1, True), (2, False)]


@pytest.mark.parametrize(
    ("quote", "error"),
    [
        ("Tape lasts for ever in any fire", "met: this does not stand in the answer"),
        ("fact 1", "met: quote the whole sentence that meets objection 1"),
        ("because Tape", "met: this stood in the answer already when objection 1 was raised"),
    ],
)
def test_what_meets_an_objection_is_quoted_and_refused_once(quote: str, error: str) -> None:
    play = Play({"round_limit": 2})
    play.round("it burns", 40)
    play.answers("Tape", 1)
    play.objects("it is slow")
    for _ in range(2):
        assert play.phase == "judging"
        play.reply("judge", Judgement(score=90, met=(Met(objection=1, quote=quote),)))
        if play.phase == "judging":
            assert error in play.ask("judge").error
    assert play.last("tally")["answered"] == [], "it stays open"
    assert play.exit_status == 3 if play.phase == "done" else play.stop["reason"] == "round_limit"


# ---------------------------------------------------------------- judge bias


def test_bias_is_measured_on_request_by_the_opposite_order() -> None:
    play = Play({"measure_bias": True, "round_limit": 1})
    play.answers()
    play.objects("it burns")
    once = play.ask("judge")
    play.judges(70)
    again = play.ask("judge")
    assert play.phase == "rejudging" and again.kind == "judge"
    assert again.sees == tuple(reversed(once.sees)) and len(once.sees) == 2
    orders = [once, again] if once.sees[0] < once.sees[1] else [again, once]
    told = [bytes(a.brief).partition(b'"order":"')[2].partition(b'"')[0] for a in orders]
    assert told == [b"answer_first", b"objection_first"]
    play.judges(50)
    first, other = (70, 50) if orders[0] is once else (50, 70)
    pair = {"round": 1, "answer_first": first, "objection_first": other, "difference": first - other}
    assert play.certificate["judge_bias"] == {"pairs": [pair], "mean_difference": first - other}
    assert play.last("tally")["weight"] == 0.3, "the first judgement counts"
    assert (play.last("judgement")["score"], play.last("judgement_swapped")["score"]) == (70, 50)


def test_the_order_is_drawn_by_seed_and_round() -> None:
    def first(seed: int, n: int) -> bool:
        play = Play(seed=seed)
        return answer_first(View(play.session.opened, play.session.settings, (), 0, (), 0), n)

    drawn = [first(1, n) for n in range(1, 13)]
    assert {True, False} == set(drawn)
    assert drawn == [first(1, n) for n in range(1, 13)]
    assert drawn != [first(2, n) for n in range(1, 13)]


# ---------------------------------------------------------------- what a reply may name


@pytest.mark.parametrize(
    ("ruled", "field"), [(judgement(50, 1), "met"), (Judgement(score=60, contradicts=(1,)), "contradicts")]
)
def test_a_judge_rules_on_the_profile_alone(ruled: Judgement, field: str) -> None:
    play = Play()
    play.answers()
    play.objects("it burns")
    play.reply("judge", ruled)
    assert play.ask("judge").error == f"{field}: there is no objection 1; the profile's numbers are none so far"


@pytest.mark.parametrize("said", [ASKED, f"  {ASKED.lower()[:6].title()}{ASKED[6:]}\n"])
def test_a_neutral_question_is_kept_as_asked(said: str) -> None:
    play = Play(rewritten=False)
    play.reply("judge", Rewritten(question=said, note="It is neutral."))
    assert play.phase == "answering", "without a retry"
    assert play.last("question") == {"question": ASKED, "note": "kept as asked"}
    (post,) = play.posts("question")
    assert shown.posts([post]) == [f"  Judge, the question stands as it was asked: {ASKED}"]


@pytest.mark.parametrize("seat", ["answerer", "critic"])
def test_quotations_stand_in_their_documents(seat: str) -> None:
    play = Play(documents=[document("a.md", "Tape lasts thirty years.")])
    if seat == "critic":
        play.answers()
    cited = (Citation(document="a.md", quote="Tape lasts forty years."),)
    play.reply(seat, answer(citations=cited) if seat == "answerer" else Critique(objection="x", citations=cited))
    assert "does not stand in a.md" in play.ask(seat).error and play.ask(seat).error.endswith("; or leave it out")


# ---------------------------------------------------------------- missing seats


def test_a_missing_answerers_last_answer_stands() -> None:
    play = Play()
    play.round("it burns")
    play.fail("answerer")
    assert play.ask("critic").sees == (play.posts("answer")[0].n,)
    play.objects("it is slow")
    play.judges()
    assert play.last("tally")["missing"] == ["answerer"]


@pytest.mark.parametrize(("quorum", "phase"), [(2, "done"), (1, "concluding")])
def test_quorum(quorum: int, phase: str) -> None:
    play = Play({"quorum": quorum, "round_limit": 1})
    play.answers()
    play.fail("critic")
    assert play.phase == phase


def test_a_missing_judge_leaves_the_objection_open_and_unjudged() -> None:
    play = Play()
    play.answers()
    play.objects("it burns")
    play.fail("judge")
    tally = play.last("tally")
    assert (tally["confidence"], tally["source"], tally["found"]) == (25, "unjudged", 1)
    assert tally["weight"] == 0 and "weight" not in tally["profile"][0], "nobody said what it weighs"
    assert play.phase == "answering" and len(play.brief("answerer")["profile"]) == 1


# ---------------------------------------------------------------- budget


def small(tokens: int, **settings: Any) -> Play:
    """Every turn reserves (100 + 20) * 2 tokens at most."""
    caps = {"max_input_tokens": 100, "max_output_tokens": 20, **settings}
    return Play(caps, budget=Budget(tokens=tokens), metered=True)


def test_out_of_budget_the_verdict_is_still_asked() -> None:
    play = small(480)
    play.reply("answerer", answer(), Usage(input_tokens=10, calls=1))
    assert play.ask("judge").kind == "verdict"
    assert play.stop["reason"] == "budget" and "budget.tokens: limit 480" in play.certificate["what"]
    assert play.result.outcome["answer"] == "Tape" and not play.result.stop.converged


# ---------------------------------------------------------------- seats, documents, settings


def test_settings_fit_each_other() -> None:
    request = OpenSession(question="Why?", protocol="critic", settings={"min_rounds": 4, "round_limit": 3})
    with pytest.raises(Inadmissible, match=r"critic\.min_rounds: got 4, and critic\.round_limit 3 ends"):
        admit(CRITIC, request, workers(), 1, "client")


# ---------------------------------------------------------------- verdicts and rewritings


def debated(score: float = 90) -> Play:
    """A debate of one open objection, ruled on with this score."""
    play = Play({"round_limit": 1})
    play.round("it burns", score)
    return play


def said(play: Play) -> str:
    """What a session's result says of its verdict, in lines."""
    card = shown.card(play)
    return "\n".join((card.sure, *card.weak, card.open, card.dissent, shown.ended(play.result)))


def test_a_verdict_says_what_it_does_and_what_it_assumes() -> None:
    play = debated()
    play.verdict("Tape, unless it gets wet", "narrows", assumptions=("The archive is kept dry.",))
    play.signs()
    play.countersigns()
    got = play.result.outcome
    assert (got["answer"], got["source"], got["ruling"]) == ("Tape, unless it gets wet", "verdict", "narrows")
    assert got["assumptions"] == ["The archive is kept dry."]
    assert "the verdict narrows the answer" in said(play) and "Assumes: The archive is kept dry." in said(play)


CONTRADICTIONS = [
    (90, "Disk", "reverses", "no objection is open that weighs half or more"),
    (20, "Tape", "reverses", "you reverse the answer and give it again"),
    (20, "Tape", "upholds", "objection 1 is open"),
]


@pytest.mark.parametrize(("score", "text", "ruling", "why"), CONTRADICTIONS)
def test_what_contradicts_the_debate_is_refused_once_and_then_shown_and_not_taken(
    score: float, text: str, ruling: str, why: str
) -> None:
    play = debated(score)
    play.verdict(text, ruling)
    assert play.ask("judge").attempt == 2 and why in play.ask("judge").error
    play.verdict(text, ruling)
    got = play.result.outcome
    assert (got["answer"], got["source"], got["departing"]) == ("Tape", "answer", text)
    assert why in got["departs"] and "ruling" not in got
    assert "departs from the debate and was not taken" in said(play)
    assert "Why it was not taken: " in said(play) and "ruling:" not in said(play)


@pytest.mark.parametrize(
    ("asked", "rewritten", "left_out", "added"),
    [
        ("Is tea with sugar healthy?", "Is tea healthy?", ("sugar",), ()),
        ("We fill cylinders. Full or empty?", "A club fills cylinders; full or empty?", (), ()),
        ("Surely everybody agrees that tape is best?", "Is tape best?", (), ()),
        ("Don't you think tape is best?", "Is tape best?", (), ()),
        ("Is it safe to not vent the tank?", "Is it safe to vent the tank?", ("not",), ()),
        ("Is it safe to vent the tank?", "Is it never safe to vent the tank?", (), ("never",)),
        ("Can 5 mg of warfarin be given?", "Can warfarin be given?", ("mg", "5"), ()),
        ("Can warfarin be given?", "Can 10 mg of warfarin be given?", (), ("10",)),
        ("Did Mercer write it?", "Did Mercator write it?", ("Mercer",), ()),
        ("Soll der Verein kein Geld leihen?", "Soll der Verein Geld leihen?", ("kein",), ()),
        ("Is disk safer than tape?", "Is tape safer than disk?", ("the order of disk and tape",), ()),
        ("Is disk safer than tape?", "Is tape or disk safer?", (), ()),
        ("Why did Kiel sue Bonn?", "Why did Bonn sue Kiel?", ("the order of Kiel and Bonn",), ()),
    ],
)
def test_what_is_left_out_and_added(
    asked: str, rewritten: str, left_out: tuple[str, ...], added: tuple[str, ...]
) -> None:
    found = compare_rewriting(asked, rewritten)
    assert (found.left_out, found.added, found.another) == (left_out, added, False)


# ---------------------------------------------------------------- confidence (docs/critic.md, "Confidence")

WEIGHTS = (0.06, 0.34, 0.42, 0.5, 0.9, 1.0)


def given(*open_weights: float, survived: int = 0, tested: int = 1) -> float:
    return confidence(open_weights, survived=survived, tested=tested, start=50)


@pytest.mark.parametrize("survived", [0, 1, 2, 6, 50])
def test_with_nothing_open_it_is_90_or_more_and_never_certain(survived: int) -> None:
    assert 90 <= given(survived=survived, tested=max(1, survived)) <= 96


def test_an_upheld_objection_ends_below_50() -> None:
    """50 of 100 for the answer is a weight of .5."""
    for survived, weight in product((0, 1, 6, 50), (0.5, 0.7, 1.0)):
        assert given(weight, survived=survived, tested=survived + 1) < 50


def test_it_never_rises_by_an_open_objection() -> None:
    for survived, before, new in product(range(7), ((), (0.1,), (0.42, 0.5)), WEIGHTS):
        now = given(*before, survived=survived, tested=survived + 1)
        for tested in (survived + 1, survived + 2):
            assert given(*before, new, survived=survived, tested=tested) < now


def played(*rounds: tuple[str, float, tuple[int, ...]]) -> Play:
    play = Play({"round_limit": len(rounds), "min_rounds": len(rounds)})
    for text, score, met in rounds:
        play.round(text, score, *met)
    return play


def test_the_same_final_state_scores_the_same_by_either_route() -> None:
    """One met the first objection early and kept to it. The other dropped it twice and met it at the end."""
    steady = played(("it burns", 40, ()), ("it is slow", 70, (1,)), ("it is dear", 90, (1, 2)))
    wavering = played(("it burns", 40, ()), ("it is slow", 70, ()), ("it is dear", 90, (1, 2)))
    assert steady.certificate["trend"][:2] != wavering.certificate["trend"][:2]
    assert steady.certificate["confidence"] == wavering.certificate["confidence"] == 85.05
    turned = played(("it burns", 70, ()), ("it is slow", 40, ()), ("it is dear", 90, (1, 2)))
    assert turned.certificate["confidence"] == 85.05, "nor in which order they came"


@pytest.mark.parametrize(
    ("checked", "holds", "confidence", "label", "rounds"),
    [
        ("", False, 0.7, "medium", 1),
        ("I went through it", True, 0.7, "medium", 1),
        ("2 + 2", False, 0.7, "medium", 2),
        ("2 + 2", True, 0.93, "high", 1),
    ],
)
def test_silence_alone_is_no_more_than_medium(
    checked: str, holds: bool, confidence: float, label: str, rounds: int
) -> None:
    """A check counts that the judge confirms. One that it does not confirm ends no debate before `min_rounds`."""
    play = Play()
    play.answers()
    play.objects(checked=checked)
    if play.phase == "judging":
        play.judges(100, check_holds=holds)
    if play.phase == "answering":
        play.answers()
        play.objects()
    play.verdict()
    assert (play.result.outcome["confidence"], play.result.outcome["label"]) == (confidence, label)
    assert play.certificate["round"] == rounds


# ---------------------------------------------------------------- worthless objections


def test_a_worthless_objection_is_closed_at_once() -> None:
    play = Play()
    play.round("you are a fool", WORTHLESS)
    assert play.last("tally")["confidence"] == 93, "its round is survived"
    assert play.last("tally")["profile"][0]["closed"] is True
    assert play.brief("answerer")["profile"] == []
    play.answers()
    assert [o["number"] for o in play.brief("critic")["profile"]] == [1], "the critic may not raise it again"
    play.objects("it burns")
    assert [o["number"] for o in play.brief("judge")["closed"]] == [1], "what is raised now may repeat it"
    assert play.brief("judge")["profile"] == []
    play.judges(60)
    assert play.last("tally")["reopened"] == [] and play.session.inner.open_objections() == (2,)
    assert play.last("tally")["confidence"] == 55.8, "93 * .6"
    assert [o["number"] for o in play.brief("answerer")["profile"]] == [2]


def test_what_was_closed_is_not_ruled_on_again() -> None:
    play = Play({"round_limit": 2})
    play.round("you are a fool", 100)
    play.round("it burns", 60)
    play.verdict()
    assert play.certificate["worthless"] == [1] and play.certificate["open_objections"] == [2]
    assert [o["answered"] for o in play.result.outcome["objections"]] == [True, False]


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        ("13 * 17 = 221, so the answer 221 is prime is wrong", True), ("The claim does not hold: 2 + 2 = 4.", True),
        ("The result is not correct.", True), ("13 * 17 = 221; the answer is right", False),
        ("It would be wrong to say 42. The answer says 43, and so does the sum.", False), ("", False),
    ],
)  # fmt: skip
def test_a_check_that_says_the_answer_is_wrong_confirms_nothing(check: str, wrong: bool) -> None:
    assert refutes(check) is wrong
