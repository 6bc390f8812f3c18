"""What a protocol's handlers want: imperative, minted from nothing, turned into log commands by the shared machine."""

import msgspec

from schemas.turn import Caps
from schemas.wire import Json


class AskSeat(msgspec.Struct, frozen=True, kw_only=True):
    """Ask a seat for a turn. `sees` are numbers of posts, in the order shown to it; `own` the seat's last position."""

    seat: str
    kind: str
    round: int
    brief: Json
    sees: tuple[int, ...] = ()
    own: int | None = None
    caps: Caps = Caps()
    stream: bool = False
    final: bool = False
    """The turn for which the ledger holds money back from the opening on."""
    channel: str = ""
    """Where the reply is submitted and its text is shown live; empty: the channel that the seat's account speaks on."""
    window_s: float | None = None
    """Seconds for this turn, where it has fewer than the session's turns have."""


class SayOn(msgspec.Struct, frozen=True, kw_only=True):
    """Post on a channel; the first SayOn of a step gets number `view.next_post`, the next one more."""

    channel: str
    kind: str
    round: int
    body: Json
    seat: str = ""


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """The stop decision and its certificate: posted on `control`; every turn asked before it is withdrawn."""

    reason: str
    """A row of schemas.stops.STOPS."""
    certificate: Json
    """An object: the figures that the decision rests on."""
    converged: bool = True
    """False: not convergence, though its row may be (a plateau without agreement)."""


class Rephrase(msgspec.Struct, frozen=True, kw_only=True):
    """From the next turn on every seat is shown this question, and never again the one that the session was opened
    with."""

    question: str


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """The session is over (after Stop); its result is taken from the protocol's `outcome`."""


Wish = AskSeat | SayOn | Rephrase | Stop | Finish
