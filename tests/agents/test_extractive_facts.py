"""The extractive model asked for facts: dates, sizes, people, yes or no, and questions with a "not"."""

import pytest

from agents.extractive.figures import compatible, finer
from agents.models import make_model
from schemas.citation import Citation
from schemas.protocols.consensus import Position
from schemas.text import same
from tests.agents import facts
from tests.protocols.consensus.simulate import ask, document, run, turn_shown
from tests.protocols.consensus.test_extractive_analyst import position, scored
from tests.protocols.consensus.test_extractive_panelist import timed

LIGHTHOUSE = (
    document("log.md", "The Brae lighthouse was lit on 9 October 1884 by the keeper.", "panelist_1"),
    document("guide.md", "Since the Brae lighthouse was lit in 1884 no ship was lost.", "panelist_2"),
    document("chart.md", "It is 36 metres high. The Brae lighthouse was lit in October 1884.", "panelist_3"),
)


def said(question: str, *texts: str) -> Position:
    """What a seat that holds these texts answers."""
    body = ask(turn_shown(question, [document(f"{i}.md", text) for i, text in enumerate(texts)]))
    assert isinstance(body, Position)
    return body


def test_the_page_tells_what_is_measured() -> None:
    assert facts.measured() in facts.PAGE.read_text(), "run python -m tests.agents.facts"


def test_what_it_was_tried_on_it_gets_right_and_it_is_seldom_wrong() -> None:
    wrong = [r.question for r in (*facts.ROWS, *facts.FRESH) if (a := facts.answer(r)) and not facts.is_right(r, a)]
    assert wrong == []
    assert sum(facts.is_right(r, facts.answer(r)) for r in facts.ROWS) >= 0.95 * len(facts.ROWS)
    assert sum(facts.is_right(r, facts.answer(r)) for r in facts.FRESH) >= 0.65 * len(facts.FRESH)


# ---------------------------------------------------------------- dates that contain each other


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("1884", "9 October 1884"), ("October 1884", "in October 1884"), ("1884", "1884-10-09"),
        ("14 days", "two weeks"),
        ("October 9, 1884", "9th of Oct. 1884"), ("1.5 km", "1,500 metres"), ("three boats", "3 boats"),
        ("$2 million", "$2,000,000"), ("Canary", "the canary"),
    ],
)  # fmt: skip
def test_compatible_answers(one: str, two: str) -> None:
    assert compatible(one, two) and compatible(two, one)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("1884", "1885"), ("October 1884", "November 1884"), ("9 October 1884", "10 October 1884"),
        ("30 days", "90 days"),
        ("3 boats", "3 cars"), ("5 km", "5 hours"), ("$5", "€5"), ("Yes", "No"), ("1884", "1884 ships"),
        ("It was lit in 1884 and lost in 1911", "1884"),
    ],
)  # fmt: skip
def test_answers_that_are_not_compatible(one: str, two: str) -> None:
    assert not compatible(one, two) and not compatible(two, one)


def test_finer_is_one_way_only() -> None:
    assert finer("9 October 1884", "1884") and not finer("1884", "9 October 1884") and not finer("1884", "1884")


def test_a_panel_moves_to_the_finest_date_and_says_why() -> None:
    ended = run("When was the Brae lighthouse lit?", LIGHTHOUSE)
    assert len(set(ended.answers(1).values())) == 3
    assert ended.result.stop.converged and ended.result.stop.reason == "threshold"
    assert set(ended.answers(2).values()) == {"9 October 1884"} and ended.result.outcome["minority"] == []
    moved = {seat: p for seat, p in ended.positions(2).items() if seat != "panelist_1"}
    assert {p.change for p in moved.values()} == {"adopted"} and ended.positions(2)["panelist_1"].change == "kept"
    assert all(p.moved_by[0].quote == LIGHTHOUSE[0].text and "more exactly" in p.change_reason for p in moved.values())


