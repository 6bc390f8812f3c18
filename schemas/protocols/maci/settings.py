"""Settings of a MACI session (docs/maci.md)."""

from itertools import pairwise
from typing import Annotated, Literal

from parley.schemas.control import Constants, Control
from parley.schemas.text import answer_key
from parley.schemas.tools import MOST_LOOK_UPS
from parley.schemas.wire import InvalidValue, between, chars, in_range, items, not_empty

MOST_OUTCOMES = 1_000
MOST_DEBATERS = 8
FARTHEST = 1e12
"""Of a position from 0: any two of them have a distance."""


class SessionConstants(Constants, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers of a session that every session shares."""

    max_arguments: Annotated[int, between(1, 10)] = 3  # a round's record stays short enough for one prompt
    """Of one debater in one round."""
    top_k: Annotated[int, between(1, 100)] = 5  # as many as a screen shows
    """Outcomes of the mixture that the result lists."""
    plan_size: Annotated[int, between(1, 20)] = 5  # what a person can look up; the paper gives none
    """Tests that a plan may name."""
    context_tokens: Annotated[int, between(100, 1_000_000)] = 4_000  # B.2
    """Of the passages retrieved for the task together, estimated."""


SESSION_CONSTANTS = SessionConstants()


class Settings(Control, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one session."""

    where = "maci."
    outcomes: tuple[str, ...] = ()
    """What may be the answer; none: open, the debaters' first proposals are merged by the analyst."""
    ordered: bool = False
    """The outcomes stand on a scale, in this order: disagreement is then Wasserstein's (D.4)."""
    positions: tuple[float, ...] = ()
    """Of ordered outcomes on their scale, rising; none: one unit apart."""
    debaters: Annotated[int, between(2, MOST_DEBATERS)] = 2
    """Seats, where the session names none. 2 to 8."""
    cross_family: Literal["prefer", "demand", "ignore"] = "prefer"
    """Whether judges are to be of another model family than every debater (E.1)."""
    frames: Annotated[tuple[Annotated[str, chars(1_000, least=1)], ...], items(MOST_DEBATERS)] = ()
    """For each debater, in the order of seats, the point of view from which it answers blind (B.3, J); none: all begin
    alike."""
    close_the_loop: bool = False
    """After each round the plan's queries are run against the corpus, and what they find enters the next one."""
    look_ups: Annotated[int, between(0, MOST_LOOK_UPS)] = 0
    """Calls of tools that a debater may make before it answers or argues, at most 8. What they return is among the
    passages from the next round on."""
    max_input_tokens: Annotated[int, between(100, 10_000_000)] = 24_000
    max_output_tokens: Annotated[int, between(20, 1_000_000)] = 2_000

    @property
    def constants(self) -> SessionConstants:
        """The numbers that are no settings."""
        return SESSION_CONSTANTS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_outcomes(self.outcomes, self.ordered, self.positions, open_too=True)


class TunedSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same with numbers of one's own: for a recorded session that is computed again, never for one that runs."""

    constants: SessionConstants = SESSION_CONSTANTS


def check_outcomes(
    outcomes: tuple[str, ...], ordered: bool, positions: tuple[float, ...], open_too: bool = False
) -> None:
    """Raise InvalidValue unless these are 2 to 1,000 different names, with positions only where they are ordered."""
    if not outcomes and open_too:
        if ordered or positions:
            raise InvalidValue("maci.ordered", "without outcomes", "what is open has no order: give maci.outcomes")
        return
    if not 2 <= len(outcomes) <= MOST_OUTCOMES:
        raise InvalidValue("maci.outcomes", len(outcomes), f"allowed are 2 to {MOST_OUTCOMES:,}")
    seen: dict[str, str] = {}
    for name in outcomes:
        not_empty("maci.outcomes", name, 200)
        key = answer_key(name)
        if key in seen:
            raise InvalidValue("maci.outcomes", name, f"two outcomes are the same: {seen[key]!r} and {name!r}")
        seen[key] = name
    if positions:
        if not ordered:
            raise InvalidValue("maci.positions", len(positions), "only ordered outcomes have positions")
        if len(positions) != len(outcomes):
            raise InvalidValue("maci.positions", len(positions), f"wanted is one for each of {len(outcomes)} outcomes")
        for position in positions:
            in_range("maci.positions", position, -FARTHEST, FARTHEST)
        if any(not b > a for a, b in pairwise(positions)):
            raise InvalidValue("maci.positions", list(positions), "they must rise")
