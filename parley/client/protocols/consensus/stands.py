"""Who stands behind a panel's answer, in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.client.show.palette import seat_name
from parley.client.text import line
from parley.schemas.protocols.consensus import Outcome, SeatSignature
from parley.schemas.result import Result
from parley.schemas.text import same

SIGNS = ("said", "signed", "reserved")
"""Stands of seats that are behind the answer."""
ABSENT = ("never", "left")
"""Stands of seats that never answered."""
_MOST_TOLD = 3
"""Seats that one sentence tells of."""
_BRIEF = 70
"""Characters of what is told in passing."""


class Held(msgspec.Struct, frozen=True):
    """What a seat held in a round, as a result has it."""

    answer: str
    confidence: float = 0.0
    abstains: bool = False
    label: str = ""
    change: str = "kept"
    moved: str = ""


class Stand(msgspec.Struct, frozen=True):
    """Where a seat stands to the answer."""

    seat: str
    """As it is shown, without its strategy."""
    given: SeatSignature
    holds: str
    """The answer of its own, of a seat that does not sign; empty: it has none."""
    own: str
    """Its own last answer; empty: it has none."""

    @property
    def who(self) -> str:
        """`Panelist 2, base rates,`: the seat, with the strategy that it worked by."""
        return working(self.seat, self.given.strategy)

    @property
    def signs(self) -> bool:
        """Whether it said or signed the answer."""
        return self.given.stands in SIGNS


def working(seat: str, strategy: str | msgspec.UnsetType) -> str:
    """`Panelist 2, base rates,`: a seat as it is shown, with the strategy that it works by, if any."""
    return line(f"{seat}, {strategy}," if strategy else seat)


def stands_of(result: Result, outcome: Outcome) -> tuple[Stand, ...]:
    """One for each seat, in the order of the opening."""
    apart, last = {m.seat: m.answer for m in outcome.minority}, held_last(result)
    own = {seat: "" if held.abstains else held.answer for seat, held in last.items()}
    return tuple(
        Stand(seat=seat_name(s.seat), given=s, holds=apart.get(s.seat, ""), own=own.get(s.seat, ""))
        for s in outcome.signatures
    )


def stand_words(of: Stand, width: int = _BRIEF) -> str:
    """`Panelist 2 disagrees and rejects “1,000 kg”`: a seat and where it stands."""
    given, seat = of.given, of.who
    own = f" (its own words: “{line(of.own, width)}”)" if of.own else " (it has no answer of its own)"
    why = f": {line(given.why, width)}" if given.why else ""
    holds = f"holds “{line(of.holds, width)}”" if of.holds else "disagrees"
    rejects = f" and rejects “{line(given.differs, width)}”" if given.differs else ""
    match given.stands:
        case "said":
            return f"{seat} said it"
        case "signed":
            return f"{seat} signed it{own}"
        case "reserved":
            return f"{seat} signed it with a reservation: “{line(given.reservation, width)}”{own}"
        case "abstains":
            return f"{seat} has no answer"
        case "never":
            return f"{seat} never answered{why}"
        case "left":
            return f"{seat} left before it answered"
        case "none" if given.binds:
            return f"{seat} gave no signature{why}"
        case "none":
            return f"{seat} {holds}" if of.holds else f"{seat} was not asked"
    if given.reservation:
        return f"{seat} signed it, and takes it back: “{line(given.reservation, width)}”"
    return f"{seat} {holds}{rejects}"


def dissenting(stands: Iterable[Stand]) -> str:
    """Who was heard and does not sign, and what it holds; the last ones of many only by their number."""
    apart = [s for s in stands if not s.signs and s.given.stands not in ABSENT]
    told = [stand_words(s) for s in apart[:_MOST_TOLD]]
    rest = len(apart) - len(told)
    return "; ".join([*told, *([f"{rest} more {'disagrees' if rest == 1 else 'disagree'}"] if rest else [])])


def how_signed(stands: Sequence[Stand]) -> str:
    """`2 signed it`; empty where all who are behind it said it themselves."""
    signed = sum(s.signs and s.given.stands != "said" for s in stands)
    return f"{signed} signed it" if signed else ""


def weights_told(stands: Sequence[Stand]) -> str:
    """`weight 5 against 2`, where weights are not all equal and somebody who was heard does not sign; else empty."""
    heard = [s for s in stands if s.given.stands not in ABSENT]
    behind, against = (sum(s.given.weight for s in heard if s.signs is side) for side in (True, False))
    alike = len({s.given.weight for s in stands}) < 2
    return "" if alike or not against else f"weight {behind:g} against {against:g}"


def two_ways(outcome: Outcome) -> Iterator[str]:
    """`1.000 may be read as 1 or as 1000`, of each number of the answer of which that is so."""
    for text in outcome.two_ways:
        whole, digits = text.replace(",", ".").split(".", 1)
        decimal = f"{whole}.{digits}".rstrip("0").removesuffix(".")
        yield f"{line(text)} may be read as {line(decimal)} or as {line(whole + digits)}"


def tied(result: Result, outcome: Outcome) -> tuple[tuple[str, int], ...]:
    """(answer, seats that hold it), of answers with equal weight; none: one is in front."""
    last = [held for held in held_last(result).values() if not held.abstains]
    found = []
    for answer in outcome.tied:
        labels = {held.label for held in last if same(held.answer, answer)} - {""}
        found.append((answer, sum(held.label in labels or same(held.answer, answer) for held in last)))
    return tuple(found)


def held_last(result: Result) -> dict[str, Held]:
    """Seat -> what it held at the end, of seats that were heard."""
    return {seat: held for played in result.rounds for seat, held in positions(played).items()}


def positions(played: Mapping[str, Any]) -> dict[str, Held]:
    """Seat -> what it held in a round."""
    return msgspec.convert(played.get("positions") or {}, dict[str, Held])


def below_least(certificate: Mapping[str, Any]) -> str:
    """`approach 40 is below the least value of 70`, the weakest first; empty: none is, or no least value was set."""
    least = (certificate.get("least") or {}).items()
    below = ((name, given["value"], given["least"]) for name, given in least if given["value"] < given["least"])
    return ", ".join(
        f"{line(name)} {value:g} is below the least value of {wanted:g}"
        for name, value, wanted in sorted(below, key=lambda one: one[1] - one[2])
    )


def weakest(dimensions: Mapping[str, float], least: Mapping[str, float]) -> str:
    """`weakest: approach 40, at least 70 is wanted`; empty: none is below its least value."""
    below = {name: dimensions.get(name, 0.0) - wanted for name, wanted in least.items()}
    name = min(below, key=lambda one: below[one], default="")
    if not name or below[name] >= 0:
        return ""
    return f"weakest: {line(name)} {dimensions.get(name, 0.0):g}, at least {least[name]:g} is wanted"
