"""The extractive model in the seats of a competition: whole debates on the example, and each kind of debater's turn."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from parley.agents.model.injection import suspicious
from parley.agents.protocols.competition.extractive_composition import WHO, shortened, source
from parley.agents.protocols.competition.extractive_reading import STYLES, counted, sentences, without_orders
from parley.coordinator.protocols.competition.speech_words import count
from parley.schemas.protocols.competition.format import Pace, seats_of
from parley.schemas.protocols.competition.messages import (
    AnswerBrief,
    Bid,
    BidBrief,
    CaptainBrief,
    ConferBrief,
    Decision,
    Note,
    Personality,
    QuestionBrief,
    SpeechBrief,
)
from parley.schemas.text import squeeze, stands_in
from tests.llm.test_injections import ATTACKS
from tests.protocols.competition.simulate import Ended, example, format_named, run
from tests.protocols.competition.turns import CON_DOCS, MOTION, PRO_DOCS, ask, asked, me, quoting, said, shown
from tests.protocols.consensus.simulate import document

FOUR, OXFORD = format_named("four_stage"), format_named("oxford")
STYLED = dict(
    zip((*seats_of(FOUR, "pro"), *seats_of(FOUR, "con")), [*STYLES, *list(STYLES)[:3]], strict=True)
)  # fmt: skip
PUNCTUAL, NURSE, FASTER, SHOPS = (s.strip() + "." for s in PRO_DOCS[0].text.rstrip(".").split(". "))
GAP, LATE, AFRAID = (s.strip() + "." for s in CON_DOCS[0].text.rstrip(".").split(". "))
CON_SPEECH = quoting("con_1", ("con/audit.md", LATE))


@pytest.fixture(scope="module")
def played() -> Ended:
    motion, documents = example()
    return run(motion, documents, FOUR, styles=STYLED)


@pytest.fixture(scope="module")
def oxford() -> Ended:
    motion, documents = example()
    return run(motion, documents, OXFORD)


def spoken(turn: Any) -> Any:
    return ask(turn).body


def speak(seat: str = "pro_1", *others: Any, act: Any = "free", words: int = 150, style: str = "", **more: Any) -> Any:
    brief = SpeechBrief(
        me=me(seat, style), stage="Free debate", act=act, task="Speak.", words=words,
        direction=more.pop("direction", ""),
    )  # fmt: skip
    given = {"documents": PRO_DOCS if seat.startswith("pro") else CON_DOCS, **more}
    return spoken(shown("speak", brief, seat=seat, others=others, **given))


def first_quote(text: str, of: tuple[str, ...]) -> str:
    return min((q for q in of if q in text), key=text.index)


# ---------------------------------------------------------------- whole debates


def test_a_whole_competition_is_played_within_its_rules(played: Ended) -> None:
    assert played.result.stop.reason == "played" and played.result.status == "finished"
    assert all(s.attempt == 1 for s in played.shown), "every reply passed the moderator's checks at once"
    outcome = played.result.outcome
    assert outcome["complete"] and outcome["winner"] in ("pro", "con", "draw") and outcome["best"]
    assert not outcome["fines"] and not outcome["violations"] and not outcome["unscored"] and not outcome["silent"]
    assert not any(s.overtime for s in played.speeches) and len(played.speeches) > 20
    free = Counter(s.seat for s in played.speeches if s.act == "free")
    assert set(free) == set(STYLED), "everybody has spoken in the free debate"


def test_the_same_competition_twice(played: Ended) -> None:
    motion, documents = example()
    assert run(motion, documents, FOUR, styles=STYLED).log == played.log


def test_who_speaks_quotes_what_the_seat_holds_and_says_that_no_model_is_at_work(played: Ended) -> None:
    quoted = 0
    for kind in ("speak", "answer"):
        for turn, body in played.of(kind):
            held = {d.name: d.text for d in turn.documents}
            assert all(stands_in(c.quote, held[c.document]) and c.quote in squeeze(body.text) for c in body.citations)
            assert WHO in body.text or turn.brief.words < 40
            quoted += len(body.citations)
    assert quoted > 60
    assert all(WHO in note.text and note.text.startswith(f"{turn.seat}:") for turn, note in played.of("confer"))
    for kind in ("summarize", "review"):
        assert all("no language model" in body.text for _, body in played.of(kind))
    assert all("no language model" in body.comment for _, body in played.of("score"))


def test_a_team_repeats_itself_only_when_nothing_else_is_left(played: Ended) -> None:
    for team in ("pro", "con"):
        cited = [c.quote for s in played.speeches if s.seat.startswith(team) for c in s.citations]
        first_again = next((i for i, q in enumerate(cited) if q in cited[:i]), len(cited))
        assert first_again >= 20, "the example has so many sentences for each side"
        assert len(set(cited)) - len(set(cited[:first_again])) <= 6


def test_what_a_team_confers_is_shown_to_that_team_alone(played: Ended) -> None:
    for team, rival in (("pro", "con"), ("con", "pro")):
        notes = [n.text for t, n in played.of("confer") if t.seat.startswith(rival)]
        mine = [t for t in played.shown if t.seat.startswith(team) or t.seat == "judge"]
        bodies = "".join(str(o.body) for t in mine for o in t.others)
        assert notes and mine and not any(n in bodies for n in notes)


def test_a_teams_folder_is_held_by_all_its_seats_and_nobody_else(played: Ended) -> None:
    names = {t.seat: {d.name for d in t.documents} for t in played.shown}
    assert {"pro/trial-report.md", "pro/interviews.md"} <= names["pro_4"] == names["pro_1"]
    assert {n.split("/")[0] for n in names["con_2"]} == {"con", "city-survey.md", "other-cities.md"}
    assert names["judge"] == set()


def test_another_format_with_bids_and_votes(oxford: Ended) -> None:
    outcome = oxford.result.outcome
    assert oxford.result.stop.reason == "played" and all(s.attempt == 1 for s in oxford.shown)
    before, after = (set(v["ballots"].values()) for v in outcome["votes"])
    assert before == {"undecided"} and len(after) > 1, "not every seat listens for the same"
    assert outcome["decided_by"] == "votes" and set(outcome["swing"]) == {"pro", "con"}
    assert len(oxford.of("bid")) >= 8 and any(b.wants for _, b in oxford.of("bid"))


def test_without_documents_it_says_so() -> None:
    ended = run(MOTION, (), OXFORD)
    assert all(s.attempt == 1 for s in ended.shown) and ended.result.stop.reason == "played"
    opening = next(s for s in ended.speeches if s.seat == "pro_1")
    assert "We hold no document that speaks for our side" in opening.text and not opening.citations


@pytest.mark.parametrize("motion", ["本院将禁止学校使用手机。", "Этот дом отменил бы экзамены.", "?", "x " * 500])
def test_any_motion_gives_replies_that_the_machine_takes(motion: str) -> None:
    held = [
        document("a.md", "学校的手机应当禁止。老师说课堂上的手机是问题。" * 3),
        document("con/b.md", "Экзамены нужны всем нам, говорят учителя."),
    ]
    ended = run(motion, held, FOUR)
    assert all(s.attempt == 1 for s in ended.shown) and not any(s.overtime for s in ended.speeches)


# ---------------------------------------------------------------- choosing


def test_the_last_speech_of_the_other_side_is_met_with_what_is_nearest_to_it() -> None:
    body = speak("pro_1", CON_SPEECH)
    assert "late on half of its trips" in body.text and first_quote(body.text, (PUNCTUAL, NURSE, FASTER)) == PUNCTUAL
    other = speak("pro_1", quoting("con_1", ("con/audit.md", AFRAID.replace("trip", "child"))))
    assert first_quote(other.text, (PUNCTUAL, NURSE, FASTER, SHOPS)) != PUNCTUAL


def test_what_a_mate_has_said_is_not_said_again_while_other_sentences_are_left() -> None:
    mate = quoting("pro_2", ("pro/trial.md", PUNCTUAL), ("pro/trial.md", FASTER))
    assert PUNCTUAL in speak("pro_1", CON_SPEECH).text
    body = speak("pro_1", CON_SPEECH, mate, CON_SPEECH)
    assert not {PUNCTUAL, FASTER} & {c.quote for c in body.citations} and body.citations
    everything = quoting("pro_2", *(("pro/trial.md", q) for q in (PUNCTUAL, NURSE, FASTER, SHOPS)))
    again = speak("pro_1", everything, CON_SPEECH, documents=PRO_DOCS[:1])
    assert again.citations, "where nothing else is left, it is said again"


def test_the_captains_direction_and_the_teams_notes_steer_the_speech() -> None:
    def first(*posts: Any) -> str:
        return first_quote(speak("pro_3", *posts, documents=PRO_DOCS[:1]).text, (PUNCTUAL, NURSE, FASTER, SHOPS))

    toward = "Speak of shops, bread and books."
    directed = speak("pro_3", documents=PRO_DOCS[:1], direction=toward)
    assert first_quote(directed.text, (PUNCTUAL, NURSE, FASTER, SHOPS)) == SHOPS
    assert first(Decision(speaker="pro_3", direction=toward)) != SHOPS, "one for another speech"
    plain = first()
    assert first(Note(text=f"pro_2: I take “{plain}”")) != plain, "it is left to the mate who means to say it"
    assert first(Note(text=f"pro_3: I take “{SHOPS}”")) in (SHOPS, plain)


@pytest.mark.parametrize(
    ("style", "quote", "words"),
    [
        ("data_driven", PUNCTUAL, "The record says"),
        ("emotional", NURSE, "Think of this"),
        ("logical", FASTER, "We begin with a premise"),
    ],
)
def test_a_personality_prefers_its_kind_of_sentence(style: str, quote: str, words: str) -> None:
    body = speak("pro_1", act="speech", style=style, documents=PRO_DOCS[:1], words=750)
    assert first_quote(body.text, (PUNCTUAL, NURSE, FASTER, SHOPS)) == quote and words in body.text


def test_the_aggressive_press_and_the_diplomatic_grant_first() -> None:
    two = quoting("con_1", ("con/audit.md", LATE), ("con/audit.md", GAP.replace("trams", "bread")))
    plain, hard, mild = (speak("pro_1", two, style=s) for s in ("", "aggressive", "diplomatic"))
    assert hard.text.startswith("Hold them to") and hard.text.count("Hold them to") == 2
    assert mild.text.startswith("We grant them") and mild.text.count("We grant them") == 1
    assert "The other side says" in plain.text


def test_a_personality_of_ones_own_is_read_by_its_words() -> None:
    told = Personality(name="Counting", characteristics="Always numbers, statistics and the measured figure.")
    own = msgspec.structs.replace(me("pro_1"), personality=told)
    given = SpeechBrief(me=own, stage="S", act="speech", task="Speak.", words=300)
    assert "The record says" in spoken(shown("speak", given, documents=PRO_DOCS)).text


def test_a_motion_against_something_turns_praise_round() -> None:
    shared = [
        document(
            "facts.md", "Cars are reliable and comfortable in the rain. Cars are dangerous and expensive in the city."
        )
    ]
    motion = "This house would ban cars from the city."
    pro = speak("pro_1", act="speech", documents=shared, question=motion)
    con = speak("con_1", act="speech", documents=shared, question=motion)
    assert [c.quote for c in pro.citations] == ["Cars are dangerous and expensive in the city."]
    assert [c.quote for c in con.citations] == ["Cars are reliable and comfortable in the rain."]


@pytest.mark.parametrize("act", ["speech", "free", "summary", "closing"])
@pytest.mark.parametrize("words", [10, 13, 25, 39, 40, 60, 150])
def test_every_speech_keeps_to_its_words(act: Any, words: int) -> None:
    crossed = [asked("con_2", "Is the free bus late?"), quoting("pro_2", ("pro/trial.md", NURSE), act="answer")]
    body = speak("pro_1", CON_SPEECH, *crossed, act=act, words=words)
    assert body.text.strip() and count(body.text, Pace()) <= words


# ---------------------------------------------------------------- cross-examination


def question_of(words: int = 125, least: int = 3, others: Any = (CON_SPEECH,), **more: Any) -> Any:
    brief = QuestionBrief(me=me("pro_2"), stage="S", answerers=("con_2", "con_3"), least=least, words=words, **more)
    return spoken(shown("question", brief, seat="pro_2", others=others, documents=PRO_DOCS))


def test_questions_take_hold_of_what_the_other_side_said() -> None:
    both = quoting("con_1", ("con/audit.md", LATE), ("con/audit.md", GAP), ("con/audit.md", AFRAID))
    q = question_of(others=(both,))
    assert len(q.questions) == 3 == len(set(q.questions)) and q.answerer == "con_2"
    assert all(x.endswith("?") and x.count("?") == 1 for x in q.questions)
    assert "The free tram was late on half of its trips" in "".join(q.questions)
    later = question_of(others=(both, asked("pro_2", *q.questions), said("con_2", "It was so.", "answer")))
    assert later.answerer == "con_3", "who has answered less is asked"


@pytest.mark.parametrize("words", [10, 30, 60, 125])
@pytest.mark.parametrize("least", [1, 3, 5])
def test_questions_are_as_many_as_are_wanted_within_the_words_where_they_can_be(words: int, least: int) -> None:
    q = question_of(words, least)
    assert len(q.questions) == least and all(x.endswith("?") for x in q.questions)
    assert count("\n".join(q.questions), Pace()) <= words


def test_answers_take_each_question_and_ask_nothing_back() -> None:
    questions = ("You say “the free tram is punctual”: for whom?", "How fast is the free bus at the door of a stop?")
    brief = AnswerBrief(me=me("pro_2"), stage="S", questions=questions, words=250)
    turn = shown(
        "answer", brief, seat="pro_2", others=[asked("con_2", *questions, answerer="pro_2")], documents=PRO_DOCS
    )
    text = spoken(turn).text
    assert "?" not in text and "first question, on " in text and "second question, on " in text
    first, second = text.split("To your second question")
    assert "punctual" in first and FASTER in second
    short = AnswerBrief(me=me("pro_2"), stage="S", questions=questions * 5, words=40)
    body = spoken(shown("answer", short, seat="pro_2", documents=PRO_DOCS))
    assert count(body.text, Pace()) <= 40


def test_the_summary_takes_up_what_was_asked_and_answered() -> None:
    crossed = [
        asked("pro_2", "You say “the free tram was late”: how late?"),
        quoting("con_2", ("con/audit.md", AFRAID), act="answer"),
        asked("con_2", "Who pays for the bread?"),
        quoting("pro_2", ("pro/trial.md", SHOPS), act="answer"),
    ]
    text = speak("pro_1", CON_SPEECH, *crossed, act="summary", words=500).text
    assert "We asked about “the free tram was late”, and they answered “A driver of a free bus" in text
    assert "They asked about “Who pays for the bread”, and we answered “Shops on the tram lines" in text


# ---------------------------------------------------------------- captain and bids


def decide(*others: Any, **more: Any) -> Decision:
    given: dict[str, Any] = {
        "spoken": {"pro_1": 1, "pro_2": 0, "pro_3": 0}, "unspoken": ("pro_2", "pro_3"),
        "may": ("pro_2", "pro_3"), "seconds_left": 100.0, "words": 150, **more,
    }  # fmt: skip
    brief = CaptainBrief(me=me("pro_1"), stage="S", **given)
    decision: Decision = spoken(shown("captain", brief, others=others, documents=PRO_DOCS))
    assert decision.speaker in given["may"]
    return decision


def test_the_captain_names_who_has_not_spoken_then_who_bids_then_whose_notes_bear_on_the_last_speech() -> None:
    assert decide(CON_SPEECH).speaker == "pro_2"
    everybody = {"may": ("pro_1", "pro_2", "pro_3"), "unspoken": ("pro_3",)}
    assert decide(CON_SPEECH, **everybody).speaker == "pro_3"
    notes = (
        Note(text="pro_2: I take the bread."),
        Note(text="pro_3: I answer the crowds and late trips, half of them."),
    )
    assert decide(CON_SPEECH, *notes).speaker == "pro_3"
    keen = {"pro_2": Bid(wants=True, urgency=0.9, point="bread"), "pro_3": Bid(wants=True, urgency=0.3, point="late")}
    assert decide(CON_SPEECH, *notes, bids=keen).speaker == "pro_2"
    assert decide(CON_SPEECH, *notes, bids={**keen, "pro_2": Bid(wants=False, urgency=0.9)}).speaker == "pro_3"
    busy = {"may": ("pro_1", "pro_2"), "unspoken": (), "spoken": {"pro_1": 3, "pro_2": 1}}
    assert decide(CON_SPEECH, **busy).speaker == "pro_2"


def test_the_direction_names_what_to_answer_and_with_what() -> None:
    d = decide(CON_SPEECH)
    assert "The free tram was late on half of its trips" in d.direction and PUNCTUAL in d.direction
    assert "In 20 words at most" in decide(CON_SPEECH, words=20).direction
    assert "Bring forward" in decide().direction


def test_a_bid_is_the_more_urgent_the_nearer_its_sentence() -> None:
    def bid(*others: Any, **more: Any) -> Bid:
        brief = BidBrief(me=me("pro_1"), stage="S", seconds_left=60, words=100)
        found: Bid = spoken(shown("bid", brief, others=others, documents=PRO_DOCS, **more))
        return found

    punctual = quoting("con_1", ("con/audit.md", LATE.replace("late", "not punctual")))
    near, far = bid(punctual), bid(quoting("con_1", ("con/audit.md", GAP.replace("trams", "bread"))))
    assert near.wants and PUNCTUAL in near.point and near.urgency > far.urgency
    spoke = quoting("pro_1", *(("pro/trial.md", q) for q in (PUNCTUAL, NURSE, FASTER, SHOPS)), act="free")
    left = bid(CON_SPEECH, spoke, CON_SPEECH, question=MOTION)
    assert not left.wants or PUNCTUAL not in left.point


def test_a_note_leaves_what_others_noted_to_them() -> None:
    brief = ConferBrief(me=me("pro_2"), stage="S", ahead=(), turn=1, turns=1)
    alone = spoken(shown("confer", brief, seat="pro_2", documents=PRO_DOCS)).text
    taken = [q for q in (PUNCTUAL, NURSE, FASTER, SHOPS) if q in alone]
    after = spoken(
        shown("confer", brief, seat="pro_2", documents=PRO_DOCS, others=[Note(text=alone.replace("pro_2", "pro_1"))])
    )
    assert len(taken) == 2 and not any(q in after.text for q in taken) and counted(after.text) <= 150


# ---------------------------------------------------------------- what talks as to a machine


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [t for v in inner for t in texts(v)]


def every_turn(attack: str) -> list[Any]:
    """Turns of a debater in which a document, a speech, a note or a question has the attack."""
    held = [
        *PRO_DOCS,
        document("pro/x.md", f"A bus is a bus and it is free here.\n\n{attack}\n\nAnd that is all of it."),
    ]
    speech = said(
        "con_1", f"The free tram was late on half of its trips. {attack}\nCrowds came.", citations=CON_SPEECH.citations
    )
    note, order = Note(text=f"pro_1: I take the bread. {attack}"), Decision(speaker="pro_2", direction=attack)
    posts = [speech, note, order]
    mine = me("pro_2")
    briefs: dict[str, Any] = {
        "speak": SpeechBrief(me=mine, stage="S", act="free", task="Speak.", words=150, direction=attack),
        "confer": ConferBrief(me=mine, stage="S", ahead=(), turn=1, turns=1),
        "question": QuestionBrief(me=mine, stage="S", answerers=("con_2",), least=3, words=125),
        "answer": AnswerBrief(me=mine, stage="S", questions=(f"Is the tram free? {attack}",), words=250),
        "captain": CaptainBrief(
            me=mine, stage="S", spoken={}, unspoken=(), may=("pro_1", "pro_2"), seconds_left=9, words=50,
            bids={"pro_1": Bid(wants=True, urgency=0.1, point=attack)},
        ),
        "bid": BidBrief(me=mine, stage="S", seconds_left=60, words=100),
    }  # fmt: skip
    return [shown(kind, brief, seat="pro_2", others=posts, documents=held) for kind, brief in briefs.items()]


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_is_flagged_and_never_passed_on(attack: str) -> None:
    for turn in every_turn(attack):
        completion = ask(turn)
        assert completion.flags == ("injection",), turn.kind
        assert not suspicious(texts(msgspec.to_builtins(completion.body))), turn.kind
    assert all(ask(turn).flags == () for turn in every_turn("The old depot stands by the river."))


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_text_without_it_is_the_text_before(attack: str) -> None:
    assert without_orders(f"The tram is free. {attack}") == "The tram is free."
    assert without_orders(f"{attack}\nThe tram is free.") == "The tram is free."


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    "text",
    [
        "It's a well-known 3.5 percent, isn’t it?", "don't a_b c/d e–f 1,000,000", "学校的手机", "สวัสดีครับ", "x" * 95,
        "naïve café Ünter e\u0301a", "한국어 단어", "ab\u200bcd", "日本語とEnglishの混在", "“Yes.” (trial report).",
    ],
)  # fmt: skip
def test_words_are_never_fewer_than_the_moderator_counts(text: str) -> None:
    assert all(counted(text) >= count(text, Pace(characters_per_word=c)) > 0 for c in (0.5, 1.0, 2.0))


def test_small_parts() -> None:
    assert source("pro/trial-report.md") == "trial report" and source("a_b") == "a b" and source("“.md") == "a document"
    assert (
        shortened("One two three.", 3) == "One two three" and shortened("One two three, four.", 3) == "One two three…"
    )
    assert sentences("He says “No. Never.” Then he goes. So?") == ["He says “No. Never.”", "Then he goes.", "So?"]
