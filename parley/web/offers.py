"""What programs may ask for by name: every protocol, and each panel that the operator saved."""

from collections.abc import Iterable

from parley.client.errors import BadInput
from parley.client.opening import Offer, known_protocol
from parley.coordinator.protocols import DEFAULT, PROTOCOLS


class Offers:
    """All of them, by name."""

    def __init__(self, offers: Iterable[Offer] = ()) -> None:
        self._offers = {offer.name: offer for offer in offers}
        for name, protocol in PROTOCOLS.items():
            if not protocol.standing:
                self._offers.setdefault(name, Offer(name=name, protocol=name))

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(sorted(self._offers))

    def find(self, name: str) -> Offer | None:
        """The one of this name."""
        return self._offers.get(name)

    def of(self, name: str) -> Offer:
        """The one of this name; empty: the default protocol. Raises BadInput with the nearest known one."""
        offer = self._offers.get(name or DEFAULT)
        if offer is None:
            known_protocol(name)  # says which is meant
            raise BadInput("protocol", f"{name!r} is not a protocol; known are {', '.join(self.names)}")
        return offer
