"""Methods that read a judge's belief after each round: the competition's judge, and stop rules on that belief."""

from functools import partial

from parley.schemas.control import CONSTANTS
from parley_research.debates.method import Budget, Method, Needs, Outcome
from parley_research.debates.methods.played import after
from parley_research.debates.methods.votes import nothing
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method

LEAST_MOVE = CONSTANTS.least_move
"""Probability; a belief that moves by less has not moved (as in the controller)."""
SURE = 0.9


def moved(before: tuple[float, ...], now: tuple[float, ...]) -> float:
    """Total variation, 0 to 1."""
    return sum(abs(a - b) for a, b in zip(before, now, strict=True)) / 2


class Judge(Method):
    """Plays until a rule on the judge's belief holds, then takes that belief. No rule: to the end."""

    family = "judge"
    needs: frozenset[Needs] = frozenset({"verdicts"})

    def __init__(self, name: str, title: str, *, rounds: int = 1_000, still: bool = False, sure: float = 2.0) -> None:
        self.name, self.title = name, title
        self.rounds, self.still, self.sure = rounds, still, sure

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        most = budget.rounds(debate, min(self.rounds - 1, len(debate.rounds) - 1))
        if most < 0:
            return nothing(debate)
        before = debate.before
        for last in range(most + 1):
            belief = debate.rounds[last].verdict
            if max(belief) >= self.sure:
                return after(debate, last, belief, stop="sure")
            if self.still and before and last and moved(before, belief) < LEAST_MOVE:
                return after(debate, last, belief, stop="still")
            before = belief
        return after(debate, most, debate.rounds[most].verdict)


for _name, _title, _rule in (
    ("judge", "competition: the judge's last belief", {}),
    ("judge_first", "the judge after one round", {"rounds": 1}),
    ("judge_sure", f"stop when the judge is sure ({SURE:g})", {"sure": SURE}),
    ("judge_still", "stop when the judge does not move", {"still": True}),
):
    add_method(_name, partial(Judge, _name, _title, **_rule))
