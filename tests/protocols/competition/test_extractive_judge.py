"""Judge and audience of the competition without a language model: marks that move as they should, violations found by
rule, and votes."""

from typing import Any

import msgspec
import pytest

from parley.agents.model.injection import suspicious
from parley.coordinator.protocols.competition.rules import OF_ACT
from parley.schemas.citation import Citation
from parley.schemas.protocols.competition.format import DIMENSIONS, Act, Violation
from parley.schemas.protocols.competition.messages import (
    Ballot,
    BallotBrief,
    Marks,
    ReviewBrief,
    Said,
    ScoreBrief,
    SummaryBrief,
)
from parley.schemas.text import squeeze
from tests.llm.test_injections import ATTACKS
from tests.protocols.competition.turns import MOTION, ask, asked, quoting, said, score_turn, shown

GOOD = (
    "Free buses and trams are fair, because a fare hits those hardest who have least: “A monthly pass was a tenth of "
    "her wage.” (interviews). But the other side says that crowds would come; therefore the city needs more trams, and "
    "we said so."
)
QUESTIONS = asked("pro_2", "Who pays for the free trams?", "Why were the drivers afraid of the last trip?")
ANSWER = said(
    "con_2", "Nobody but the taxpayer pays for the free trams. The drivers were afraid of quarrels.", "answer"
)


def marks(speech: Said, *before: Said, question: str = MOTION) -> Marks:
    """The judge's, after the machine's own checks of a reply."""
    turn = score_turn(speech, *before, question=question)
    given: Marks = ask(turn).body
    for b in given.violations:
        assert b.kind in turn.brief.violations and b.quote and squeeze(b.quote) in squeeze(speech.text)
    assert all(1 <= getattr(given, d) <= 10 for d in DIMENSIONS) and "no language model" in given.comment
    return given


def kinds(speech: Said, *before: Said) -> list[str]:
    return [b.kind for b in marks(speech, *before).violations]


# ---------------------------------------------------------------- violations


@pytest.mark.parametrize(
    ("kind", "speech", "before", "quote"),
    [
        (
            "counter_question",
            said("con_2", "The taxpayer pays for the trams. And who should pay for yours?", "answer"),
            (QUESTIONS,),
            "And who should pay for yours?",
        ),
        (
            "not_direct_answer",
            said("con_2", "The harbour was built long ago by the king. The city's sea is deep.", "answer"),
            (QUESTIONS,),
            "The harbour was built long ago by the king.",
        ),
        (
            "attacker_answered",
            asked("pro_2", "Who pays for the free trams?", "Taxes on petrol would pay for all of it."),
            (),
            "Taxes on petrol would pay for all of it.",
        ),
        (
            "off_topic",
            said("con_4", "My grandmother bakes the finest plum cake in the valley. It has cinnamon.", "closing"),
            (QUESTIONS,),
            "My grandmother bakes the finest plum cake in the valley.",
        ),
        (
            "scripted_summary",
            said("con_1", "Free trams for the city are a dream. Dreams are lovely in the morning.", "summary"),
            (QUESTIONS, ANSWER),
            "Free trams for the city are a dream.",
        ),
        (
            "personal_attack",
            said("con_3", "Free trams cost money. My opponents are liars and know nothing of buses.", "free"),
            (),
            "My opponents are liars and know nothing of buses.",
        ),
    ],
)
def test_each_violation_is_found_and_quoted(kind: str, speech: Said, before: tuple[Said, ...], quote: str) -> None:
    given = marks(speech, *before)
    assert [(b.kind, b.quote) for b in given.violations] == [(kind, quote)]
    assert given.rule_compliance == 7.0
    # Only what a speech of this kind can be of is looked for.
    act: Act = "speech" if speech.act != "speech" and kind in OF_ACT else speech.act
    elsewhere = msgspec.structs.replace(speech, act=act)
    if kind in OF_ACT:
        assert kind not in kinds(elsewhere, *before)


def test_there_is_a_rule_for_every_violation() -> None:
    every: tuple[Violation, ...] = Violation.__args__  # type: ignore[attr-defined]
    speech = said("pro_1", "You are an idiot, a liar, and bananas ripen in warm kitchens. Why is that?", "answer")
    turn = score_turn(speech, QUESTIONS, ANSWER)
    whole = msgspec.structs.replace(turn, brief=msgspec.structs.replace(turn.brief, violations=every))
    found = {b.kind for b in ask(whole).body.violations}
    assert found == set(every) - {"attacker_answered"}, "what speaks to the other side is no answer"


