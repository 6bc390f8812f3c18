"""The model that is a person: what is shown, the form of every reply, faults in words, the clock."""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from parley.agents.context import Other, Shown
from parley.agents.models.human import Human
from parley.agents.prompts.prompting import build
from parley.agents.prompts.task_instructions import task_instructions
from parley.agents.protocols import KITS, kind_of
from parley.agents.turn_kinds.blank import blank
from parley.schemas.protocols.competition.messages import (
    Bid,
    Decision,
    Identity,
    QuestionBrief,
    Questions,
    SpeechBrief,
    Spoken,
)
from parley.schemas.protocols.consensus import BallotBrief, Offered, Signature, SignBrief
from parley.schemas.session import Document
from parley.schemas.voting import ApprovalBallot, RankBallot, Ruling, ScoreBallot
from parley.schemas.wire import decode, encode
from parley.web.page.form_fields import fields_of

SECOND = 1_000_000_000
ME = Identity(team="pro", team_name="Pro", position=1, stance="for it")
BRIEF = SpeechBrief(me=ME, stage="one", act="speech", task="open the debate", words=20)


class Script:
    """A terminal at which a script types; each line is asked for by name."""

    def __init__(self, lines: Iterable[str | None] = ()) -> None:
        self.said = ""
        self.left = asyncio.Event()
        self.waits = asyncio.Event()
        """Set when a line is wanted and none is left."""
        self._lines = list(lines)

    def say(self, *lines: str) -> None:
        self.said += "".join(f"{text}\n" for text in lines)

    def begin(self) -> None:
        self.said += "<begin>\n"

    async def line(self, prompt: str) -> str | None:
        self.said += prompt
        if not self._lines:
            self.waits.set()
            await asyncio.get_running_loop().create_future()
        return self._lines.pop(0)

    def leave(self) -> None:
        self.left.set()


def shown(reply: Any = Spoken, brief: Any = BRIEF, **more: Any) -> Shown:
    given = {
        "session": "s1", "protocol": "competition", "question": "This house would ban it.", "seat": "pro_1",
        "role": "pro", "kind": "speak", "round": 1, "brief": brief, "reply": reply,
        "deadline_ns": time.time_ns() + 300 * SECOND,
    }  # fmt: skip
    return Shown(**{**given, **more})


def brief_of(kind: str, protocol: str = "competition", **more: Any) -> Any:
    """The least that a turn of this kind is asked with."""
    return msgspec.structs.replace(blank(protocol, kind, kind_of(protocol, kind), documents=False).brief, **more)


def silent(_text: str) -> None:
    """Nobody watches."""


async def fills(lines: Iterable[str | None], asked: Shown) -> tuple[Any, str]:
    """(the reply, what was said)."""
    script = Script(lines)
    completion = await Human(script).reply(asked, silent)
    assert (completion.usage.calls, completion.usage.cost_usd) == (0, 0)
    return decode(encode(completion.body), asked.reply), script.said


async def test_a_speech_is_typed_with_words_and_time_told() -> None:
    heard: list[str] = []
    script = Script(["We would ban it.", "Nothing helps.", ".", ""])
    completion = await Human(script).reply(shown(), heard.append)
    assert completion.body == Spoken(text="We would ban it.\nNothing helps.")
    assert heard == ["We would ban it.\n", "Nothing helps.\n"]
    assert "[4:59, 4 of 20 words]" in script.said and "[4:59, 6 of 20 words]" in script.said
    assert "open the debate" in script.said and "This house would ban it." in script.said


async def test_what_was_shown_is_not_shown_again_and_the_own_team_stands_apart() -> None:
    post = Other(post=1, kind="speech", round=1, body={"text": "theirs"})
    note = Other(post=2, kind="note", round=1, channel="team_pro", body={"text": "our plan"})
    document = Document(id="d", name="a.md", text="Vilnius.")
    script = Script(["x", ".", ""] * 2)
    human = Human(script)
    await human.reply(shown(others=(note, post), documents=(document,)), silent)
    first, script.said = script.said, ""
    await human.reply(shown(others=(note, post), documents=(document,), round=2), silent)
    assert first.index("theirs") < first.index("--- not in public: team_pro ---") < first.index("our plan")
    assert "Document a.md\n  Vilnius." in first
    assert "theirs" not in script.said and "our plan" not in script.said
    assert "You also hold, shown before: a.md" in script.said


async def test_what_does_not_fit_is_asked_again_with_the_fault_and_what_was_typed_is_kept() -> None:
    found, said = await fills(["perhaps", "y", "much", "7", "a point", "", "0.7", ""], shown(Bid))
    assert "wants: got 'perhaps', expected y or n" in said and "urgency: got 'much', expected a number" in said
    assert found == Bid(wants=True, urgency=0.7, point="a point")
    assert "That cannot be sent: urgency: got 7.0, allowed is 0 to 1" in said
    assert said.count("empty keeps it") == 3


