"""An invoice and its sums."""

from dataclasses import dataclass, field
from decimal import Decimal

from billing.cents import to_cents


@dataclass
class Item:
    """One line of an invoice."""

    what: str
    pieces: int
    each: Decimal
    rate: Decimal
    """Of VAT: 0.19 is 19 %."""

    @property
    def net(self) -> Decimal:
        """Its price without VAT."""
        return self.pieces * self.each


@dataclass
class Bill:
    """An invoice."""

    items: list[Item] = field(default_factory=list)

    def net(self) -> Decimal:
        """The sum without VAT."""
        return to_cents(sum((item.net for item in self.items), Decimal(0)))

    def vat(self) -> Decimal:
        """The VAT of all lines."""
        return sum((to_cents(item.net * item.rate) for item in self.items), Decimal(0))

    def gross(self) -> Decimal:
        """What is to be paid."""
        return self.net() + self.vat()