def test_asked_for_the_year_all_say_the_year() -> None:
    ended = run("In which year was the Brae lighthouse lit?", LIGHTHOUSE)
    assert set(ended.answers(1).values()) == {"1884"} and len(ended.scores) == 1


def test_a_finer_date_that_nobody_quotes_moves_nobody() -> None:
    own = Position(answer="1884", reasoning="r", confidence=0.8)
    others = [Position(answer="9 October 1884", reasoning="r", confidence=0.9)]
    held = [document("guide.md", LIGHTHOUSE[1].text)]
    body = ask(turn_shown("When was the Brae lighthouse lit?", held, kind="revise", round_=2, own=own, others=others))
    assert (body.answer, body.change) == ("1884", "kept")


def test_a_finer_form_that_no_other_answers_is_partly_its_own() -> None:
    own = Position(answer="1884", reasoning="r", confidence=0.8)
    quote = Citation(document="log.md", quote=LIGHTHOUSE[0].text)
    others = [Position(answer="In the autumn", reasoning="r", confidence=0.9, citations=(quote,))]
    held = [document("guide.md", LIGHTHOUSE[1].text)]
    body = ask(turn_shown("When was the Brae lighthouse lit?", held, kind="revise", round_=2, own=own, others=others))
    assert (body.answer, body.change, body.moved_by) == ("9 October 1884", "partly", (quote,))


def test_an_answer_that_is_finer_than_what_can_be_found_is_kept() -> None:
    own = Position(answer="9 October 1884", reasoning="r", confidence=0.8)
    quote = Citation(document="x.md", quote="The Brae lighthouse was lit in 1884.")
    others = [Position(answer="1884", reasoning="r", confidence=0.9, citations=(quote,))]
    body = ask(turn_shown("When was the Brae lighthouse lit?", kind="revise", round_=2, own=own, others=others))
    assert (body.answer, body.change) == ("9 October 1884", "kept")


def test_another_date_of_the_same_year_is_a_disagreement() -> None:
    other = document("other.md", "The Brae lighthouse was lit on 2 May 1884.", "panelist_2")
    ended = run("When was the Brae lighthouse lit?", [LIGHTHOUSE[0], other, LIGHTHOUSE[2]])
    assert {"9 October 1884", "2 May 1884"} <= set(ended.answers(1).values())
    assert ended.scores[0] < 80


def test_the_analyst_counts_compatible_answers_as_one() -> None:
    dates = [position("1884", "a b"), position("October 1884", "a b"), position("9 October 1884", "a b")]
    first, later = scored(*dates), scored(*dates, iteration=2)
    assert 80 <= first.score < 90 <= later.score, "the first round leaves one more in which to say it alike"
    assert later.key_disagreements == () and "“9 October 1884”" in later.agreements[0]
    apart = scored(position("1884"), position("9 October 1884"), position("2 May 1884"), iteration=2)
    assert apart.score < 90 and len(apart.key_disagreements) == 1


# ---------------------------------------------------------------- yes or no with a figure


DAM = "The Orla dam was finished in May 1954. It is 80 metres high and cost 40 million euros. It was raised in 1988."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Was the Orla dam finished in 1954?", "Yes"),
        ("Was the Orla dam finished in 1953?", "No"),
        ("Was the Orla dam finished in 1988?", "No"),
        ("Was the Orla dam raised in 1988?", "Yes"),
        ("Was the Orla dam finished on 3 May 1954?", ""),
        ("Was the Orla dam finished before 1960?", "Yes"),
        ("Was the Orla dam finished after 1960?", "No"),
        ("Is the Orla dam 80 m high?", "Yes"),
        ("Is the Orla dam 90 metres high?", "No"),
        ("Is the Orla dam 80 metres wide?", ""),
        ("Did the Orla dam cost €30 million?", "No"),
        ("Did the Orla dam cost more than €30 million?", "Yes"),
        ("Was the Lund dam finished in 1954?", ""),
    ],
)
def test_a_stated_figure_is_checked(question: str, answer: str) -> None:
    body = said(question, DAM)
    assert body.answer == answer
    assert body.abstains == (not answer) and bool(body.citations) == bool(answer)


