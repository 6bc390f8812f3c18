from decimal import Decimal

from billing.cents import to_cents


def test_whole_cents_stay():
    assert to_cents(Decimal("1.23")) == Decimal("1.23")


def test_half_a_cent_goes_up():
    assert to_cents(Decimal("0.125")) == Decimal("0.13")
    assert to_cents(Decimal("2.665")) == Decimal("2.67")
