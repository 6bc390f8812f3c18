"""What a method is: it reads a debate, within a budget, and says how likely each option is and what that cost."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

import msgspec

from parley_research.debates.record import RecordedDebate

TIE = 1e-9
"""Probabilities so near to the greatest are tied."""
ROUNDING = 1e-6

Needs = Literal[
    "rounds", "members", "pair", "samples", "verdicts", "words", "beliefs", "confidence", "evidence", "objections"
]
"""rounds: more than the blind one. members: several, the same in every debate of a group. pair: two members or more in
some debate, who may argue for answers that were given to them. samples: many answers of one model to one question. The
others: the data records it; no set records objections."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """The most that a method may spend on a question. None: no limit. What it reads counts only as far as it was
    recorded."""

    words: int | None = None
    tokens: int | None = None
    calls: int | None = None

    def allows(self, words: int, tokens: int, calls: int) -> bool:
        """Whether so much may be spent in all."""
        pairs = ((words, self.words), (tokens, self.tokens), (calls, self.calls))
        return all(most is None or spent <= most for spent, most in pairs)

    def rounds(self, debate: RecordedDebate, wanted: int) -> int:
        """How many rounds after the blind one may be played, `wanted` at most. -1: not even the blind one."""
        for last in range(wanted, -1, -1):
            if self.allows(debate.words(last), debate.tokens(last), debate.calls(last)):
                return last
        return -1


UNLIMITED = Budget()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a method says about one question, and what it cost."""

    probabilities: tuple[float, ...]
    """By option, sum 1. All equal: it knows nothing."""
    leading: tuple[int, ...]
    """The options that it answers: one, or several that are tied and share the credit. None: it abstained."""
    rounds: int = 0
    """Played after the blind one. A method of samples: 0."""
    words: int = 0
    tokens: int = 0
    calls: int = 0
    stop: str = ""
    """Why it stopped. Empty: nothing was left to play."""
    early: bool = False
    """Rounds were left to play."""
    flips: int = 0
    """Changes of a member's answer from one round to the next, within the rounds played."""
    unexplained: int | None = None
    """Of these, changes in a statement that quoted nothing new. None: what was quoted is not recorded."""

    @property
    def answer(self) -> int | None:
        """The first of the leading options. None: it abstained."""
        return self.leading[0] if self.leading else None


def leading(probabilities: Sequence[float]) -> tuple[int, ...]:
    """The options with the greatest probability, ties included.

    Examples
    --------
    >>> leading((0.5, 0.5, 0.0))
    (0, 1)
    """
    most = max(probabilities)
    return tuple(place for place, p in enumerate(probabilities) if p >= most - TIE)


class Method(ABC):
    """One way to answer a question from a recorded debate. A method keeps nothing between two runs."""

    name: str
    """Short, without blanks: a key of the results, such as `vote`."""
    title: str
    """As tables print it."""
    family: str = ""
    """Of which family, such as `alone`, `vote`, `debate`, `maci`, `bound`, `learned`."""
    needs: frozenset[Needs] = frozenset()
    """What the data must have. Where it has not, the report says "not run" and why."""
    hindsight: bool = False
    """It is shown the gold: a bound, not a method that anybody can use."""
    has_confidence: bool = True
    """It says how sure it is. If not, its answer has probability 1, and it has no calibration."""
    fits: bool = False
    """It learns from the fit half, with its gold. It is run on the test half alone."""

    def fit(self, debates: Sequence[RecordedDebate]) -> "Method":
        """A method that has learned from these debates, which show their gold. It must not keep the debates."""
        return self

    @abstractmethod
    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        """Answer one question. `debate.gold` is `UNKNOWN`, unless the method says `hindsight`."""


def checked(outcome: Outcome, debate: RecordedDebate) -> Outcome:
    """The outcome as it is.

    Raises
    ------
    ValueError
        Probabilities that do not fit the options, are negative or do not sum to 1, or an answer that is no option.
    """
    given = outcome.probabilities
    if len(given) != len(debate.options):
        raise ValueError(f"{debate.id}: {len(given)} probabilities for {len(debate.options)} options")
    if min(given) < -ROUNDING or abs(sum(given) - 1) > ROUNDING:
        raise ValueError(f"{debate.id}: probabilities {given} do not sum to 1")
    if any(not 0 <= place < len(debate.options) for place in outcome.leading):
        raise ValueError(f"{debate.id}: answer {outcome.leading} is none of the {len(debate.options)} options")
    return outcome
