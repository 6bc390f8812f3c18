"""MACI's controller over recorded debates: the project's own signals, dials and stop rule, called in process.

What is recorded decides what can be tried. Answers, and where they are there beliefs, confidences and quotations, go
into the controller as a session would give them. CRIT and evidence quality were recorded by nobody: their gates are 0,
and every agent weighs the same. Members that were recorded do not hear the dial, so settings that only change what
members are told (contentiousness, its schedule, the bandit) cannot change an outcome here. They are run all the same:
the report says which methods gave the same outcome everywhere.

In debates before a judge the judge's belief stands for both debaters' beliefs, because theirs are assigned to them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import msgspec

from parley.coordinator.schedulers.controller import Observation, advance, begin, verdict
from parley.schemas.control import Control, Tuned
from parley_research.control import tuned
from parley_research.debates.method import Budget, Method, Needs, Outcome, leading
from parley_research.debates.methods.played import after
from parley_research.debates.methods.votes import nothing, stated
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method

RECORDED: dict[str, Any] = {"tau_q": 0.0, "tau_o": 0.0, "gamma": 0.0}
"""Q is not recorded: its gate is 0 and stays there. Overlap is used where quotations were recorded."""
TAU_O = Control().tau_o

VARIANTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("maci", "MACI, as Parley runs it", {}),
    ("maci_paper", "MACI, as published (equation 10, relative)", {"reading": "paper"}),
    ("maci_absolute", "MACI, published, absolute test (D.5)", {"reading": "paper", "plateau": "absolute"}),
    ("maci_ungated", "MACI, published, no monotone gate", {"reading": "paper", "monotone_gate": False}),
    ("maci_no_gates", "MACI, published, no gates at all", {"reading": "paper", "monotone_gate": False, "q_gate": False,
     "crit_gate": False}),
    ("maci_no_average", "MACI, published, no moving average (w 1)", {"reading": "paper", "w": 1}),
    ("maci_no_ema", "MACI, published, no memory of reliability (lambda 0)", {"reading": "paper", "lambda": 0.0}),
    ("maci_lambda_95", "MACI, published, lambda .95", {"reading": "paper", "lambda": 0.95}),
    ("maci_fixed", "MACI, published, fixed contentiousness .5", {"reading": "paper", "schedule": "fixed", "cl": 0.5}),
    ("maci_stepped", "MACI, published, stepped contentiousness", {"reading": "paper", "schedule": "stepped"}),
    ("maci_fixed_thresholds", "MACI, published, thresholds that stay (gamma 0)", {"reading": "paper", "gamma": 0.0}),
    ("maci_patient", "MACI, published, three rounds of plateau", {"reading": "paper", "tau_stop": 3}),
    ("maci_hasty", "MACI, published, one round of plateau", {"reading": "paper", "tau_stop": 1}),
    ("maci_ucb", "MACI, published, UCB", {"reading": "paper", "schedule": "learned", "policy": "ucb"}),
    ("maci_linucb", "MACI, published, LinUCB", {"reading": "paper", "schedule": "learned", "policy": "linucb"}),
    ("maci_averaging", "MACI, published, averaging .5 (M.1)", {"reading": "paper", "averaging": 0.5}),
)  # fmt: skip
OVERLAPPING = ("maci_overlap", "MACI, published, overlap from quotations", {"reading": "paper", "tau_o": TAU_O})


def control(changed: Mapping[str, Any]) -> Tuned:
    """The defaults, what the recorded data forces, and then these."""
    return tuned({**RECORDED, **changed})


class Seen(msgspec.Struct, frozen=True):
    """What a session's moderator would know after one round."""

    beliefs: tuple[tuple[float, ...], ...]
    """By member."""
    evidence: tuple[tuple[str, ...], ...]
    """What each member has quoted so far."""
    tokens: int
    arguments: int

    def observation(self) -> Observation:
        """As the controller takes it."""
        quoted = {f"m{place}": passages for place, passages in enumerate(self.evidence) if passages}
        beliefs = {f"m{place}": belief for place, belief in enumerate(self.beliefs)}
        return Observation(beliefs=beliefs, evidence=quoted, tokens=self.tokens, arguments=self.arguments)


def seen(debate: RecordedDebate, *, tokens: bool) -> Iterator[Seen]:
    """After each round. `tokens`: whether the controller asks what a round cost."""
    options = len(debate.options)
    beliefs: list[tuple[float, ...]] = [(1 / options,) * options] * len(debate.members)
    quoted: list[dict[str, None]] = [{} for _ in debate.members]
    for spoken in debate.rounds:
        for said in spoken.statements:
            if said.answer is not None or said.belief:
                beliefs[said.member] = stated(said, options)
            quoted[said.member].update(dict.fromkeys(said.evidence))
        yield Seen(
            beliefs=tuple(spoken.verdict or belief for belief in beliefs),
            evidence=tuple(tuple(passages) for passages in quoted),
            tokens=sum(said.tokens or said.words for said in spoken.statements) if tokens else 0,
            arguments=len(spoken.statements),
        )


def answers(debate: RecordedDebate, last: int, mixture: Sequence[float]) -> tuple[int, ...]:
    """What the mixture answers after a round: of its greatest options those that somebody gave by then."""
    given = {s.answer for spoken in debate.rounds[: last + 1] for s in spoken.statements}
    return tuple(place for place in leading(mixture) if place in given or debate.rounds[0].verdict)


class Controlled(Method):
    """The controller's stop; the answer is its mixture's (eq. 5)."""

    family = "maci"
    needs: frozenset[Needs] = frozenset({"rounds", "pair"})

    def __init__(self, name: str, title: str, changed: Mapping[str, Any], needs: Sequence[Needs] = ()) -> None:
        self.name, self.title = name, title
        self.control = control(changed)
        self.needs = self.needs | frozenset(needs)

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        most = budget.rounds(debate, len(debate.rounds) - 1)
        if most < 0 or len(debate.members) < 2:
            return nothing(debate)
        spends = self.control.schedule == "learned"
        course = tuple(islice(seen(debate, tokens=spends), most + 1))
        last, mixture, reason = self.played(len(debate.options), course)
        told = reason or ("budget" if last < len(debate.rounds) - 1 else "")
        return after(debate, last, mixture, answers=answers(debate, last, mixture), stop=told)

    @lru_cache(maxsize=20_000)
    def played(self, options: int, course: tuple[Seen, ...]) -> tuple[int, tuple[float, ...], str]:
        """(the round after which it stopped, the mixture then, why or nothing). Many debates take the same course."""
        names = tuple(f"o{place}" for place in range(options))
        state = begin(self.control, names, course[0].observation())
        last, stop = 0, None
        while stop is None and last + 1 < len(course):
            last += 1
            state = advance(self.control, state, course[last].observation())
            stop = verdict(self.control, state)
        return last, tuple(state.mixture.values()), "" if stop is None else stop.reason


for _name, _title, _changed in VARIANTS:
    add_method(_name, partial(Controlled, _name, _title, _changed))
add_method(OVERLAPPING[0], partial(Controlled, *OVERLAPPING, needs=("evidence",)))