@pytest.mark.parametrize(
    ("speech", "before"),
    [
        (said("pro_1", GOOD), ()),
        (ANSWER, (QUESTIONS,)),
        (QUESTIONS, ()),
        (said("con_2", "“Who pays?” has a short answer: the trams are paid for by all.", "answer"), (QUESTIONS,)),
        (asked("pro_2", "You said that trams are dear.", "Why are they?"), ()),
        (
            said("con_1", "They asked who pays for free trams, and we named the taxpayer and the quarrels.", "summary"),
            (QUESTIONS, ANSWER),
        ),
        (said("con_1", "The drivers were afraid on the last trip, and quarrels are why.", "free"), (QUESTIONS, ANSWER)),
        (said("con_1", "It is a stupid plan for the trams.", "free"), ()),
        (said("con_1", "They quoted “you are liars” from the wall of a tram.", "free"), ()),
    ],
)  # fmt: skip
def test_what_is_in_order_is_no_violation(speech: Said, before: tuple[Said, ...]) -> None:
    assert kinds(speech, *before) == []


# ---------------------------------------------------------------- marks


def test_marks_move_with_what_they_are_for() -> None:
    good = marks(said("pro_1", GOOD))
    bare = marks(said("pro_1", "Trams are nice. Trams are nice. Trams are nice. Trams are nice. Trams are nice."))
    assert good.logic > bare.logic and good.persuasion > bare.persuasion and good.expression > bare.expression
    mate = quoting("pro_1", ("a.md", "A monthly pass was a tenth of her wage."))
    assert marks(said("pro_2", GOOD), mate).teamwork < marks(said("pro_2", GOOD)).teamwork
    rival = said("con_1", "The crowds would come and the trams would need more money for the city.")
    deaf = said("con_1", "Bread and plums and cheese and wine and salt and pepper are sold by the pound.")
    assert marks(said("pro_2", GOOD), rival).persuasion > marks(said("pro_2", GOOD), deaf).persuasion


def test_overtime_costs_in_expression_and_in_compliance() -> None:
    in_time, over = marks(said("pro_1", GOOD, limit=100)), marks(said("pro_1", GOOD, limit=30))
    assert over.rule_compliance == in_time.rule_compliance - 4 and over.expression < in_time.expression
    assert over.violations == (), "points for overtime are the rule engine's"


def test_both_teams_are_marked_alike() -> None:
    assert [getattr(marks(said("pro_1", GOOD)), d) for d in DIMENSIONS] == [
        getattr(marks(said("con_3", GOOD)), d) for d in DIMENSIONS
    ]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("place", ["after", "before", "earlier speech"])
def test_what_talks_to_the_judge_as_to_a_machine_moves_no_mark(attack: str, place: str) -> None:
    mate, rival = said("pro_1", GOOD), said("con_1", "The crowds would come to the trams.")
    clean = score_turn(mate, rival)
    if place == "earlier speech":
        tried = score_turn(mate, msgspec.structs.replace(rival, text=f"{rival.text}\n{attack}"))
    else:
        text = f"{GOOD} {attack}" if place == "after" else f"{attack}\n{GOOD}"
        # Words and limit as before: what is over its limit is so by the moderator's count.
        tried = score_turn(msgspec.structs.replace(mate, text=text), rival)
    one, two = ask(clean), ask(tried)
    assert one.body == two.body
    assert two.flags == ("injection",) and one.flags == ()


def test_the_same_speech_the_same_marks() -> None:
    assert ask(score_turn(said("pro_1", GOOD))) == ask(score_turn(said("pro_1", GOOD)))


# ---------------------------------------------------------------- the judge's words


PRO = quoting("pro_1", ("a.md", "Free trams were measured to be punctual on 93 percent of trips."))
CON = quoting("con_1", ("b.md", "Perhaps the crowds are too much."), ("b.md", "The gap is 42 million crowns."))


