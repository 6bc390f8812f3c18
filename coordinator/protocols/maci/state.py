"""maci: the state of a session.

What was said lives in posts, to which it refers by number. A round's replies are kept here until the round is closed:
nobody may see them before, and debaters never see some of them.
"""

from enum import StrEnum, auto
from typing import TypeVar

import msgspec

from parley.coordinator.schedulers import controller
from parley.coordinator.table import View
from parley.schemas.belief import Belief, Share
from parley.schemas.protocols.maci.messages import CountsAs, Earlier, Group, Passage, Passages
from parley.schemas.text import Similar
from parley.schemas.wire import Json, decode

DEBATER, JUDGE, ANALYST, HELPER = "debater", "judge", "analyst", "helper"
LEAST_DEBATERS = 2
NONE_OF_THESE = "none of these"
"""Added to a single proposal: with one outcome nothing can be measured."""

T = TypeVar("T")


class Phase(StrEnum):
    """Where a session stands."""

    RETRIEVING = auto()
    """The helper looks for the task's passages."""
    BLIND = auto()
    """Round 0: every debater answers alone."""
    MERGING = auto()
    """Open outcomes: the analyst says which proposals are the same."""
    ARGUING = auto()
    JUDGING = auto()
    """The judges score the round's arguments, and the helper measures their evidence."""
    PLANNING = auto()
    """Between rounds: the analyst says what would separate the outcomes."""
    RETRIEVING_MORE = auto()
    """The plan's queries run."""
    CONCLUDING = auto()
    """The stop is decided; the analyst draws up the retrieval plan."""
    DONE = auto()


class AdmittedArgument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument of the curated record."""

    post: int
    id: str
    seat: str
    tests: bool = False
    """A devil's advocate's that speaks against the answer that all shared."""


class ClosedRound(msgspec.Struct, frozen=True, kw_only=True):
    """A closed round."""

    number: int
    post: int
    """Post of its `signals`."""
    admitted: tuple[AdmittedArgument, ...] = ()
    refused: tuple[int, ...] = ()
    """Posts of refused arguments."""
    good: tuple[int, ...] = ()
    """Those of them that the judges passed and the gate on evidence alone refused: debaters are shown them as such."""
    missing: tuple[str, ...] = ()
    """Seats whose turn came to nothing."""
    unjudged: bool = False
    """There were arguments, but no judge replied."""
    unmeasured: bool = False
    """There were arguments, but no similarities."""
    attacks: int | None = None
    """Arguments of the round's devil's advocate; None: there was none, or it missed its turn."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a session of this protocol remembers beside its posts."""

    phase: Phase
    passages: tuple[int, ...] = ()
    """Posts with passages; none: nothing was found."""
    outcomes: tuple[str, ...] = ()
    """The outcomes. Open ones: empty until they are merged."""
    merged_by: str = ""
    """analyst | names; empty: nothing had to be merged."""
    debaters: tuple[str, ...] = ()
    """Debaters with a blind belief."""
    left_out: tuple[str, ...] = ()
    vote: str = ""
    blind: dict[str, int] = {}
    """Debater -> post of its blind belief."""
    control: controller.State | None = None
    """The controller's state, from the end of the blind round on."""
    round: int = 0
    """Number of the round that runs, or ran last."""
    pending: dict[str, Json] = {}
    """What the running round's debaters replied."""
    late: dict[str, Json] = {}
    """Blind beliefs and arguments that came after their round: they count from the next one on."""
    similar: Similar | None = None
    """Similarities of the running round's spans."""
    scores: dict[str, Json] = {}
    """What the running round's judges replied."""
    missing: tuple[str, ...] = ()
    """Seats that missed in the running round."""
    short: str = ""
    """The limit that kept a blind debater from another attempt."""
    spent: int = 0
    """Tokens when the last round was closed."""
    arguments: int = 0
    """Arguments numbered so far."""
    rounds: tuple[ClosedRound, ...] = ()
    dropped: int | None = None
    """The round that the budget did not hold to its end."""
    looking: tuple[str, ...] = ()
    """Queries that are running."""
    asked: tuple[str, ...] = ()
    """Queries that were run."""
    looked: int = 0
    """Documents that debaters looked up, of which passages were made."""
    plan: int | None = None
    """Post of the closing plan."""
    ended: str = ""
    """The reason of the stop decision."""
    said: dict[str, tuple[Earlier, ...]] = {}
    """Debater -> its own words of each round, which it is shown again."""
    advocate: str = ""
    """Devil's advocate of the running round; empty: nobody."""
    waiting: dict[str, tuple[str, ...]] = {}
    """Debater -> a devil's advocate's arguments that it has still to answer."""
    groups: tuple[Group, ...] = ()
    """Open outcomes as they stand, each with the words that count as it."""
    unconfirmed: dict[str, tuple[CountsAs, ...]] = {}
    """Debater -> its words that were merged into an outcome of another name, and that it was not shown yet."""

    @property
    def record(self) -> tuple[AdmittedArgument, ...]:
        """The curated record: the admitted arguments, the oldest first."""
        return tuple(entry for r in self.rounds for entry in r.admitted)

    @property
    def dials(self) -> controller.State:
        """The controller's state, once there is one."""
        assert self.control is not None, "the blind round comes first"
        return self.control


def body_of(view: View, post: int, as_type: type[T]) -> T:
    """The body of a post."""
    return decode(view.posts[post].body, as_type)


def passages(s: State, view: View) -> tuple[Passage, ...]:
    """All passages that may be cited, in the order of their numbers."""
    return tuple(p for post in s.passages for p in body_of(view, post, Passages).passages)


def only_seat(view: View, role: str) -> str:
    """The only seat of a role."""
    return view.seats(role)[0].seat


def shares(outcomes: tuple[str, ...], belief: tuple[float, ...]) -> Belief:
    """A belief as it is shown: six decimals, without outcomes that are then 0."""
    rounded = ((name, round(p, 6)) for name, p in zip(outcomes, belief, strict=True))
    return tuple(Share(outcome=name, p=p) for name, p in rounded if p > 0)
