"""A debater looks things up before it answers: what tools returned is among the passages from the next round on."""

from typing import Any

import msgspec
import pytest

from parley.agents.context import Other, Shown
from parley.agents.prompts.prompting import build
from parley.agents.tools.allow import LOOKING, load
from parley.agents.worker_model import WorkerModel
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.coordinator.table import Inadmissible
from parley.schemas.protocols.maci.messages import Argument, Blind, BlindBrief, Passage, Passages, Span
from parley.schemas.session import Document
from parley.schemas.tools import LookUpResult
from parley.schemas.turn import Caps
from tests.client import shown as client
from tests.llm.support import asked
from tests.protocols.maci.play import TEXTS, Play, belief, case, worker, workers
from tests.tools.support import Scripted, use

FOUND = LookUpResult(
    server="web",
    tool="search",
    arguments='{"query": "rash"}',
    text="A rash.\n\nIn dengue platelets are low.\n\nIt itches.",
)
FOR, AGAINST = belief(0.9, 0.1), belief(0.1, 0.9)


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
