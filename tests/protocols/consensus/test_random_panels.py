"""Panels that answer, compare, word and sign at random: whatever they do, nothing is agreed that too few signed."""

import random
from typing import Any, Literal

import pytest

from parley.coordinator.table import OpenTurn
from parley.schemas.protocols.consensus import (
    AnswerGroup,
    CompareBrief,
    Comparison,
    ConcludeBrief,
    Conclusion,
    Position,
)
from parley.schemas.session import Seat
from parley.schemas.text import answer_key, same
from parley.schemas.wire import decode
from tests.protocols.consensus.play import Play, says

ANSWERS = [
    "Vilnius", "vilnius.", "The city of Vilnius", "It is Vilnius. So says the law", "Kaunas", "C++", "C#", "1.000 Euro",
    "1 Euro", "?",
]  # fmt: skip
SIGNS = ("said", "signed", "reserved")
SESSIONS = 40


def opened(dice: random.Random) -> Play:
    n = dice.randint(2, 5)
    weights = [dice.choice([1.0, 1.0, 2.0, 5.0]) for _ in range(n)]
    seats = [Seat(seat=f"p{i}", role="panelist", queue=f"panelist_{i}", weight=w) for i, w in enumerate(weights, 1)]
    absent: Literal["leaves", "counts"] = dice.choice(["leaves", "counts"])
    settings: dict[str, Any] = {
        "round_limit": dice.randint(1, 4),
        "threshold": dice.choice([60, 70, 90, 100]),
        "attempts": dice.choice([1, 2]),
        "absent": absent,
        "least": dice.choice([{}, {}, {"approach": 80}]),
    }
    return Play(settings, panel=n, seats=seats)


def reply(play: Play, turn: OpenTurn, dice: random.Random, pool: list[str]) -> None:
    """One seat does something."""
    ask = turn.ask
    if dice.random() < 0.15:
        play.reply(ask.seat, None, error="model unreachable")
    elif ask.kind == "compare":
        play.reply(ask.seat, compared(play, decode(ask.brief, CompareBrief), dice))
    elif ask.kind == "conclude":
        brief = decode(ask.brief, ConcludeBrief)
        words = dice.choice(["in other words", "Kaunas", brief.answer])
        play.reply(ask.seat, Conclusion(group=dice.choice([brief.label, "another"]), reasoning="r", answer=words))
    elif ask.kind == "sign":
        play.sign(ask.seat, dice.choice(["sentence", "sentence", "rival", "neither"]))
    elif dice.random() < 0.15:
        play.reply(ask.seat, says("", abstains=True))
    else:
        play.reply(ask.seat, says(dice.choice(pool), confidence=dice.random()))


def compared(play: Play, brief: CompareBrief, dice: random.Random) -> Comparison:
    """By words, or all in one, or as the dice fall."""
    how, sides = dice.random(), dict[str, list[int]]()
    for w in brief.positions:
        answer = decode(play.session.posts[w.post].body, Position).answer
        side = "one" if how < 0.3 else answer_key(answer) if how < 0.8 else str(dice.randint(0, 2))
        sides.setdefault(side, []).append(w.post)
    groups = tuple(AnswerGroup(label=f"group {n}", posts=tuple(posts)) for n, posts in enumerate(sides.values()))
    return Comparison(groups=groups, approach=dice.choice([0, 100]), priority=dice.choice([0, 100]))


def played(seed: int) -> Play:
    dice = random.Random(seed)
    play = opened(dice)
    pool = dice.sample(ANSWERS, dice.randint(1, 4))
    while not play.session.closed:
        reply(play, dice.choice(list(play.session.turns.values())), dice, pool)
    return play


def held(play: Play, seat: str) -> str:
    return [decode(p.body, Position).answer for p in play.posts("position") if p.seat == seat][-1]


@pytest.mark.parametrize("tens", range(8))
def test_whatever_a_panel_does_nothing_is_agreed_that_too_few_signed(tens: int) -> None:
    agreed = 0
    for seed in range(tens * SESSIONS, (tens + 1) * SESSIONS):
        play = played(seed)
        stands, settings = play.outcome["signatures"], play.session.settings
        behind = [x for x in stands if x["stands"] in SIGNS]
        given = [signed["binds"] for signed in play.bodies("signature") if signed["states"] == "sentence"]
        for x in behind:
            assert same(held(play, x["seat"]), play.outcome["answer"]) if x["stands"] == "said" else x["binds"] in given
        assert not {m["seat"] for m in play.outcome["minority"]} & {x["seat"] for x in behind}
        assert bool(play.outcome["answer"]) == bool(behind), seed
        if play.result.stop.converged:
            agreed += 1
            share = sum(x["weight"] for x in stands if x["stands"] != "never" or settings.absent == "counts")
            assert 2 * len(behind) > len(stands), seed
            assert 100 * sum(x["weight"] for x in behind) >= settings.threshold * share - 1e-6, seed
            assert play.last("assessment")["dimensions"].get("approach", 0) >= settings.least.get("approach", 0), seed
    assert agreed, "some do agree"


@pytest.mark.parametrize("tens", range(8))
def test_whatever_a_panel_does_nobody_is_asked_twice_for_the_same(tens: int) -> None:
    for seed in range(tens * SESSIONS, (tens + 1) * SESSIONS):
        binds = [signed["binds"] for signed in played(seed).bodies("signature")]
        assert len(binds) == len(set(binds)), seed
