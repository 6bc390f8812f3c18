"""What is cast and counted where a rule decides: ballots, the poll, the decision."""

from fractions import Fraction
from typing import Annotated, Literal, NamedTuple

import msgspec

from parley.schemas.wire import InvalidValue, Limited, between, chars, items

AGREEMENT = "agreement"
"""No count: seats sign."""
POSITIONS = ("majority", "supermajority", "unanimity")
"""Rules that count the answers that seats hold."""
RANKED = ("borda", "instant-runoff", "condorcet")
"""Rules that count ballots which rank all answers."""
BALLOTS = {
    "approval": "approve",
    **dict.fromkeys(RANKED, "rank"),
    "score": "score",
    "ranking": "rank",
    "judge": "judge",
}
"""Rule -> the turn that it asks for."""
RULES = (AGREEMENT, *POSITIONS, "approval", *RANKED, "score", "ranking", "judge")
TWO_THIRDS = Fraction(2, 3)


class Rule(NamedTuple):
    """A rule as it was asked for."""

    name: str
    share: Fraction = TWO_THIRDS
    """Of the weight, of `supermajority`."""


def rule_of(text: str, field: str = "decide") -> Rule:
    """`borda`, `supermajority:0.67`, `supermajority:2/3`. Raises InvalidValue, which names the field."""
    name, colon, share = text.strip().partition(":")
    if name not in RULES or (colon and name != "supermajority"):
        raise InvalidValue(field, text, f"allowed are {', '.join(RULES)}; supermajority takes a share, such as :0.67")
    if not colon:
        return Rule(name)
    try:
        part = Fraction(share.strip())
    except (ValueError, ZeroDivisionError):
        part = Fraction(0)
    if not Fraction(1, 2) < part <= 1:
        raise InvalidValue(field, text, "allowed is a share above 0.5 to 1, or a fraction such as 2/3")
    return Rule(name, part)


MAX_SCORE = 10
MOST = 16
"""Answers on a ballot."""
Why = Literal["", "tie", "cycle", "share", "ballots", "disapproved", "unranked", "ruling"]
"""Why a rule decides nothing: several are in front, or beat each other in a circle; no answer has the share; too few
ballots came; nobody approves of an answer; no ballot ranks two; there is no ruling."""


class RankBallot(Limited, frozen=True, kw_only=True):
    """A seat's reply to `rank`."""

    reason: Annotated[str, chars(1_000)] = ""
    order: Annotated[tuple[int, ...], items(MOST)]
    """Numbers of all choices, the best first."""


class ApprovalBallot(Limited, frozen=True, kw_only=True):
    """A seat's reply to `approve`."""

    reason: Annotated[str, chars(1_000)] = ""
    approved: Annotated[tuple[int, ...], items(MOST)] = ()
    """Numbers of the choices that it could accept; none: it accepts none, and `reason` says why."""


class ScoreBallot(Limited, frozen=True, kw_only=True):
    """A seat's reply to `score`."""

    reason: Annotated[str, chars(1_000)] = ""
    scores: Annotated[tuple[Annotated[float, between(0, MAX_SCORE)], ...], items(MOST)]
    """0 to 10 for each choice, in the order of their numbers."""


class Ruling(Limited, frozen=True, kw_only=True):
    """The reply to `judge` of a seat outside the panel."""

    reasoning: Annotated[str, chars(4_000)]
    because: Annotated[str, chars(1_000, least=1)]
    """The argument that decides, in a sentence."""
    post: int
    """The position in which it stands."""
    quote: Annotated[str, chars(1_000, least=1)]
    """Words of that position, copied exactly."""
    choice: int
    """The number of the answer."""


class Cast(msgspec.Struct, frozen=True, kw_only=True):
    """Post of a seat on `public`: its ballot, by the names of the answers."""

    seat: str
    form: Literal["rank", "approve", "score", "judge"]
    shown: tuple[str, ...]
    """The answers, in the order in which the seat saw them."""
    chosen: tuple[str, ...] = ()
    """Ranked, the best first; or those approved of; or the judge's one."""
    scores: tuple[float, ...] = ()
    """Of `shown`, in that order."""
    reason: str = ""
    by: str = ""
    """The seat whose argument decides, of the judge's ballot."""
    quote: str = ""
    """Its words."""
    why: str = ""
    """Why there is no ballot; empty: there is one."""


class HeldAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is held."""

    name: str
    answer: str
    """In the words of the surest of those who hold it."""
    seats: tuple[str, ...]


class Poll(msgspec.Struct, frozen=True, kw_only=True):
    """All that any rule counts."""

    rule: str
    candidates: tuple[HeldAnswer, ...]
    weights: dict[str, float]
    """Seat -> weight, of all seats."""
    heard: tuple[str, ...]
    """Seats whose weight is counted: those that ever answered (all, where `absent` is `counts`)."""
    least: int
    """Ballots without which none is counted."""
    casts: tuple[Cast, ...] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a count came to."""

    rule: str
    winner: str = ""
    """The name of the answer; empty: it decides nothing."""
    tied: tuple[str, ...] = ()
    """Answers of which the rule puts none before the other."""
    cycle: tuple[str, ...] = ()
    """Answers of which each beats the next, and the last one the first."""
    figures: dict[str, float] = {}
    """Answer -> its figure."""
    why: Why = ""
    """Why nothing is decided; empty: something is."""
