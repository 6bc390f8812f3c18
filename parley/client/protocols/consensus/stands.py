"""Who stands behind a panel's answer, in words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.client.show.palette import seat_name
from parley.client.text import line
from parley.client.untrusted import items, mapping, number, words
from parley.schemas.result import Result
from parley.schemas.text import same

SIGNS = ("said", "signed", "reserved")
"""Stands of seats that are behind the answer."""
_MOST_TOLD = 3
"""Seats that one sentence tells of."""
_BRIEF = 70
"""Characters of what is told in passing."""
Body = Mapping[str, Any]


class Stand(msgspec.Struct, frozen=True):
    """Where a seat stands to the answer."""

    seat: str
    """As it is shown."""
    stands: str
    """said | signed | reserved | rival | neither | none | abstains | never"""
    weight: float
    binds: str
    """Hash of what it signed, or did not sign; empty: it was not asked."""
    differs: str
    reservation: str
    why: str
    holds: str
    """The answer of its own, of a seat that does not sign; empty: it has none."""
    own: str
    """Its own last answer; empty: it has none."""

    @property
    def signs(self) -> bool:
        """Whether it said or signed the answer."""
        return self.stands in SIGNS


def stands_of(result: Result) -> tuple[Stand, ...]:
    """One for each seat, in the order of the opening."""
    apart = {words(m.get("seat", "")): words(m.get("answer", "")) for m in minority(result)}
    last = {seat: "" if p.get("abstains") else words(p.get("answer", "")) for seat, p in held_last(result).items()}
    return tuple(
        Stand(
            seat=seat_name(words(s.get("seat", ""))), stands=words(s.get("stands", "")),
            weight=number(s.get("weight")) or 0.0, binds=words(s.get("binds", "")), differs=words(s.get("differs", "")),
            reservation=words(s.get("reservation", "")), why=words(s.get("why", "")),
            holds=apart.get(words(s.get("seat", "")), ""), own=last.get(words(s.get("seat", "")), ""),
        )
        for s in map(mapping, items(result.outcome.get("signatures")))
    )  # fmt: skip


def minority(result: Result) -> list[Body]:
    """Seats with an answer that they do not see in the result's."""
    return [mapping(m) for m in items(result.outcome.get("minority"))]


def stand_words(of: Stand, width: int = _BRIEF) -> str:
    """`Panelist 2 does not sign it: “1,000 kg” differs`: a seat and where it stands."""
    seat, differs = line(of.seat), f": “{line(of.differs, width)}” differs" if of.differs else ""
    own = f" (its own words: “{line(of.own, width)}”)" if of.own else " (it has no answer of its own)"
    why = f": {line(of.why, width)}" if of.why else ""
    match of.stands:
        case "said":
            return f"{seat} said it"
        case "signed":
            return f"{seat} signed it{own}"
        case "reserved":
            return f"{seat} signed it with a reservation: “{line(of.reservation, width)}”{own}"
        case "abstains":
            return f"{seat} has no answer"
        case "never":
            return f"{seat} never answered{why}"
        case "none" if of.binds:
            return f"{seat} gave no form{why}"
        case "none":
            return f"{seat} holds “{line(of.holds, width)}”" if of.holds else f"{seat} was not asked"
    if of.reservation:
        return f"{seat} signed it, and takes it back: “{line(of.reservation, width)}”"
    return f"{seat} holds “{line(of.holds, width)}” and does not sign{differs}" if of.holds else (
        f"{seat} does not sign it{differs}"
    )  # fmt: skip


def dissenting(stands: Iterable[Stand]) -> str:
    """Who was heard and does not sign, and what it holds; the last ones of many only by their number."""
    apart = [s for s in stands if not s.signs and s.stands != "never"]
    told = [stand_words(s) for s in apart[:_MOST_TOLD]]
    rest = len(apart) - len(told)
    return "; ".join([*told, *([f"{rest} more do not sign it"] if rest else [])])


def how_signed(stands: Sequence[Stand]) -> str:
    """`1 said it, 2 signed, 1 of them with a reservation`; empty where all who are behind it said it themselves."""
    n = Counter(s.stands for s in stands if s.signs)
    signed = n["signed"] + n["reserved"]
    if not signed:
        return ""
    told = [f"{n['said']} said it"] if n["said"] else []
    told.append(f"{signed} signed")
    told += [f"{n['reserved']} of them with a reservation"] if n["reserved"] else []
    return ", ".join(told)


def weights_told(stands: Sequence[Stand]) -> str:
    """`weight 5 against 2`, where weights are not all equal and somebody who was heard does not sign; else empty."""
    heard = [s for s in stands if s.stands != "never"]
    against = sum(s.weight for s in heard if not s.signs)
    if len({s.weight for s in stands}) < 2 or not against:
        return ""
    return f"weight {sum(s.weight for s in heard if s.signs):g} against {against:g}"


def two_ways(result: Result) -> Iterator[str]:
    """`1.000 may be read as 1 or as 1000`, of each number of the answer of which that is so."""
    for given in items(result.outcome.get("two_ways")):
        text = words(given)
        whole, digits = text.replace(",", ".").split(".", 1)
        decimal = f"{whole}.{digits}".rstrip("0").removesuffix(".")
        yield f"{line(text)} may be read as {line(decimal)} or as {line(whole + digits)}"


def tied(result: Result) -> tuple[tuple[str, int], ...]:
    """(answer, seats that hold it), of answers with equal weight; none: one is in front."""
    last = held_last(result)
    found = []
    for given in items(result.outcome.get("tied")):
        answer = words(given)
        labels = {p.get("label") for p in last.values() if same(words(p.get("answer", "")), answer)} - {None}
        holders = [
            seat
            for seat, p in last.items()
            if not p.get("abstains") and (p.get("label") in labels or same(words(p.get("answer", "")), answer))
        ]
        found.append((answer, len(holders)))
    return tuple(found)


def held_last(result: Result) -> dict[str, Body]:
    """Seat -> what it held at the end, of seats that were heard."""
    last: dict[str, Body] = {}
    for played in result.rounds:
        last |= {str(seat): mapping(p) for seat, p in mapping(played.get("positions")).items()}
    return last


def below_least(certificate: Mapping[str, Any]) -> str:
    """`approach 40 is below the least value of 70`; empty: none is, or no least value was set."""
    told = []
    for name, figures in mapping(certificate.get("least")).items():
        value, wanted = number(mapping(figures).get("value")), number(mapping(figures).get("least"))
        if value is not None and wanted is not None and value < wanted:
            told.append(f"{line(str(name))} {value:g} is below the least value of {wanted:g}")
    return ", ".join(told)
