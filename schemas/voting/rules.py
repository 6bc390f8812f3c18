"""Rules by which a panel decides, by name."""

from fractions import Fraction
from typing import NamedTuple

from parley.schemas.wire import InvalidValue

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