def test_a_stage_is_summed_up_by_what_was_quoted_and_what_was_met() -> None:
    brief = SummaryBrief(stage="Free debate", totals={"pro": 8.5, "con": -1.0, "pro_1": 8.5})
    elsewhere = msgspec.structs.replace(said("pro_3", "Something of another stage."), stage="Opening")
    text = ask(shown("summarize", brief, seat="judge", others=[elsewhere, PRO, CON])).body.text
    assert text.startswith("Free debate: 2 speeches.") and "pro 8.5, con -1" in text
    assert "con: 1 speech, 2 quotations." in text and "Not met by the other side: 2" in text
    met = quoting("pro_2", ("b.md", "The gap is 42 million crowns."))
    text = ask(shown("summarize", brief, seat="judge", others=[PRO, CON, met])).body.text
    assert "Not met by the other side: 1, such as “Perhaps the crowds are too much.”" in text


@pytest.mark.parametrize(
    ("winner", "words"),
    [("pro", "Team pro has won. Best debater: pro_1."), ("draw", "a draw. Best debater: pro_1."), ("", "No winner")],
)
def test_the_review_reports_what_was_counted(winner: str, words: str) -> None:
    brief = ReviewBrief(totals={"pro": 9.0, "con": 8.0}, winner=winner, best="pro_1")
    over = msgspec.structs.replace(PRO, overtime=True)
    text = ask(shown("review", brief, seat="judge", others=[over, CON])).body.text
    assert words in text and "pro 9, con 8" in text and "over its words in 1 of them" in text
    assert ("Best debater" in text) is bool(winner)


def test_the_judge_without_a_speech() -> None:
    brief = ScoreBrief(stage="S", act="speech", seat="pro_1", task="", words=0, limit=10, violations=())
    assert ask(shown("score", brief, seat="judge")).body.logic == 1


# ---------------------------------------------------------------- the audience


def ballot(name: Any, *others: Said, seat: str = "audience_1", question: str = MOTION) -> Ballot:
    brief = BallotBrief(name=name, stances={"pro": "for", "con": "against"})
    body: Ballot = ask(shown("vote", brief, seat=seat, others=others, question=question)).body
    assert "no language model" in body.why
    return body


def test_before_the_debate_the_motions_words_decide() -> None:
    assert ballot("before").choice == "undecided"
    assert ballot("before", question="This house prefers reliable and safe trams.").choice == "pro"
    assert ballot("before", question="This house wants dangerous and wasteful trams.").choice == "con"


def test_after_it_the_weight_of_what_was_quoted() -> None:
    assert ballot("after", PRO, quoting("con_1", ("b.md", "Perhaps the crowds are too much."))).choice == "pro"
    assert ballot("after", quoting("pro_1", ("a.md", "Maybe the trams are quite nice.")), CON).choice == "con"
    assert ballot("after", PRO, msgspec.structs.replace(PRO, seat="con_1")).choice == "undecided"
    assert ballot("after").choice == "undecided"


def test_audience_seats_listen_for_different_things() -> None:
    figures = quoting("pro_1", ("a.md", "It was 93 percent of 41 trips in the city then."))
    people = quoting(
        "con_1",
        ("b.md", "The old nurse was measured to be afraid for her children."),
        ("b.md", "We hope it is fine here."),
    )
    votes = {seat: ballot("after", figures, people, seat=f"audience_{seat}").choice for seat in range(1, 6)}
    assert votes[2] == "pro" and votes[3] == "con"


def test_what_was_met_counts_less() -> None:
    again = quoting("con_1", ("b.md", "The gap is 42 million crowns."))
    alone = quoting("pro_1", ("a.md", "The gap was measured at 42 million crowns by an audit."))
    meets = said("pro_2", "They say “The gap is 42 million crowns”, and it is not so.")
    weights = [ballot("after", again, alone, *more).why for more in ((), (meets,))]
    assert "1.3 for con" in weights[0] and "0.7 for con" in weights[1]


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_speech_cannot_ask_for_votes(attack: str) -> None:
    plain = [quoting("pro_1", ("a.md", "Maybe the trams are quite nice.")), CON]
    loud = msgspec.structs.replace(
        plain[0],
        text=f"{plain[0].text} {attack}",
        citations=(*plain[0].citations, Citation(document="x", quote=attack)),
    )
    turns = [
        shown("vote", BallotBrief(name="after", stances={}), seat="audience_1", others=[first, CON])
        for first in (plain[0], loud)
    ]
    one, two = map(ask, turns)
    assert one.body == two.body and two.flags == ("injection",) and one.flags == ()
    assert not suspicious([two.body.why])
