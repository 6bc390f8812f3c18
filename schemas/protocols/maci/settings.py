"""Settings of a MACI session (docs/maci.md)."""

from itertools import pairwise
from typing import ClassVar, Literal

from parley.schemas.control import Constants, Control
from parley.schemas.text import answer_key
from parley.schemas.tools import MOST_LOOK_UPS
from parley.schemas.wire import InvalidValue, few, in_range, not_empty

MOST_OUTCOMES = 1_000
MOST_DEBATERS = 8
FARTHEST = 1e12
"""Of a position from 0: any two of them have a distance."""


class SessionConstants(Constants, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers of a session that every session shares."""

    max_arguments: int = 3  # a round's record stays short enough for one prompt
    """Of one debater in one round."""
    top_k: int = 5  # as many as a screen shows
    """Outcomes of the mixture that the result lists."""
    plan_size: int = 5  # what a person can look up; the paper gives none
    """Tests that a plan may name."""
    context_tokens: int = 4_000  # B.2
    """Of the passages retrieved for the task together, estimated."""

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("constants.max_arguments", self.max_arguments, 1, 10)
        in_range("constants.top_k", self.top_k, 1, 100)
        in_range("constants.plan_size", self.plan_size, 1, 20)
        in_range("constants.context_tokens", self.context_tokens, 100, 1_000_000)


SESSION_CONSTANTS = SessionConstants()


class Settings(Control, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one session."""

    section: ClassVar[str] = "maci"
    outcomes: tuple[str, ...] = ()
    """What may be the answer; none: open, the debaters' first proposals are merged by the analyst."""
    ordered: bool = False
    """The outcomes stand on a scale, in this order: disagreement is then Wasserstein's (D.4)."""
    positions: tuple[float, ...] = ()
    """Of ordered outcomes on their scale, rising; none: one unit apart."""
    debaters: int = 2
    """Seats, where the session names none. 2 to 8."""
    cross_family: Literal["prefer", "demand", "ignore"] = "prefer"
    """Whether judges are to be of another model family than every debater (E.1)."""
    frames: tuple[str, ...] = ()
    """For each debater, in the order of seats, the point of view from which it answers blind (B.3, J); none: all begin
    alike."""
    close_the_loop: bool = False
    """After each round the plan's queries are run against the corpus, and what they find enters the next one."""
    look_ups: int = 0
    """Calls of tools that a debater may make before it answers or argues, at most 8. What they return is among the
    passages from the next round on."""
    max_input_tokens: int = 24_000
    max_output_tokens: int = 2_000

    @property
    def constants(self) -> SessionConstants:
        """The numbers that are no settings."""
        return SESSION_CONSTANTS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_outcomes(self.outcomes, self.ordered, self.positions, open_too=True)
        in_range("maci.debaters", self.debaters, 2, MOST_DEBATERS)
        few("maci.frames", self.frames, MOST_DEBATERS)
        for frame in self.frames:
            not_empty("maci.frames", frame, 1_000)
        in_range("maci.look_ups", self.look_ups, 0, MOST_LOOK_UPS)
        in_range("maci.max_input_tokens", self.max_input_tokens, 100, 10_000_000)
        in_range("maci.max_output_tokens", self.max_output_tokens, 20, 1_000_000)


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
