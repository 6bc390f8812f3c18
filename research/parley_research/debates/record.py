"""A recorded debate in one shape, whoever recorded it.

What always holds:

1. Options, members and answers are named by their place, counted from 0.
2. Round 0 is blind: each member answered alone. A set without rounds has round 0 alone.
3. `question` names what was asked. Debates with the same question are resampled together, and lie in the same half.
4. A method gets a debate without its gold (`hidden`), except for methods that say that they know the answer.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Literal

import msgspec

UNKNOWN = -2
"""The gold is not shown."""
NONE = -1
"""The gold is none of the options."""
SPLIT = "parley-debates-1"
"""What the halves are drawn with. Another value draws other halves."""

Half = Literal["fit", "test"]


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """What one member said in one round."""

    member: int
    """A place in `members`."""
    answer: int | None
    """A place in `options`. None: no answer could be read, or it is none of the options."""
    confidence: float | None = None
    """What the member stated, 0 to 1. None: not recorded."""
    belief: tuple[float, ...] = ()
    """Stated probabilities by option. Empty: not recorded."""
    words: int = 0
    """Words spoken. 0: none, or not recorded (see `DataSet.records`)."""
    tokens: int = 0
    """Tokens as the provider counted them, input and output. 0: not recorded."""
    evidence: tuple[str, ...] = ()
    """What the member quoted: any names, equal for the same passage."""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """Statements in the order in which they were made, and what a judge believed after them."""

    statements: tuple[Statement, ...]
    verdict: tuple[float, ...] = ()
    """A judge's probabilities by option after the round. Empty: no judge, or not recorded."""
    verdict_words: int = 0


class RecordedDebate(msgspec.Struct, frozen=True, kw_only=True):
    """One question with its options, who answered it, and every round."""

    id: str
    question: str
    """A name of the question, not its text."""
    group: str = ""
    """Who debated, as one name: a method is fitted to each group alone."""
    kind: str = ""
    """What kind of question it is, such as the task."""
    options: tuple[str, ...]
    gold: int
    """A place in `options`, `NONE` or `UNKNOWN`."""
    also_right: tuple[int, ...] = ()
    """Other options that are right too, such as another spelling of the gold."""
    members: tuple[str, ...]
    rounds: tuple[Round, ...]
    open_answers: bool = False
    """The options are the answers that somebody gave, and so known only afterwards."""
    before: tuple[float, ...] = ()
    """What a judge believed before the first statement. Empty: not recorded."""

    def hidden(self) -> "RecordedDebate":
        """The same debate without its gold."""
        return self if self.gold == UNKNOWN else msgspec.structs.replace(self, gold=UNKNOWN, also_right=())

    @property
    def right(self) -> frozenset[int]:
        """Every option that is right; empty: none is, or it is not shown."""
        return frozenset((self.gold, *self.also_right)) if self.gold >= 0 else frozenset()

    def standing(self) -> Iterator[tuple[int | None, ...]]:
        """After each round, the last answer of each member. None: the member has given none yet.

        A statement without an answer leaves the member's last one standing, as an invalid reply does in a session.
        """
        last: list[int | None] = [None] * len(self.members)
        for spoken in self.rounds:
            for said in spoken.statements:
                if said.answer is not None:
                    last[said.member] = said.answer
            yield tuple(last)

    def words(self, rounds: int) -> int:
        """Words of the blind round and of so many rounds after it, a judge's included."""
        return sum(sum(s.words for s in r.statements) + r.verdict_words for r in self.rounds[: rounds + 1])

    def tokens(self, rounds: int) -> int:
        """Tokens of the blind round and of so many rounds after it. 0: not recorded."""
        return sum(s.tokens for r in self.rounds[: rounds + 1] for s in r.statements)

    def calls(self, rounds: int) -> int:
        """Statements and verdicts of the blind round and of so many rounds after it."""
        return sum(len(r.statements) + bool(r.verdict) for r in self.rounds[: rounds + 1])


def half(data_set: str, question: str) -> Half:
    """In which half a question lies: by the names of its set and of itself, so that more data moves nothing.

    Examples
    --------
    >>> half("ford", "copa/1") == half("ford", "copa/1")
    True
    """
    digest = sha256(f"{SPLIT}/{data_set}/{question}".encode()).digest()
    return "fit" if digest[0] % 2 == 0 else "test"


def of_half(data_set: str, debates: Iterable[RecordedDebate], which: Half) -> list[RecordedDebate]:
    """The debates whose question lies in this half."""
    return [debate for debate in debates if half(data_set, debate.question) == which]
