"""Stop rules that read answers alone: unanimity, one round that changed nothing, a fixed number of rounds."""

from collections.abc import Callable, Sequence
from functools import partial

from parley_research.debates.method import Budget, Method, Needs, Outcome
from parley_research.debates.methods.played import by_vote
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method
from parley_research.stops import Answers, nobody_moved, unanimous

Rule = Callable[[Sequence[Answers]], bool]


def played(rounds: int, standing: Sequence[Answers]) -> bool:
    """So many rounds after the blind one."""
    return len(standing) > rounds


class StopRule(Method):
    """Plays until the rule holds, then takes the vote."""

    family = "stop rule"
    needs: frozenset[Needs] = frozenset({"members", "rounds"})

    def __init__(self, name: str, title: str, rule: Rule) -> None:
        self.name, self.title, self.rule = name, title, rule

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        most = budget.rounds(debate, len(debate.rounds) - 1)
        seen: list[Answers] = []
        for last, answers in zip(range(most + 1), debate.standing(), strict=False):
            seen.append(answers)
            if self.rule(seen):
                return by_vote(debate, last, stop=self.name)
        return by_vote(debate, most, stop="budget" if most < len(debate.rounds) - 1 else "")


for _name, _title, _rule in (
    ("one_round", "one round of debate", partial(played, 1)),
    ("unanimity", "stop at unanimity", unanimous),
    ("unchanged", "stop after one unchanged round", nobody_moved),
):
    add_method(_name, partial(StopRule, _name, _title, _rule))
