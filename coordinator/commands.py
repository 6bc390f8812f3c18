"""What a protocol's handlers ask for, in the imperative. They mint no ids; the shared machine turns them into log
commands.

SayOn, Invite, CancelChild, Tell and Notify go into the log as they are wished for."""

import msgspec

from parley.schemas.log import CancelChild as CancelChild
from parley.schemas.log import Invite as Invite
from parley.schemas.log import Notify as Notify
from parley.schemas.log import Say
from parley.schemas.log import Tell as Tell
from parley.schemas.session import OpenSession, Seat
from parley.schemas.turn import Caps
from parley.schemas.wire import Json

SayOn = Say
"""The first of a step gets number `view.next_post`, the next one more."""


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
    before: tuple[tuple[Seat, Caps], ...] = ()
    """Turns that are to follow it: a short budget is not spent on this one without leaving them their least."""


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """The stop decision and its certificate: posted on `control`; every turn asked before it is withdrawn."""

    reason: str
    """A row of parley.schemas.stops.STOPS."""
    certificate: Json
    """An object: the figures that the decision rests on."""
    converged: bool = True
    """False: not convergence, though its row may be (a plateau without agreement)."""


class Rephrase(msgspec.Struct, frozen=True, kw_only=True):
    """From the next turn on every seat is shown this question, and never again the one that the session was opened
    with."""

    question: str


class OpenWindow(msgspec.Struct, frozen=True, kw_only=True):
    """Take words from the floor under this name for so long; its end comes as WindowClosed. One that is open gets the
    new end."""

    name: str
    seconds: float


class CloseWindow(msgspec.Struct, frozen=True, kw_only=True):
    """Take no more; no WindowClosed follows. A window that is not open is no fault."""

    name: str


class Withdraw(msgspec.Struct, frozen=True, kw_only=True):
    """Close a seat's open turns, as lost: their replies are refused, and no Missed follows. `control` hears of it as
    `withdrawn`."""

    seat: str


class StartChild(msgspec.Struct, frozen=True, kw_only=True):
    """Open another session beneath this one: its id is `view.child()`, its end comes as ChildEnded. Of several in a
    step, each has its place (`view.child(place)`).

    Its budget is the opening's, and at most what is left of this session's, from which it is reserved until it ends.
    """

    opening: OpenSession
    """`parent` and `budget` are completed by the machine; `inherits` has this session's documents go with it."""


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """The session is over (after Stop); its result is taken from the protocol's `outcome`."""


Wish = (
    AskSeat
    | SayOn
    | Rephrase
    | OpenWindow
    | CloseWindow
    | Invite
    | Withdraw
    | StartChild
    | CancelChild
    | Tell
    | Notify
    | Stop
    | Finish
)
