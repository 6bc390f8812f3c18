"""What a follow-up is given of the session before it."""

import msgspec
import pytest

import parley
from parley.agents.prompts.prompting import build
from parley.agents.protocols import kind_of
from parley.agents.turn_kinds.blank import blank
from parley.client import follow_up
from parley.client.opening import Offer, opening_of
from parley.client.records import Record
from parley.schemas.session import EVERYBODY, Document, OpenSession, Seat
from parley.schemas.text import Citation
from parley.schemas.wire import encode
from tests.parley.support import QUESTION
from tests.protocols.consensus.play import Play, document, says
from tests.protocols.critic.play import Play as CriticPlay
from tests.protocols.madp.play import SRE, artifact, done
from tests.protocols.madp.play import Play as Task
from tests.support.play import BasePlay


def finished(reasoning: str = "because") -> Play:
    quoted = says(
        "Vilnius", reasoning=reasoning, citations=(Citation(document="a.md", quote="Vilnius is the capital"),)
    )
    play = Play({"threshold": 60}, documents=[document("a.md", "Vilnius is the capital of Lithuania.")])
    play.round(55, quoted, says("Vilnius"), says("Kaunas"))
    play.sign("panelist_3", "neither")
    return play


def page(play: BasePlay) -> Document:
    return follow_up.earlier(record(play)).background[0]


def record(play: BasePlay) -> Record:
    return Record(sid="s1", entries=tuple(encode(e).decode() for e in play.entries))


def test_question_answer_minority_and_quotations_are_there() -> None:
    found = page(finished())
    assert (found.name, found.holders) == ("previous/s1.md", (EVERYBODY,))
    for words in (
        f"Question: {QUESTION}", "Answer: Vilnius", "Converged: yes", "holds “Kaunas” (0.80)\n    because Kaunas",
        "- a.md: “Vilnius is the capital”",
    ):  # fmt: skip
        assert words in found.text


def test_it_is_capped_and_says_so() -> None:
    found = page(finished("x" * 3_000 + "\x1b[2J"))
    assert len(found.text) <= follow_up.MOST
    assert "\x1b" not in found.text
    play = CriticPlay({"threshold": 100, "round_limit": 50, "min_rounds": 1})
    for n in range(50):
        play.round(f"objection {n} " + "y" * 1_500)
    play.verdict()
    text = page(play).text
    assert "Answer: Tape" in text and "open, 1 (weight " in text and "): objection 0 y" in text
    assert len(text) == follow_up.MOST and text.endswith("(cut here)\n")


def test_an_open_session_is_not_followed_up() -> None:
    with pytest.raises(parley.BadInput, match="session s1 is not finished; watch it, or cancel it first"):
        page(Play())


def test_every_seat_holds_the_background_and_nobody_quotes_it() -> None:
    background = msgspec.structs.replace(document("previous/s0.md", "Kaunas is old.", EVERYBODY), background=True)
    play = Play(documents=[background, document("own.md", "u", "panelist_2")])
    opened = play.session.opened
    everybody = ("panelist_1", "panelist_2", "panelist_3", "analyst")
    assert {d.name: d.holders for d in opened.documents} == {"previous/s0.md": everybody, "own.md": ("panelist_2",)}
    assert [d.name for d in opened.evidence] == ["own.md"]
    cited = (Citation(document="previous/s0.md", quote="Kaunas is old."),)
    play.reply("panelist_1", says("Kaunas", citations=cited))
    (again,) = [t for t in play.turns().values() if t.attempt == 2]
    assert "there is no document 'previous/s0.md'" in again.error


def test_the_next_session_has_its_settings_and_documents_unless_it_says_otherwise() -> None:
    before = follow_up.earlier(record(finished()))
    assert before.whole("consensus", {"round_limit": 2}) == {**before.settings, "round_limit": 2}
    assert before.settings["threshold"] == 60 and before.whole("single", {}) == {}
    opening = OpenSession(question="q", protocol="consensus", settings=before.whole("consensus", {}))
    same = before.into(opening)
    assert same.continues == "s1" and [d.name for d in same.documents] == ["a.md", "previous/s1.md"]
    assert same.documents[0].holders == (EVERYBODY,), "each panelist held it"
    changed = before.into(msgspec.structs.replace(opening, documents=(document("a.md", "new"), document("b.md", "b"))))
    assert [(d.name, d.text[:3]) for d in changed.documents[:2]] == [("a.md", "new"), ("b.md", "b")]
    fewer = before.into(msgspec.structs.replace(opening, settings={"panel": 2}))
    assert fewer.documents[0].holders == (), "dealt anew to a panel of another size"


def test_a_saved_panel_says_how_many_sit_in_a_session_that_goes_on() -> None:
    seats = tuple(Seat(seat=f"own_{n}", role="panelist", queue=f"own_{n}") for n in (1, 2))
    analyst = Seat(seat="analyst", role="analyst", queue="analyst")
    offer = Offer(name="own", protocol="consensus", settings={"panel": 2}, seats=(*seats, analyst))
    before = follow_up.earlier(record(finished()))
    assert before.settings["panel"] == 3
    opening = opening_of("q", {}, offer=offer, before=before, door="v1")
    assert opening.settings["panel"] == 2 and opening.seats == offer.seats and opening.settings["threshold"] == 60


def test_a_task_goes_on_from_the_folder_as_it_is_now_and_the_last_diff() -> None:
    play = Task({"folder": "a" * 64, "check": "", "tool_calls": 4}).working()
    play.reply(SRE, done(folder=artifact(1), diff="--- a/api.py\n+++ b/api.py\n-x = 1\n+x = 2\n"))
    play.approve()
    before = follow_up.earlier(record(play))
    assert before.had_folder and not {"folder", "history"} & set(before.settings)
    assert "+x = 2" in before.background[0].text
    assert before.whole("madp", {}, folder=True)["tool_calls"] == 4


def test_what_was_found_before_stands_beside_the_question_and_is_no_document() -> None:
    kind = kind_of("consensus", "answer")
    shown = blank("consensus", "answer", kind, documents=True)
    prompt = build(msgspec.structs.replace(shown, question="And its river?", background="Answer: Vilnius"))
    (said,) = [m["content"] for m in prompt.messages if m["role"] == "user"]
    before, document_at = said.index("Answer: Vilnius"), said.index(" document ")
    assert said.index("And its river?") < said.index("quote nothing of it") < before < document_at
    assert "earlier session" not in build(shown).messages[1]["content"]
