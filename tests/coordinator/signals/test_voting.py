"""Rules of voting against published worked examples, and against the library pref_voting 1.18.2 (votes.json)."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from parley.coordinator.signals import voting
from parley.schemas.voting import rule_of
from parley.schemas.wire import InvalidValue

CITIES = ("Memphis", "Nashville", "Chattanooga", "Knoxville")
TENNESSEE = (
    (42, ("Memphis", "Nashville", "Chattanooga", "Knoxville")),
    (26, ("Nashville", "Chattanooga", "Knoxville", "Memphis")),
    (15, ("Chattanooga", "Knoxville", "Nashville", "Memphis")),
    (17, ("Knoxville", "Chattanooga", "Nashville", "Memphis")),
)
"""Electowiki, "Effects of different voting systems under similar circumstances"."""


def weighed(ballots: Any) -> list[tuple[Fraction, tuple[str, ...]]]:
    return [(Fraction(weight), tuple(order)) for weight, order in ballots]


def test_approval_and_score() -> None:
    """Tennessee, where each approves of its first two; and where each gives 10, 6, 3, 0 by the order."""
    counted = voting.approval(CITIES, weighed((weight, order[:2]) for weight, order in TENNESSEE))
    assert counted.first == ("Nashville",)
    assert counted.figures == {"Nashville": 68, "Chattanooga": 58, "Memphis": 42, "Knoxville": 32}
    scored = [(Fraction(w), dict(zip(order, (10.0, 6.0, 3.0, 0.0), strict=True))) for w, order in TENNESSEE]
    counted = voting.score(CITIES, scored)
    assert counted.figures == {"Nashville": 6.08, "Chattanooga": 5.34, "Memphis": 4.2, "Knoxville": 3.38}
    assert voting.approval("AB", [(Fraction(1), ())]).first == (), "nobody approves of any"


@pytest.mark.parametrize(
    ("votes", "of", "part", "above", "first"),
    [
        ((2, 1), 3, Fraction(1, 2), True, "A"),
        ((2, 2), 4, Fraction(1, 2), True, ""),
        ((2, 1), 4, Fraction(1, 2), True, ""),  # who answered nothing stays in the whole
        ((2, 1), 3, Fraction(2, 3), False, "A"),
        ((2, 1), 3, Fraction("0.67"), False, ""),
        ((3,), 3, Fraction(1), False, "A"),
        ((3,), 4, Fraction(1), False, ""),
    ],
)
def test_a_share_of_all_weight(votes: tuple[int, ...], of: int, part: Fraction, above: bool, first: str) -> None:
    named = {name: Fraction(w) for name, w in zip("AB", votes, strict=False)}
    assert voting.share(named, Fraction(of), part, above=above).first == tuple(first)


def test_a_runoff_follows_every_way_where_several_are_last() -> None:
    """A, B and C are last together. Without C both of the others may win; without A or B it is the other."""
    counted = voting.instant_runoff("ABC", weighed(((1, "ABC"), (1, "BAC"), (1, "CAB"))))
    assert counted.first == ("A", "B")
    every = [(Fraction(1), tuple("ABCDEFGHIJKLMNOP"[n:] + "ABCDEFGHIJKLMNOP"[:n])) for n in range(16)]
    assert len(voting.instant_runoff("ABCDEFGHIJKLMNOP", every).first) == 16, "too many ways: all are tied"


VOTES = json.loads(Path(__file__).with_name("votes.json").read_text())


@pytest.mark.parametrize("n", range(len(VOTES["elections"])))
def test_elections_that_pref_voting_counted(n: int) -> None:
    """Winners, points and the smallest set that beats all others, as the library has them (borda, instant_runoff_put,
    top_cycle): of random orders of two to six options, one to nine ballots, half of the elections with weights."""
    election = VOTES["elections"][n]
    options = [str(o) for o in sorted(election["orders"][0])]
    ballots = [
        (Fraction(w), [str(o) for o in order]) for w, order in zip(election["weights"], election["orders"], strict=True)
    ]
    borda = voting.borda(options, ballots)
    assert borda.figures == {o: p for o, p in election["points"].items()}
    assert set(borda.first) == {str(o) for o in election["borda"]}
    assert set(voting.instant_runoff(options, ballots).first) == {str(o) for o in election["instant_runoff"]}
    best = voting.condorcet(options, ballots)
    assert set(best.first) == {str(o) for o in election["top"]}
    assert (len(best.first) == 1) == (election["condorcet"] is not None)
    beats = [(a, b) for a, b in zip(best.cycle, (*best.cycle[1:], *best.cycle[:1]), strict=True)]
    for a, b in beats:
        before = sum(w for w, order in ballots if order.index(a) < order.index(b))
        assert 2 * before > sum(w for w, _ in ballots)


@pytest.mark.parametrize(
    "text", ["", "bordo", "borda:0.6", "supermajority:", "supermajority:0.5", "supermajority:67", "supermajority:1/0"]
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"consensus\.decide"):
        rule_of(text, "consensus.decide")