async def test_a_seat_is_chosen_on_a_line_of_its_own_and_is_no_word_of_the_speech() -> None:
    brief = QuestionBrief(me=ME, stage="S", answerers=("con_1", "con_2"), least=1, words=30)
    wanted = shown(Questions, kind="question", brief=brief)
    found, said = await fills(["con_7", "", "con_2", "Who pays?", ""], wanted)
    assert found == Questions(answerer="con_2", questions=("Who pays?",))
    assert said.count("answerer (con_1 or con_2)") == 3 and "answerer: got 'con_7', expected con_1 or con_2" in said
    assert "of 30 words" not in said


async def test_the_moderators_fault_is_shown_and_an_empty_line_keeps_what_was_sent() -> None:
    script = Script(["nobody", "Who pays?", "When?", "How?", "", "con_1", ""])
    human = Human(script)
    asked = shown(Questions, brief_of("question", answerers=()), kind="question")
    await human.reply(asked, silent)
    error = "answerer: got 'nobody', allowed is con_1"
    again = await human.reply(msgspec.structs.replace(asked, attempt=2, error=error), silent)
    assert decode(again.json(), Questions) == Questions(answerer="con_1", questions=("Who pays?", "When?", "How?"))
    assert "Your last reply was not taken: answerer: got 'nobody', allowed is con_1" in script.said


async def test_a_text_ends_with_ctrl_d_and_a_second_one_leaves() -> None:
    found, _ = await fills(["pro_2", "Attack.", None], shown(Decision, brief_of("captain", may=()), kind="captain"))
    assert found == Decision(speaker="pro_2", direction="Attack.")
    script = Script([None, None])
    replying = asyncio.create_task(Human(script).reply(shown(), silent))
    await asyncio.wait_for(script.left.wait(), 5.0)
    assert not replying.done(), "who left sends nothing"
    replying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await replying


@pytest.mark.parametrize(
    ("left_s", "said"), [(300, "This turn is no longer needed."), (0, "The time for this turn is over.")]
)
async def test_an_end_from_outside_is_said(left_s: int, said: str) -> None:
    script = Script(["I was about to"])
    asked = shown(deadline_ns=time.time_ns() + left_s * SECOND)
    replying = asyncio.create_task(Human(script).reply(asked, silent))
    await asyncio.wait_for(script.waits.wait(), 5.0)
    replying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await replying
    assert said in script.said
    assert asyncio.all_tasks() == {asyncio.current_task()}, "no clock ticks on"


FORMS = sorted((p, k) for p, kit in KITS.items() for k, kind in kit.kinds.items() if not kind.computed)


@pytest.mark.parametrize(("protocol", "kind"), FORMS)
def test_a_person_and_a_model_are_told_the_rules_of_a_turn_by_one_text(protocol: str, kind: str) -> None:
    asked = blank(protocol, kind, kind_of(protocol, kind), documents=True)
    rules = task_instructions(asked, "")
    prompt = "\n".join(m["content"] for m in build(asked).messages)
    assert (rules.fields or (protocol, kind) == ("compound", "split")) and [
        part for part in rules.text.split("\n\n") if part not in prompt
    ] == []
    assert [what for what in rules.fields.values() if what not in prompt] == []
    assert "JSON" not in rules.text and "{{" not in rules.text


async def test_who_signs_sees_the_sentences_beside_the_names_that_stand_for_them() -> None:
    brief = SignBrief(yours="tea", first=Offered(sentence="It is coffee."), second=Offered(sentence="It is tea."))
    reply, said = await fills(["second", "", "only hot"], shown(Signature, brief, kind="sign", protocol="consensus"))
    assert reply == Signature(states="second", reservation="only hot")
    assert "  first: It is coffee.\n  second: It is tea.\n  both\n  neither\n" in said
    assert "states (first or second or both or neither)" in said
    alone = msgspec.structs.replace(brief, second=None)
    reply, said = await fills(["second", "first", "", ""], shown(Signature, alone, kind="sign", protocol="consensus"))
    assert reply.states == "first" and "states: got 'second', expected first or neither" in said


BALLOTS: dict[str, tuple[list[str | None], msgspec.Struct]] = {
    "rank": (["warm", "2", "1", ""], RankBallot(reason="warm", order=(2, 1))),
    "approve": (["both are cold", ""], ApprovalBallot(reason="both are cold")),
    "score": (["", "3", "9.5", ""], ScoreBallot(scores=(3.0, 9.5))),
    "judge": (["both", ".", "It is warm.", ".", "3", "so warm", ".", "2"],
              Ruling(reasoning="both", because="It is warm.", post=3, quote="so warm", choice=2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", BALLOTS)
async def test_a_ballot_is_filled_in_by_numbers_beside_the_answers(kind: str) -> None:
    """Also on the page: each field is asked for, and the answers stand in what the moderator asks."""
    lines, wanted = BALLOTS[kind]
    brief = BallotBrief(choices=(Offered(sentence="It is tea."), Offered(sentence="It is coffee.")))
    turn = shown(type(wanted), brief, kind=kind, protocol="consensus")
    reply, said = await fills(lines, turn)
    assert reply == wanted
    assert "number: 1\n    sentence: It is tea." in said and "number: 2\n    sentence: It is coffee." in said
    assert [f.name for f in fields_of(turn)] == list(type(wanted).__struct_fields__)
