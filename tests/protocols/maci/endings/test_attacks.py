"""Attacks on MACI's endings, and honest sessions.

The exit status is that of the stop reason and of `converged` (parley.schemas.stops): 0 says that the debaters agree.
"""

from typing import Any

import msgspec
import pytest

from parley.client.protocols.maci import transcript
from parley.schemas.belief import Belief
from parley.schemas.protocols.maci.messages import Case
from parley.schemas.stops import STOPS
from tests.protocols.maci.play import (
    AGAINST,
    AGREED,
    FOR,
    Play,
    advocate_of,
    argument,
    attack,
    begun,
    belief,
    case,
    check_up,
    exit_code,
)

# ---------------------------------------------------------------- attacks: none ends with exit 0 and a wrong claim


def _ignored(play: Play) -> None:
    """The others are shown the attack, and say nothing to it: they are asked once more and miss their turn."""
    attack(play, [AGREED, AGREED], argument("it is not"))
    for seat in play.debaters:
        said = Case(belief=AGREED) if play.brief(seat)["answers"] else case(AGREED)
        while any(turn.ask.seat == seat for turn in play.session.turns.values()):
            play.reply(seat, said)


def _convinces_itself(play: Play) -> None:
    """The advocate goes over to the truth, and the other does not move: they hold different answers."""
    who = advocate_of(play)
    attack(play, [AGAINST if s == who else AGREED for s in play.debaters], argument("it is not"))
    while play.phase in ("arguing", "judging"):
        play.round(*(case(AGAINST if s == who else AGREED) for s in play.debaters))


def _drips(play: Play) -> None:
    """Each round takes .04 from the answer: less than a move, and it sums up."""
    p = 0.95
    while play.phase == "arguing":
        p -= 0.04
        play.same(belief(p, 1 - p), belief(p, 1 - p))


def _drifts_apart(play: Play) -> None:
    """One goes .04 a round away, without an argument, and never reaches `least_move`."""
    p = 0.95
    while play.phase == "arguing":
        p -= 0.04
        play.round(case(AGREED), case(belief(p, 1 - p)))


def _swaps(play: Play) -> None:
    """Both change places in every round: D, the mixture and its entropy stand still, and each moves by .8."""
    a, b = FOR, AGAINST
    while play.phase == "arguing":
        a, b = b, a
        play.same(a, b)


def _hides_behind_a_refusal(play: Play) -> None:
    """Every attack is scored so low that it is refused: nobody ever answers one."""
    while play.phase == "arguing":
        play.same(AGREED, AGREED, score=0.1)


def _without_judges(play: Play) -> None:
    """No judge ever replies, and all hold the same."""
    while play.phase == "arguing":
        play.argue(*(case(AGREED, argument(f"{seat} {play.session.inner.round}")) for seat in play.debaters))
        play.measure()
        play.fail("judge_1")


def _barely_first(play: Play) -> None:
    """The same answer is first with everybody, at a third and a hair."""
    names = ("dengue", "chikungunya", "zika")
    while play.phase == "arguing":
        play.round(*(case(belief(0.34, 0.33, 0.33, names=names)) for _ in play.debaters))


def _answers_by_leaving(play: Play) -> None:
    """Who should answer the attack never comes back."""
    attack(play, [AGREED, AGREED], argument("it is not"))
    attacker = play.signals["advocate"]
    while play.phase in ("arguing", "judging"):
        play.round(*(case(AGREED, argument(f"{s} again")) if s == attacker else None for s in play.debaters))


def _two_cases_of_one_name(play: Play) -> None:
    """They agree on names that differ in case alone, which are two answers."""
    names = ("5 mW", "5 MW")
    while play.phase == "arguing":
        play.round(case(belief(0.9, 0.1, names=names)), case(belief(0.1, 0.9, names=names)))


