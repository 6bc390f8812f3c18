"""When a recorded debate is stopped, by which rule, and what is answered then.

A rule reads a debate's rounds in order and names the round after which it stops; one that never does plays it to the
end. The answer is the vote of the answers that stand in that round; equation 10 answers with its mixture.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from parley.coordinator.schedulers.controller import Observation, advance, begin, verdict
from parley.schemas.control import Control, Tuned
from parley_research.control import tuned
from parley_research.loaders import Debate

WHOLE = 60
"""Credit of a right answer. A tie's is shared evenly, and 60 is a multiple of every number of agents up to six."""
TIE = 1e-9
"""Shares of the mixture so near to the greatest are tied."""

RELATIVE = tuned({"reading": "paper", "tau_q": 0.0, "tau_o": 0.0, "gamma": 0.0})
"""Equation 10 on information gain and disagreement alone: with Q and O not recorded their thresholds are 0, and the
gate of Q stays there (gamma, eq. 9)."""
ABSOLUTE = tuned({"reading": "paper", "tau_q": 0.0, "tau_o": 0.0, "gamma": 0.0, "plateau": "absolute"})
UNGATED = msgspec.structs.replace(RELATIVE, monotone_gate=False)
"""Its stop alone: the monotone gate changes what is answered, too."""


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """One debate under one rule."""

    credit: int
    """Sixtieths of a right answer, in expectation over ties."""
    words: int
    rounds: int
    """After the blind one."""
    early: bool
    """Stopped by the rule before the recorded rounds ended."""
    plateau: Literal["", "agreed", "split"] = ""
    """Of equation 10, where it held: whether the disagreement was near consensus then."""
    held: int = 0
    """Rounds whose beliefs the monotone gate held back."""


Rule = Callable[[Debate], Played]
Answers = tuple[int | None, ...]
"""Of all members in one round."""


def credit(leading: Sequence[int], gold: int) -> int:
    """Sixtieths of a right answer when one of these is picked, each as likely; nothing to pick from is wrong."""
    return WHOLE // len(leading) if gold in leading else 0


def vote(answers: Sequence[int | None]) -> tuple[int, ...]:
    """The outcomes with the most votes; none if nobody has answered."""
    votes = [a for a in answers if a is not None]
    most = max((votes.count(a) for a in votes), default=0)
    return tuple(sorted({a for a in votes if votes.count(a) == most}))


def _after(debate: Debate, last: int) -> Played:
    """What stands after this round, by vote."""
    return Played(
        credit=credit(vote(debate.rounds[last].answers), debate.gold),
        words=sum(sum(r.words) for r in debate.rounds[: last + 1]),
        rounds=last,
        early=last < len(debate.rounds) - 1,
    )


def _first(debate: Debate, stops: Callable[[int], bool]) -> Played:
    """Stopped after the first round that satisfies it, or after the last."""
    return _after(debate, next((t for t in range(len(debate.rounds)) if stops(t)), len(debate.rounds) - 1))


def no_debate(debate: Debate) -> Played:
    """The vote of the blind round."""
    return _after(debate, 0)


def alone(agent: int) -> Rule:
    """What one agent answered in the blind round, at the cost of its words."""

    def rule(debate: Debate) -> Played:
        blind = debate.rounds[0]
        return Played(
            credit=credit(vote(blind.answers[agent : agent + 1]), debate.gold),
            words=blind.words[agent],
            rounds=0,
            early=True,
        )

    return rule


def full(debate: Debate) -> Played:
    """Every recorded round."""
    return _after(debate, len(debate.rounds) - 1)


def unanimous(standing: Sequence[Answers]) -> bool:
    """Whether in the last of these rounds all have answered, and all the same."""
    return None not in standing[-1] and len(set(standing[-1])) == 1


def nobody_moved(standing: Sequence[Answers]) -> bool:
    """Whether the last of these rounds, not the blind one, changed nobody's answer."""
    return len(standing) > 1 and standing[-1] == standing[-2]


def _by(holds: Callable[[Sequence[Answers]], bool], debate: Debate) -> Played:
    """Stopped after the first round up to which the answers satisfy it."""
    standing = [r.answers for r in debate.rounds]
    return _first(debate, lambda t: holds(standing[: t + 1]))


def unanimity(debate: Debate) -> Played:
    """Stop when all have answered, and all the same."""
    return _by(unanimous, debate)


def unchanged(debate: Debate) -> Played:
    """Stop after one round, not the blind one, that changed nobody's answer."""
    return _by(nobody_moved, debate)


def oracle(debate: Debate) -> Played:
    """The round whose vote is best, picked in hindsight; of several the first. No rule can be better than this."""
    credits = [credit(vote(r.answers), debate.gold) for r in debate.rounds]
    return _after(debate, credits.index(max(credits)))


def equation_10(control: Control) -> Rule:
    """The controller's own stop, by its plateau; the answer is the mixture's (eq. 5)."""

    def rule(debate: Debate) -> Played:
        ended = _plateau(control, len(debate.outcomes), tuple(r.answers for r in debate.rounds))
        return msgspec.structs.replace(
            _after(debate, ended.round),
            credit=credit(ended.leading, debate.gold),
            plateau=ended.plateau,
            held=ended.held,
        )

    return rule


def beliefs(answers: Sequence[int | None], outcomes: int) -> dict[str, tuple[float, ...]]:
    """By agent (`a0`, `a1`, ...): all on its answer; even where it has none. The controller smooths them (M.1)."""
    even = (1.0 / outcomes,) * outcomes
    return {
        f"a{i}": even if a is None else tuple(float(o == a) for o in range(outcomes)) for i, a in enumerate(answers)
    }


class _Ended(msgspec.Struct, frozen=True, kw_only=True):
    round: int
    leading: tuple[int, ...]
    plateau: Literal["", "agreed", "split"]
    held: int


@cache
def _plateau(control: Control, outcomes: int, rounds: tuple[tuple[int | None, ...], ...]) -> _Ended:
    """The controller over one course of answers, which many debates share."""
    names = tuple(f"o{i}" for i in range(outcomes))
    state = begin(control, names, Observation(beliefs=beliefs(rounds[0], outcomes)))
    last, stop = 0, None
    while stop is None and last + 1 < len(rounds):
        last += 1
        state = advance(control, state, Observation(beliefs=beliefs(rounds[last], outcomes)))
        stop = verdict(control, state)
    assert stop is None or stop.reason == "plateau", stop
    mixture = list(state.mixture.values())
    answered = {a for answers in rounds[: last + 1] for a in answers if a is not None}
    return _Ended(
        round=last,
        leading=tuple(o for o, p in enumerate(mixture) if o in answered and p >= max(mixture) - TIE),
        plateau="" if stop is None else "agreed" if stop.converged else "split",
        held=len(state.held),
    )


def document(debate: Debate, control: Control = RELATIVE) -> dict[str, Any]:
    """The debate as `parley signals` reads it, with what differs from the defaults."""
    fresh = msgspec.to_builtins(Tuned())
    given = msgspec.to_builtins(control)
    constants = given.pop("constants", {})
    recorded = [beliefs(r.answers, len(debate.outcomes)) for r in debate.rounds]
    named = [dict(zip(debate.agents, b.values(), strict=True)) for b in recorded]
    return {
        "outcomes": list(debate.outcomes),
        "ordered": False,
        "config": {name: value for name, value in given.items() if value != fresh[name]},
        "constants": {name: value for name, value in constants.items() if value != fresh["constants"][name]},
        "rounds": [{"beliefs": b} for b in named],
    }
