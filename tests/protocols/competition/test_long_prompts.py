"""A debate that has grown too long for a prompt: what gives way, in which order, and who is told."""

from typing import Any

import msgspec

from parley.agents.context import Other, Shown
from parley.agents.prompts.prompting import Prompt, build
from parley.agents.text.tokens import estimate
from parley.schemas.protocols.competition.messages import ConferBrief, Note, StageSummary, SummaryBrief
from parley.schemas.turn import Caps
from tests.llm.test_prompting import edge, text_of
from tests.protocols.competition.turns import me, said, shown
from tests.protocols.consensus.simulate import document

LONG = 3_000
HELD = document("d.md", "d" * 6_000)


def posts(*rounds: tuple[Any, ...], channel: str) -> tuple[Other, ...]:
    """Bodies by rounds, as posts from 1 on; `channel`: of what is no speech."""
    kinds = {Note: "note", StageSummary: "summary"}
    found: list[Other] = []
    for number, bodies in enumerate(rounds, 1):
        for body in bodies:
            kind = kinds.get(type(body), "speech")
            where = "public" if kind == "speech" else channel
            found.append(Other(label="x", post=len(found) + 1, kind=kind, round=number, channel=where, body=body))
    return tuple(found)


def speech(letter: str) -> Any:
    return said("pro_1", letter * LONG)


def judge(tokens: int) -> Prompt:
    """It sums up the third stage; of the first two it has its summaries."""
    others = posts(
        (speech("p"), Note(text="pro_1: " + "m" * 300), StageSummary(text="FIRST")),
        (speech("q"), StageSummary(text="SECOND")),
        (speech("r"),),
        channel="judge_notes",
    )
    turn = shown("summarize", SummaryBrief(stage="Third", totals={}), seat="judge")
    return build(msgspec.structs.replace(turn, others=others, round=3, caps=Caps(input_tokens=tokens)), boundary=edge)


def debater(tokens: int, rounds: int = 3) -> Prompt:
    """It confers before the third stage, with a document and two rounds of notes."""
    bodies = [(speech("pqr"[i]), Note(text="NMO"[i] * LONG)) for i in range(rounds)]
    turn: Shown = shown("confer", ConferBrief(me=me("pro_1"), stage="Third", ahead=(), turn=1, turns=1))
    turn = msgspec.structs.replace(turn, others=posts(*bodies, channel="team_pro"), round=3, documents=(HELD,))
    return build(msgspec.structs.replace(turn, caps=Caps(input_tokens=tokens)), boundary=edge)


def longest(prompt: Prompt, letter: str) -> int:
    """How much of a text of this letter is shown."""
    text, n = text_of(prompt), 0
    while letter * (n + 1) in text:
        n += 1
    return n


def test_a_judges_own_summaries_stand_for_the_oldest_rounds_first() -> None:
    whole = judge(100_000)
    assert whole.flags == () and [longest(whole, x) for x in "pqr"] == [LONG] * 3
    one = judge(whole.input_tokens - 1)
    assert [longest(one, x) for x in "pqr"] == [1, LONG, LONG] or longest(one, "p") < 20 < longest(one, "q")
    assert "m" * 300 not in text_of(one) and "FIRST" in text_of(one) and set(one.flags) == {"cut", "summed_up"}
    assert "in round 1 is left out: your own summary stands for it" in text_of(one)
    both = judge(one.input_tokens - 1)
    assert longest(both, "q") < 20 and longest(both, "r") == LONG and "SECOND" in text_of(both)
    assert "in round 1, 2 is left out" in text_of(both)


def test_a_debaters_old_rounds_then_notes_then_posts_and_its_documents_last() -> None:
    full = debater(100_000)
    assert full.flags == () and longest(full, "d") == 6_000
    seen: list[list[int]] = []
    tokens = full.input_tokens - 1
    while (prompt := debater(tokens)).input_tokens and len(seen) < 40:
        sizes = [longest(prompt, x) for x in "pNqMrOd"]
        if not seen or sizes != seen[-1]:
            seen.append(sizes)
        if longest(prompt, "d") < 6_000:
            break
        tokens -= 100
    first, second = seen[0], seen[1]
    assert first[0] < LONG and first[1] < LONG and first[2:] == [LONG, LONG, LONG, LONG, 6_000], "the first round"
    assert second[2] < LONG and second[3] < LONG and second[4:] == [LONG, LONG, 6_000], "then the second"
    assert seen[2][1] < 20 and seen[2][5] < 20 and seen[2][4] == LONG, "then notes"
    assert all(s[6] == 6_000 for s in seen[:-1]) and seen[-1][4] < LONG, "documents last, when posts are cut too"
    assert "cut_documents" in prompt.flags and "Notes are left out" in text_of(prompt)
    assert estimate(text_of(prompt)) <= tokens and "(cut: the first" in text_of(prompt)
