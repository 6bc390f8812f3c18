"""What a follow-up is given of the session before it."""

from pathlib import Path

import pytest

import parley
from parley.client import follow_up
from parley.client.opening import opening_of
from parley.client.records import Record
from parley.schemas.citation import Citation
from parley.schemas.session import EVERYBODY, Document
from parley.schemas.wire import encode
from tests.parley.support import QUESTION, TEXTS
from tests.protocols.consensus.play import Play, document, says
from tests.protocols.critic.play import Play as CriticPlay


def finished(reasoning: str = "because") -> Play:
    quoted = says(
        "Vilnius", reasoning=reasoning, citations=(Citation(document="a.md", quote="Vilnius is the capital"),)
    )
    play = Play({"threshold": 60}, documents=[document("a.md", "Vilnius is the capital of Lithuania.")])
    play.round(55, quoted, says("Vilnius"), says("Kaunas"))
    play.sign("panelist_3", "neither")
    return play


def page(play: Play | CriticPlay) -> Document:
    return follow_up.document(Record(sid="s1", entries=tuple(encode(e).decode() for e in play.entries)))


def test_question_answer_minority_and_quotations_are_there() -> None:
    found = page(finished())
    assert (found.name, found.holders) == ("previous/s1.md", (EVERYBODY,))
    for words in (
        f"Question: {QUESTION}", "Answer: Vilnius", "Converged: yes", "A minority held: Kaunas. Its reasoning: because",
        "- a.md: “Vilnius is the capital”",
    ):  # fmt: skip
        assert words in found.text


def test_of_the_critic_protocol_its_objections() -> None:
    play = CriticPlay({"threshold": 40, "min_rounds": 1})
    play.round("It burns.", 52)
    play.verdict()
    text = page(play).text
    assert "Objection 1 (open): It burns." in text and "Answer: Tape" in text


def test_it_is_capped_and_says_so() -> None:
    found = page(finished("x" * 3_000 + "\x1b[2J"))
    assert len(found.text) <= follow_up.MOST
    assert "\x1b" not in found.text
    play = CriticPlay({"threshold": 100, "round_limit": 50, "min_rounds": 1})
    for n in range(50):
        play.round(f"objection {n} " + "y" * 1_500)
    play.verdict()
    text = page(play).text
    assert len(text) == follow_up.MOST and text.endswith("(cut here)\n")


def test_an_open_session_is_not_followed_up() -> None:
    with pytest.raises(parley.BadInput, match="session s1 is not finished; watch it, or cancel it first"):
        page(Play())


def test_everybody_who_reads_holds_it() -> None:
    play = Play(documents=[document("previous/s0.md", "t", EVERYBODY), document("own.md", "u", "panelist_2")])
    holders = {d.name: d.holders for d in play.session.opened.documents}
    assert holders == {"previous/s0.md": ("panelist_1", "panelist_2", "panelist_3"), "own.md": ("panelist_2",)}


@pytest.mark.slow
async def test_the_library_goes_on_from_a_session(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    async with parley.local(protocol="consensus") as p:
        first = await p.ask(QUESTION, evidence=tmp_path)
        session = await p.start("Which city is it?", evidence=tmp_path, continues=first.session)
        await session.result()
        (entry,) = (await p.client.log(session.sid))[:1]
        assert f'"continues":"{first.session}"' in entry and f"previous/{first.session}.md" in entry
        await p.client.erase(first.session)
        with pytest.raises(parley.BadInput, match="its record is gone"):
            await p.start("q", continues=first.session)
        with pytest.raises(parley.BadInput, match="continues"):
            opening_of("q", {"continues": "../x"}, door="python")
