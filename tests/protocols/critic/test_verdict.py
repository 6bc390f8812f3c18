"""What is asked and said: a rewritten question, an answer that holds together, a verdict that fits the debate."""

import pytest

from parley.coordinator.protocols.critic.rewriting import compare_rewriting
from parley.schemas.protocols.critic import NO_NEW_OBJECTION, Judgement, Verdict
from tests.client import shown
from tests.protocols.critic.play import Play


def debated(score: float = 90, *, rounds: int = 1) -> Play:
    """A debate of one open objection, ruled on with this score."""
    play = Play({"round_limit": rounds})
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


@pytest.mark.parametrize(
    ("ruling", "error"), [("", "upholds, narrows, reverses"), ("narrows", "answer: missing; narrows says what is left")]
)
def test_one_without_a_ruling_or_what_it_leaves_is_refused(ruling: str, error: str) -> None:
    play = debated()
    play.reply("judge", Verdict(reasoning="r", ruling=ruling))
    assert play.ask("judge").attempt == 2 and error in play.ask("judge").error
    play.reply("judge", Verdict(reasoning="r", ruling=ruling))
    assert play.result.outcome["source"] == "answer", "the answer stands"


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


def test_a_contradiction_is_with_an_objection_that_there_is() -> None:
    play = Play()
    play.answers()
    play.objects("it burns")
    play.reply("judge", Judgement(score=60, contradicts=(1,)))
    assert play.ask("judge").error == "contradicts: there is no objection 1; the profile's numbers are none so far"


def test_who_shows_a_check_is_judged() -> None:
    play = Play({"min_rounds": 3})
    play.answers()
    play.objects(NO_NEW_OBJECTION, checked="13 * 17 = 221")
    assert play.phase == "judging" and play.brief("judge")["checked"] == "13 * 17 = 221"
    play.judges(100, check_holds=True)
    assert play.phase == "concluding"
    lines = shown.posts(play.session.posts)
    assert any("It computed: 13 * 17 = 221" in text for text in lines)
    assert any("The critic's calculation holds" in text for text in lines)


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
