"""What programs may ask for by name: every protocol, and each panel that the operator saved."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from parley.client.api import known_protocol, request
from parley.client.choice import ELSEWHERE, choose
from parley.client.errors import BadInput
from parley.client.follow_up import Earlier
from parley.client.protocols import setup_of
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas.session import USUAL_TURN_S, Budget, Document, OpenSession, Seat
from parley.schemas.wire import InvalidValue


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A protocol with the operator's settings, or a saved panel."""

    name: str
    """A protocol's, or that of a panel file."""
    protocol: str
    settings: Mapping[str, Any] = {}
    """The operator's; what is asked for goes over them."""
    seats: tuple[Seat, ...] = ()
    """Who sits where; none: the queues that are alive."""
    budget: Budget = Budget()
    turn_timeout_s: float = USUAL_TURN_S
    learned: Callable[[OpenSession], OpenSession] | None = None
    """Puts what past outcomes say into an opening (docs/reliability.md); None: nothing does."""


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

    def of(self, name: str, question: str = "", *, documents: bool = False, before: Earlier | None = None) -> Offer:
        """The one of this name; empty: the one that is chosen by what is asked, and by what it goes on from. Raises
        BadInput with the nearest known one, or as parley.client.choice.choose."""
        follows, had_folder = (before.protocol, before.had_folder) if before else ("", False)
        if not name:
            name = choose(
                question, documents=documents, follows=follows, had_folder=had_folder, spelled=ELSEWHERE
            ).protocol
        offer = self._offers.get(name)
        if offer is None:
            known_protocol(name)  # says which is meant
            raise BadInput("protocol", f"{name!r} is not a protocol; known are {', '.join(self.names)}")
        return offer


def opening_of(
    offer: Offer,
    question: str,
    *,
    documents: Sequence[Document] = (),
    settings: Mapping[str, Any] | None = None,
    budget: Mapping[str, Any] | None = None,
    seed: int | None = None,
    before: Earlier | None = None,
) -> OpenSession:
    """A session of an offer, checked as far as it can be without a moderator.

    Parameters
    ----------
    settings, budget
        Over those of the offer.
    before
        The session that it goes on from.

    Raises
    ------
    BadInput
        Names the field, the value and what is allowed.
    """
    requested = dict(settings or {})
    without_files(offer.protocol, requested)
    if before is not None:
        requested = before.whole(offer.protocol, requested)
    merged = {**offer.settings, **requested}
    limits = {**msgspec.structs.asdict(offer.budget), **(budget or {})}
    seats = _seats(offer, requested)
    opening = request(
        question, protocol=offer.protocol, settings=merged, budget=limits,
        seed=seed, turn_timeout_s=offer.turn_timeout_s, seats=seats,
    )  # fmt: skip
    try:
        opening = msgspec.structs.replace(opening, documents=tuple(documents))
        opening = opening if before is None else before.into(opening)
    except InvalidValue as error:
        raise BadInput(error.field, str(error)) from error
    return opening if offer.learned is None else offer.learned(opening)


def _seats(offer: Offer, settings: Mapping[str, Any]) -> tuple[Seat, ...]:
    """The offer's seats; of the role of which there are several, as many as are asked for. Raises BadInput."""
    several = setup_of(offer.protocol).several
    count = settings.get(several.setting) if several else None
    if several is None or not offer.seats or not isinstance(count, int):
        return offer.seats
    same_role = [seat for seat in offer.seats if seat.role == several.role]
    if count > len(same_role):
        field = f"{offer.protocol}.{several.setting}"
        raise BadInput(field, f"got {count}, {offer.name} seats {len(same_role)} of role {several.role}")
    left_out = same_role[count:]
    return tuple(seat for seat in offer.seats if seat not in left_out)


def without_files(protocol: str, settings: Mapping[str, Any]) -> None:
    """Raise BadInput where settings, or those of a session that one of them may start, name a file: it would be read
    on the gateway's machine."""
    setup = setup_of(protocol)
    try:
        setup.from_afar(settings)
    except BadInput as error:
        raise BadInput(f"{protocol}.{error.field}", error.why) from error
    beneath = setup.beneath(settings)
    if beneath is not None:
        without_files(beneath.protocol, beneath.settings)
