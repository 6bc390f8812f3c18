"""What MACI's controller learns across debates, as methods: settings of its stop, and what its bandit carries over.

Both are learned on the fit half, by the code that sessions use (parley.client.reliability.policy). A recorded debate
is a case like a session with feedback, and words stand for tokens. Of the grid only those rows are tried that change
something which the data records: overlap and the scores of judges are not recorded. Where the record ends, every row
ends.

The flags of a plateau have a grid of their own, `FLAGS`. In a session they also raise the gates and lower the dial, so
no record of a session says what would have been said under others. In a recorded debate the gates stay at 0 and nobody
hears the dial. There the flags decide when it ends, and nothing else, so each row is played in full.

Nobody in a recorded debate hears the dials, and the gates stay at 0 because Q is not recorded. So what the bandit
chooses cannot change an outcome here. Its methods are run all the same, and the report says that they come to the same.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache, partial
from itertools import islice, pairwise
from typing import Any

import msgspec

from parley.client.faces.course import Course, Pull
from parley.client.reliability.policy import Case, Grid, carried, choices, chosen
from parley.coordinator.schedulers import learned, tried
from parley.coordinator.schedulers.controller import State, advance, begin
from parley.schemas.afterwards.policy import Arm, Choice
from parley.schemas.control import Control
from parley_research.debates.methods.controlled import Controlled, Seen, answers, seen
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method
from parley_research.learned.stopping import JUDGE_PRICES, PRICES

GRID: Grid = {name: row for name, row in tried.GRID.items() if not row.keys() & {"tau_o", "stalemate_rounds"}}
FLAGS: Grid = {
    tried.PUBLISHED: {},
    **{f"eps x {factor:g}": {"eps_i": 0.02 * factor, "eps_d": 0.05 * factor} for factor in (0.5, 2, 5, 10)},
}
"""Published and other sizes of what counts as no progress (eq. 7), both flags alike."""
_ROWS = {**GRID, **FLAGS}
PAPER: Mapping[str, Any] = {"reading": "paper"}
_BANDIT: Mapping[str, Any] = {"reading": "paper", "schedule": "learned", "q_gate": False}


@lru_cache(maxsize=50_000)
def played(config: Control, options: int, course: tuple[Seen, ...], arms: tuple[Arm, ...] = ()) -> tuple[State, ...]:
    """The controller after each round, to the end of the record. Many debates take the same course."""
    state = begin(config, tuple(f"o{place}" for place in range(options)), course[0].observation(), arms=arms)
    states = [state]
    for step in course[1:]:
        state = advance(config, state, step.observation())
        states.append(state)
    return tuple(states)


@lru_cache(maxsize=50_000)
def _ends(config: Control, options: int, course: tuple[Seen, ...], names: tuple[str, ...]) -> dict[str, int]:
    """Row of a grid -> the round after which it ends the debate. Flags change the rounds, so these are played anew."""
    ends = {}
    for name in names:
        row = _ROWS[name]
        changed = msgspec.structs.replace(config, **row)
        rounds = played(changed if name in FLAGS else config, options, course)[-1].rounds
        end = tried.end(changed, rounds, first=1)
        ends[name] = len(rounds) - 1 if end is None else end
    return ends


def case(config: Control, debate: RecordedDebate, grid: Grid = GRID) -> Case:
    """A debate that shows its gold, as what one session says of the settings."""
    course = tuple(islice(seen(debate, tokens=False), len(debate.rounds)))
    states = played(config, len(debate.options), course)
    right = []
    for last, state in enumerate(states):
        given = answers(debate, last, tuple(state.mixture.values()))
        right.append(sum(place in debate.right for place in given) / len(given) if given else 0.0)
    words = tuple(debate.words(last) for last in range(len(states)))
    ends = _ends(config, len(debate.options), course, tuple(grid))
    return Case(course=Course(right=tuple(right), tokens=words, ends=ends), right=right[-1])


class LearnedSettings(Controlled):
    """The published controller with the settings that the fit half speaks for, where it surely does."""

    family = "learned"
    fits = True
    compared: tuple[Choice, ...] = ()
    """The grid on the fit half; empty: too few debates."""

    def __init__(self, name: str, title: str, price: float, judged: float, grid: Grid = GRID) -> None:
        super().__init__(name, title, PAPER)
        self.price, self.judged, self.grid = price, judged, grid

    def fit(self, debates: Sequence[RecordedDebate]) -> "LearnedSettings":
        fitted = copy(self)
        several = [debate for debate in debates if len(debate.members) > 1]
        price = self.judged if any(debate.rounds[0].verdict for debate in several) else self.price
        fitted.compared = choices([case(self.control, debate, self.grid) for debate in several], self.grid, price)
        best = chosen(fitted.compared)
        if best is not None:
            fitted.control = msgspec.structs.replace(self.control, **best.settings)
        return fitted


class CarriedBandit(Controlled):
    """The learned schedule of the published controller, which begins with what the fit half taught it."""

    family = "learned"
    fits = True

    def __init__(self, name: str, title: str, policy: str) -> None:
        super().__init__(name, title, {**_BANDIT, "policy": policy})

    def fit(self, debates: Sequence[RecordedDebate]) -> "CarriedBandit":
        """One debate after another. It learns after 1, 2, 4, 8, ... of them, and once more at the end."""
        fitted = copy(self)
        cases: list[Case] = []
        for number, debate in enumerate(debates):
            if number & (number - 1) == 0:
                fitted.arms = carried(cases)[0]
            if len(debate.members) > 1:
                cases.append(fitted.pulled(debate))
        fitted.arms = carried(cases)[0]
        return fitted

    def pulled(self, debate: RecordedDebate) -> Case:
        """What the bandit chose in a debate that shows its gold, and what that earned."""
        course = tuple(islice(seen(debate, tokens=True), len(debate.rounds)))
        states = played(self.control, len(debate.options), course, self.arms)
        last, mixture, _ = self.played(len(debate.options), course)
        given = answers(debate, last, mixture)
        pulls = tuple(
            Pull(
                action=before.learned.action, context=before.learned.context,
                reward=learned.earned(self.control, now.rounds), tokens=now.rounds[-1].tokens,
            )
            for before, now in pairwise(states[: last + 1])
            if before.learned is not None and before.learned.action is not None
        )  # fmt: skip
        right = sum(place in debate.right for place in given) / len(given) if given else 0.0
        return Case(course=Course(pulls=pulls), right=right)


def _add(name: str, make: Any, *given: Any) -> None:
    add_method(name, partial(make, name, *given))


_add(
    "maci_learned", LearnedSettings, "MACI, settings of the stop learned, words have a price", PRICES["learned_stop"],
    JUDGE_PRICES["judge_learned"],
)  # fmt: skip
_add("maci_learned_free", LearnedSettings, "MACI, settings of the stop learned, words are free", 0.0, 0.0)
_add(
    "maci_flags_learned", LearnedSettings, "MACI, flags of the plateau learned, words have a price",
    PRICES["learned_stop"], JUDGE_PRICES["judge_learned"], FLAGS,
)  # fmt: skip
_add("maci_ucb_carried", CarriedBandit, "MACI, UCB carried over", "ucb")
_add("maci_linucb_carried", CarriedBandit, "MACI, LinUCB carried over", "linucb")