THIRDS = ("dengue", "chikungunya", "zika")
POWERS = ("5 mW", "5 MW")
LEVEL = belief(0.34, 0.33, 0.33, names=THIRDS)
ATTACKS: dict[str, tuple[Any, dict[str, Any], tuple[Belief, ...]]] = {
    "the advocate is ignored": (_ignored, {"round_limit": 2, "attempts": 2}, (AGREED, AGREED)),
    "the advocate convinces itself": (_convinces_itself, {}, (AGREED, AGREED)),
    "a drip below a move": (_drips, {"round_limit": 4}, (AGREED, AGREED)),
    "a drift apart in silence": (_drifts_apart, {"round_limit": 6}, (AGREED, AGREED)),
    "two change places": (_swaps, {"round_limit": 5}, (FOR, AGAINST)),
    "attacks are scored down": (_hides_behind_a_refusal, {}, (AGREED, AGREED)),
    "no judge replies": (_without_judges, {}, (AGREED, AGREED)),
    "first at a third": (_barely_first, {"outcomes": THIRDS}, (LEVEL, LEVEL)),
    "who is to answer leaves": (_answers_by_leaving, {"round_limit": 4}, (AGREED, AGREED)),
    "names that differ in case": (
        _two_cases_of_one_name, {"outcomes": POWERS}, (belief(0.9, 0.1, names=POWERS), belief(0.1, 0.9, names=POWERS))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_on_an_ending_is_an_agreement(name: str) -> None:
    strike, settings, beliefs = ATTACKS[name]
    play = begun(settings, *beliefs)
    strike(play)
    assert play.posts("stop"), "it ends"
    assert exit_code(play) != 0, play.stop["reason"]
    told = STOPS[play.stop["reason"]]
    moved = play.signals["moved"]
    assert "no longer changes" not in (told.words, told.unless) or moved < 0.05


# ---------------------------------------------------------------- honest sessions end with exit 0


def _answered(play: Play) -> None:
    """One attack, answered in words."""
    attack(play, [AGREED, FOR], argument("it is not"))
    play.round(*(case(b, changed="the platelets outweigh it") for b in (AGREED, FOR)))


def _rebutted(play: Play) -> None:
    """One attack, answered by a rebuttal."""
    attack(play, [AGREED, AGREED], argument("it is not"))
    replies = []
    for seat in play.debaters:
        answers = play.brief(seat)["answers"]
        no = msgspec.structs.replace(argument("it does not follow", 2), rebuts=answers[0]) if answers else None
        replies.append(case(AGREED, *([no] if no else []), changed=""))
    play.round(*replies)


def _persuaded(play: Play) -> None:
    """They begin apart, one is convinced, and what they then share stands."""
    play.round(case(FOR, argument("the platelets")), case(AGAINST, argument("the joints", 2)))
    play.same(FOR, FOR)
    while play.phase == "arguing":
        play.same(FOR, FOR)


def _nothing_against_it(play: Play) -> None:
    """The passages hold nothing against the answer: a plateau, which says that nobody tested it."""
    while play.phase == "arguing":
        play.round(*(case(AGREED, changed="nothing speaks against it") for _ in play.debaters))


def _truth_wins(play: Play) -> None:
    """The advocate is convinced by its own case, and the others follow it."""
    who = advocate_of(play)
    attack(play, [AGAINST if s == who else AGREED for s in play.debaters], argument("it is not"))
    while play.phase == "arguing":
        play.same(*(AGAINST for _ in play.debaters))


HONEST = {
    "answered in words": (_answered, (AGREED, FOR), "agreement", "dengue"),
    "answered by a rebuttal": (_rebutted, (AGREED, AGREED), "agreement", "dengue"),
    "persuaded": (_persuaded, (FOR, AGAINST), "agreement", "dengue"),
    "nothing against it": (_nothing_against_it, (AGREED, AGREED), "plateau", "dengue"),
    "the truth wins": (_truth_wins, (AGREED, AGREED), "agreement", "chikungunya"),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_session_ends_with_exit_0(name: str) -> None:
    play_on, beliefs, reason, answer = HONEST[name]
    play = begun(None, *beliefs)
    play_on(play)
    assert (play.stop["reason"], exit_code(play)) == (reason, 0)
    play.plan(check_up())
    assert play.result.outcome["answer"] == answer
    untested = list(transcript.untested(play.certificate))
    assert bool(untested) is (reason == "plateau")
