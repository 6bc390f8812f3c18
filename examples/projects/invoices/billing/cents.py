"""Amounts of money."""

from decimal import ROUND_HALF_EVEN, Decimal

CENT = Decimal("0.01")


def to_cents(amount: Decimal) -> Decimal:
    """The amount, rounded to whole cents."""
    return amount.quantize(CENT, rounding=ROUND_HALF_EVEN)
