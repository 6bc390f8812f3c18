"""What a model is shown, and that a seat's next prompt begins with its last one."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from parley.agents.context import CallResult, PastStep, Shown, ToolLoop, Tools, laid_beside
from parley.agents.prompts.prompting import Prompt, build
from parley.agents.protocols import UnknownKind
from parley.agents.protocols.madp.kinds import STEPS
from parley.agents.show_turn import ContextError, show
from parley.agents.tools.client import Offered
from parley.schemas.protocols.consensus import PanelBrief, Position
from parley.schemas.protocols.maci.messages import BlindBrief, Span
from parley.schemas.protocols.madp.work import Finding, WorkBrief
from parley.schemas.routing import Message, Task
from parley.schemas.turn import Caps, DocumentRef, ShownPost, Turn, Work
from parley.schemas.wire import Undecodable, raw
from tests.llm.support import POSITION, asked
from tests.protocols.consensus.simulate import document
from tests.protocols.maci.turns import anchor, numbered, ruled, shares
from tests.protocols.maci.turns import shown as debating
from tests.tools.support import SPEC
from tests.tools.support import asked as working
from tests.tools.support import work as work_on_all

DOCUMENT = document("kept/secret-name.md", "Text.", "panelist_1", "panelist_2")


def work(**changes: object) -> Work:
    """A message with one turn that shows two posts and an own one."""
    posts = tuple(
        ShownPost(
            n=n, channel="public", kind="position", round=1,
            body=raw(Position(answer=f"answer {n}", reasoning="r", confidence=0.5)),
        )
        for n in (3, 4, 5)
    )  # fmt: skip
    turn = {
        "id": "1-0", "token": "t", "seat": "panelist_1", "role": "panelist", "kind": "revise",
        "brief": raw(PanelBrief(iteration=2, round_limit=5)), "sees": (5, 3), "own": 4,
        "documents": (DocumentRef(id=DOCUMENT.id, name="turn/name.md"),), "deadline_ns": 9, "caps": Caps(),
    }  # fmt: skip
    return Work(
        session="s", protocol="consensus", question="Which?", round=2, channel="public", lane="any", decided_ns=1,
        posts=posts, turns=(Turn(**{**turn, **changes}),),  # type: ignore[arg-type]
    )  # fmt: skip


def test_others_come_in_the_turns_order_without_names() -> None:
    w = work()
    shown = show(w, w.turns[0], [DOCUMENT])
    assert [(o.label, o.post, o.body.answer) for o in shown.others] == [("", 5, "answer 5"), ("", 3, "answer 3")]
    assert shown.own.answer == "answer 4"
    assert shown.brief == PanelBrief(iteration=2, round_limit=5) and shown.reply is Position
    assert not {"panelist_2", "panelist_3"} & set(repr(shown.others).split("'"))


def test_documents_come_under_the_turns_names_and_without_holders() -> None:
    w = work()
    (shown,) = show(w, w.turns[0], [document("x", "other"), DOCUMENT]).documents
    assert (shown.name, shown.text, shown.holders) == ("turn/name.md", "Text.", ())


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ContextError, match=r"turn/name\.md"):
        show(work(), work().turns[0], [])
    with pytest.raises(ContextError, match="post 77"):
        show(work(), work(sees=(77,)).turns[0], [DOCUMENT])
    with pytest.raises(UnknownKind, match=r"'juggle'.*answer, approve, compare"):
        show(work(), work(kind="juggle").turns[0], [DOCUMENT])
    with pytest.raises(Undecodable, match="PanelBrief"):
        show(work(), work(brief=raw({"iteration": "two"})).turns[0], [DOCUMENT])


EDGE = "0123456789abcdef"
HELD = [document("d.md", "A4 was measured on three printers. " * 40)]


def panelist() -> list[Shown]:
    """It answers, and revises twice."""
    positions = [Position(**{**POSITION, "reasoning": f"Reason {i}."}) for i in range(4)]  # type: ignore[arg-type]
    return [
        asked(HELD),
        asked(HELD, kind="revise", round_=2, own=positions[0], others=positions[1:3]),
        msgspec.structs.replace(
            asked(HELD, kind="revise", round_=3, own=positions[1], others=[positions[3], positions[0]]),
            brief=PanelBrief(iteration=3, round_limit=5),
        ),
    ]


def debater() -> list[Shown]:
    """It answers blind, and argues over a record that grows."""
    passages = numbered(("trees.md", "About bark. " * 40))
    record = [passages, *(ruled(i, Span(passage="p1", quote="About bark"), claim=f"Claim {i}.") for i in (1, 2, 3))]
    belief = shares(Ash=0.7, Birch=0.3)
    return [
        debating("blind", BlindBrief(outcomes=("Ash", "Birch")), others=record[:1]),
        debating("argue", anchor(("Ash", "Birch"), belief), others=record[:1]),
        debating("argue", anchor(("Ash", "Birch"), belief, cl=0.2), others=record[:3], round_=2),
        debating("argue", anchor(("Ash", "Birch"), shares(Ash=1.0), cl=0.2), others=record, round_=3),
    ]


def expert() -> list[Shown]:
    """It works in two steps with tools, and works again after a review."""
    task = Task(prompt="Fix the greeting", prior_conversation=(Message(role="user", text="It is rude."),))
    beside = laid_beside("Earlier conversation", {"role": "user", "text": "It is rude."}, "task")
    previous = laid_beside("Your work that was reviewed", "hi", "task", passing=True)
    call = {"server": "files", "tool": "read", "arguments": "{}"}
    asking = msgspec.convert({"outcome": "use_tools", "calls": [call]}, STEPS["work"])
    returned = CallResult(label="Step 1, call 1", request="files.read {}", ended="ok", text="text")
    offered = (Offered(server="files", tool="read", description="", arguments={}),)
    tools = [Tools(offered=offered, calls_left=9 - i, steps_left=5 - i) for i in range(2)]
    begun = ToolLoop(step=STEPS["work"], end=STEPS["work"].ENDS_WITH, tools=tools[0])
    gone_on = msgspec.structs.replace(begun, did=(PastStep(reply=asking, returned=(returned,), tools_after=tools[1]),))
    finding = Finding(severity="major", description="It is rude still.")
    again = WorkBrief(task=task, expert="sre", responsibility="all", findings=(finding,))
    turns = [
        working("work", work_on_all(task=task), others=(beside,), tools=tools[0], steps=begun),
        working("work", work_on_all(task=task), others=(beside,), tools=tools[1], steps=gone_on),
        working("work", again, others=(beside, previous)),
    ]
    return [msgspec.structs.replace(turn, expert=SPEC) for turn in turns]


def text_of(prompt: Prompt) -> str:
    return "".join(m["content"] for m in prompt.messages)


@pytest.mark.parametrize("turns", [panelist, debater, expert], ids=lambda t: t.__name__)
def test_what_lasts_is_the_beginning_of_the_seats_next_prompt(turns: Any) -> None:
    prompts = [build(msgspec.structs.replace(turn, boundary=EDGE)) for turn in turns()]
    for before, after in pairwise(prompts):
        kept = text_of(before)[: before.lasting]
        assert 0 < before.lasting < len(text_of(before)) and text_of(after).startswith(kept)
        assert before.messages[0] == after.messages[0], "the system message says who the seat is, and that alone"


def test_a_step_shows_all_of_the_one_before_it_and_what_came_after() -> None:
    first, second, _ = (build(msgspec.structs.replace(turn, boundary=EDGE)).messages for turn in expert())
    assert second[: len(first)] == first and [m["role"] for m in second[len(first) :]] == ["assistant", "user"]
    assert "Step 1, call 1" in second[-1]["content"] and "Left are 8 calls" in second[-1]["content"]