# ---------------------------------------------------------------- who, how long, and "not"


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Who dug the tunnel?", "Work on the tunnel went on until Friday, 3 November 1871, in Bristol.", ""),
        ("Who dug the tunnel?", "The tunnel was dug by Nora Vance in November 1871.", "Nora Vance"),
        (
            "Who dug the tunnel?",
            "Nora Vance visited the town. The tunnel was dug by the miners of Bristol.",
            "The miners",
        ),
        ("Who built the mill?", "The mill was built in March by the end of a wet year.", ""),
        ("Who built the mill?", "Ada Stone praised the mill that Tom Reece constructed.", "Tom Reece"),
        ("Who founded the school?", "The school was founded in June. Paris is far away.", ""),
        ("How long is the tunnel?", "The tunnel is 900 metres long. At 2 km, the Zell Tunnel is longer.", "900 metres"),
        ("How long is the Zell Tunnel?", "The Alm Tunnel is 900 metres long.", ""),
        ("How long is the break?", "The break is 15 minutes. The hall is 30 metres long.", "15 minutes"),
        ("How long is the tunnel?", "Digging the tunnel took six years.", ""),
        ("How long did digging the tunnel take?", "Digging the tunnel took six years, and it is 2 km long.", "6 years"),
    ],
)
def test_what_does_not_fit_is_not_guessed(question: str, text: str, answer: str) -> None:
    assert said(question, text).answer == answer


GOOD, BAD = "The cable ferry was reliable and safe in the trial.", "The cable ferry failed twice and is unsafe."


@pytest.mark.parametrize(
    ("question", "praised", "blamed"),
    [
        ("Should we run a cable ferry?", "Yes", "No"),
        ("Should we not run a cable ferry?", "Run a cable ferry", "Do not run a cable ferry"),
        ("Shouldn't we run a cable ferry?", "Run a cable ferry", "Do not run a cable ferry"),
        ("Should we stop the cable ferry?", "No", "Yes"),
        ("Should the town not run a cable ferry?", "The town should run a cable ferry",
         "The town should not run a cable ferry"),
        ("Should we run a cable ferry or not?", "Yes", "No"),
    ],
)  # fmt: skip
def test_a_question_with_not_is_answered_in_a_sentence(question: str, praised: str, blamed: str) -> None:
    assert same(said(question, GOOD).answer, praised)
    assert same(said(question, BAD).answer, blamed)


def test_which_not_to_take_is_the_worse() -> None:
    text = "The bus was reliable and safe. The tram failed twice and is unsafe."
    assert said("Which should we take: the bus or the tram?", text).answer == "Bus"
    assert said("Which should we not take: the bus or the tram?", text).answer == "Tram"


def test_facts_in_long_documents_are_found_quickly_once_they_are_known() -> None:
    page = "\n\n".join(f"# Dam {i}\n\n{DAM.replace('Orla', f'Orla{i}')} Nora Vance designed it." for i in range(40))
    model = make_model("extractive")
    for question in (
        "When was the Orla7 dam finished?",
        "Who designed the Orla7 dam?",
        "Was the Orla7 dam raised in 1988?",
    ):
        shown = turn_shown(question, [document("d.md", page), document("e.md", page + " ")])
        ask(shown, model)
        assert min(timed(shown, model) for _ in range(7)) < 0.02


def test_confidence_is_lower_where_the_evidence_is_thin() -> None:
    question = "When was the Brae lighthouse lit?"
    one = said(question, LIGHTHOUSE[1].text).confidence
    three = said(question, *(d.text.replace("9 October ", "").replace("October ", "") for d in LIGHTHOUSE)).confidence
    hedged = said(question, "Perhaps the Brae lighthouse was lit in 1884.").confidence
    against = said(question, LIGHTHOUSE[1].text, "The Brae lighthouse was lit in 1891.").confidence
    assert against < one and hedged < one < 0.8 < three
