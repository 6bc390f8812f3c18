"""Honest sessions: whoever agrees is told so, with exit status 0, and what it costs is counted."""

import random
from typing import Any

import pytest

from parley.schemas.session import Seat
from tests.protocols.consensus.play import Play, says, workers
from tests.protocols.consensus.scripted import (
    Analyst,
    Ended,
    Silent,
    meaning,
    member,
    run,
)

GARDEN = "Should the primary school keep its vegetable garden?"
KEEP = (
    "Yes",
    "The garden should stay.",
    "Keep the garden as it is",
    "Do not close the garden",
    "I would keep it",
)
"""One answer in five wordings."""


def agreed(ended: Ended) -> Ended:
    """It ends with exit status 0, and what it says is so."""
    assert ended.untruths() == []
    assert ended.better_said() == []
    assert (ended.reason, ended.exit_status) == ("threshold", 0)
    return ended


def one(answers: tuple[str, ...], **more: Any) -> Analyst:
    """An honest analyst to whom these words are one answer."""
    return Analyst(meaning(same=answers), **more)


UNANIMOUS = {
    "keep": KEEP,
    "languages": ("Ja", "Yes", "Oui"),
    "numbers": ("20 %", "20 percent", "one fifth"),
    "scripts": ("दिल्ली", "Delhi", "デリー"),
    "long": (
        "Start with one server. Add a second one when the first is half full",
        "One server now. A second one at half load",
        "Begin on a single machine. Grow at 50 % load",
    ),
}


@pytest.mark.parametrize("words", UNANIMOUS.values(), ids=UNANIMOUS)
def test_a_panel_that_says_the_same_in_other_words_agrees_in_its_first_round(words: tuple[str, ...]) -> None:
    wording = "Start with one server, and add a second one at half load"
    panel = [member(w, also=(*words, wording)) for w in words]
    analyst = one(words, words=lambda brief: wording if "server" in brief.answer else brief.answer)
    ended = agreed(run(Play(panel=len(words), question=GARDEN), panel, analyst))
    assert len(ended.play.result.rounds) == 1
    assert ended.outcome.minority == ()
    assert ended.outcome.agree == len(words)


def test_what_is_refused_is_worded_anew_and_signed() -> None:
    """The first sentence promises too much for two of three; they quote the clause, and the second leaves it out."""
    wide, narrow = "Keep the garden, and double it", "Keep the garden"
    panel = [
        member(says(wide, confidence=0.9), also=(narrow,)),
        member("The garden should stay.", also=(narrow,)),
        member("Yes", also=(narrow,)),
    ]
    told: list[tuple[str, ...]] = []

    def words(brief: Any) -> str:
        told.append(brief.differs)
        return narrow

    ended = agreed(run(Play(question=GARDEN), panel, Analyst(lambda a: "keep", words)))
    assert ended.outcome.answer == narrow
    assert told == [(wide,)] or told == [(wide, wide)]
    assert set(ended.stands.values()) == {"signed"}


@pytest.mark.parametrize(
    "characters",
    [
        700,
        1_000,
    ],
)
def test_long_answers_in_a_script_of_many_tokens_are_signed(characters: int) -> None:
    keep, hold, sell = ((words * characters)[:characters] for words in ("庭を残す", "庭を保つ", "庭を売る"))
    panel = [
        member(says(keep, reasoning="理由", confidence=0.9), also=(keep, hold)),
        member(says(hold, reasoning="理由"), also=(keep, hold)),
        member(says(sell, reasoning="理由")),
    ]
    agreed(run(Play({"threshold": 60}), panel, one((keep, hold))))


# ---------------------------------------------------------------- any honest panel

HELD = ("Keep", "Sell", "Rent")
WORDINGS = ("it", "the garden", "it now. And the shed too", "the garden as it is")


def honest(seed: int) -> tuple[Ended, str]:
    """A session of honest seats and an honest analyst, and the answer that it must end with; empty: none."""
    dice = random.Random(seed)
    seats, threshold = dice.randint(2, 6), dice.choice([60, 70, 90])
    holds = dice.choices(HELD, [5, 1, 1], k=seats)
    weight = [dice.choice([1.0, 1.0, 1.0, 2.0]) for _ in holds]
    there = [dice.random() > 0.1 for _ in holds]
    panel = [
        member(
            says(f"{held} {dice.choice(WORDINGS)}", confidence=dice.choice([0.5, 0.7, 0.9])) if here else Silent.FAILS,
            also=[f"{held} {w}" for w in (*WORDINGS, "all of it")],
        )
        for held, here in zip(holds, there, strict=True)
    ]
    analyst = Analyst(lambda answer: answer.split()[0], lambda brief: f"{brief.answer.split()[0]} all of it")
    named = [
        Seat(seat=f"panelist_{n}", role="panelist", queue=f"panelist_{n}", weight=w) for n, w in enumerate(weight, 1)
    ]
    play = Play({"threshold": threshold}, panel=seats, seats=named, there=workers(seats), seed=seed)
    heard = [(h, w) for h, w, here in zip(holds, weight, there, strict=True) if here]
    wanted = threshold / 100 * sum(w for _, w in heard) - 1e-9
    agreed_on = [
        held
        for held in HELD
        if 2 * sum(h == held for h, _ in heard) > seats and sum(w for h, w in heard if h == held) >= wanted
    ]
    return run(play, panel, analyst), agreed_on[0] if agreed_on else ""


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_honest_panels_agree_where_enough_hold_the_same_and_only_there(first: int) -> None:
    for seed in range(first, first + 10):
        ended, answer = honest(seed)
        assert ended.untruths() == [], f"seed {seed}"
        assert (ended.exit_status == 0) == bool(answer), f"seed {seed}: {ended.reason}"
        assert not answer or ended.outcome.answer.startswith(answer), f"seed {seed}"
