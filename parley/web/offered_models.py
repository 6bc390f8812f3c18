"""What programs may ask for by name: every protocol, and each panel that the operator saved."""

from collections.abc import Iterable, Mapping
from typing import Any

from parley.client.choice import ELSEWHERE, choose, takers
from parley.client.errors import BadInput
from parley.client.follow_up import Earlier
from parley.client.opening import Offer, known_protocol
from parley.coordinator.protocols import PROTOCOLS


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

    def of(
        self,
        name: str,
        question: str = "",
        given: Mapping[str, Any] = {},
        *,
        documents: bool = False,
        before: Earlier | None = None,
    ) -> Offer:
        """The one of this name; empty: the one that is chosen by what is asked, and by what it goes on from. Raises
        BadInput with the nearest known one, or as parley.client.choice.choose."""
        if not name:
            follows, had_folder = (before.protocol, before.had_folder) if before else ("", False)
            name = choose(
                question,
                documents=documents,
                allowed=takers(given),
                follows=follows,
                had_folder=had_folder,
                spelled=ELSEWHERE,
            ).protocol
        offer = self._offers.get(name)
        if offer is None:
            known_protocol(name)  # says which is meant
            raise BadInput("protocol", f"{name!r} is not a protocol; known are {', '.join(self.names)}")
        return offer
