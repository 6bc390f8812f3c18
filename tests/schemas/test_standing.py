"""Quotations in another typography are found as they stand; those with another word are not."""

import random
import re

import pytest

from parley.schemas.text import standing, stands_in

TEXT = """“A4” isn’t the cheapest — yet it’s the sturdiest sheet; the mill’s own tests (2019–2021) say so.
The press ran at 4.5 m/s, not at 45, and nobody’s log shows a jam. “Letter” paper, by contrast,
jammed twice: once at night – the operator had left – and once in a re-run of the so-called ‘hard’ test.
In re-runs the humidity was 40 %, i.e. lower than what the manual’s authors ask for. No one, however, 
complained of dust… The team’s conclusion was short: use A4, unless the customer asks for letter.
Costs fell by 12,000 euros a year; that figure excludes the engineers’ time, which wasn’t recorded."""
SENTENCES = [s for s in re.split(r"(?<=[.;:])\s+", TEXT) if len(s) > 25]
STRAIGHT = {"’": "'", "‘": "'", "“": '"', "”": '"', "—": "-", "–": "-", "…": "..."}
OTHER = {"’": "´", "‘": "‚", "“": "„", "”": "“", "—": "–", "–": "—", " ": "\u00a0"}


def altered(sentence: str, dice: random.Random) -> str:
    """The same words in another typography."""
    for signs in dice.sample([STRAIGHT, OTHER], 2):
        if dice.random() < 0.7:
            sentence = "".join(signs.get(c, c) if dice.random() < 0.8 else c for c in sentence)
    if dice.random() < 0.4:
        sentence = sentence[0].swapcase() + sentence[1:]
    if dice.random() < 0.3:
        sentence = f"“{sentence.rstrip('.;:')}.”"
    return re.sub(" ", lambda _: dice.choice([" ", "  ", "\n"]), sentence)


def invented(sentence: str, dice: random.Random) -> str:
    """A sentence with another word, number or sign in it, or without one of its words."""
    words = sentence.split(" ")
    at = dice.randrange(1, len(words) - 1)
    kind = dice.randrange(4)
    if kind == 0:
        words[at] = "never" if words[at] != "never" else "always"
    elif kind == 1:
        del words[at]
    elif kind == 2:
        words[at:at] = ["not"]
    else:
        words[at] = words[at][::-1] + "7"
    return " ".join(words)


@pytest.mark.parametrize("seed", range(100))
def test_what_is_set_otherwise_is_found_as_it_stands(seed: int) -> None:
    dice = random.Random(seed)
    quote = altered(dice.choice(SENTENCES), dice)
    found = standing(quote, TEXT)
    assert found and stands_in(found, TEXT), quote


@pytest.mark.parametrize("seed", range(100))
def test_what_is_invented_is_not(seed: int) -> None:
    dice = random.Random(seed)
    sentence = dice.choice(SENTENCES)
    for quote in (made := invented(sentence, dice), altered(made, dice)):
        assert standing(quote, TEXT) == "", quote


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("The press ran … nobody’s log", "The press ran at 4.5 m/s, not at 45, and nobody’s log"),
        ("the team's conclusion ... the customer", "The team’s conclusion was short: use A4, unless the customer"),
        ("…it's the sturdiest sheet…", "it’s the sturdiest sheet"),
        ("[N]o one, however, complained", "No one, however, \ncomplained"),
        ("complained of dust...", "complained of dust"),
        ("jammed twice -- once", ""),
        ("The press … the press", ""),
        ("A4 … letter", ""),
        ("nobody’s log shows a jam … The press ran", ""),
        ("The press ran at 4.5 m/s … which wasn't recorded", ""),
        ("5 m/s.”", ""),
        ("5 M/s", ""),
        ("at 4", "at 4"),
        ("At 4.", ""),
        ("“”", ""),
        ("", ""),
        ("...", ""),
    ],
)
def test_gaps_ends_and_nothing(quote: str, found: str) -> None:
    assert standing(quote, TEXT) == found


def test_a_text_made_to_be_slow_is_not() -> None:
    text = "a b " * 100_000
    assert standing("a b … a b a b a b a c … b a b a b", text) == ""
    assert standing("“" + "a b — " * 150, text) == ""
    assert standing("— a … — b", "a" + " " * 200_000 + "b") == ""
