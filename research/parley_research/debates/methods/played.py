"""What stands after a round, as an outcome: shared by the methods that read rounds."""

from collections.abc import Sequence
from functools import lru_cache

from parley_research.debates.method import Outcome, leading
from parley_research.debates.record import RecordedDebate


@lru_cache(maxsize=4096)
def shares(answers: tuple[int | None, ...], options: int) -> tuple[float, ...]:
    """The share of each option among the answers that were given; even where nobody has answered."""
    given = [a for a in answers if a is not None]
    if not given:
        return (1 / options,) * options
    return tuple(given.count(place) / len(given) for place in range(options))


def after(
    debate: RecordedDebate,
    last: int,
    probabilities: Sequence[float],
    *,
    answers: tuple[int, ...] | None = None,
    stop: str = "",
) -> Outcome:
    """The outcome of a debate played up to this round.

    Parameters
    ----------
    last
        The last round that was played. -1: none, and the method abstains.
    probabilities
        By option.
    answers
        What is answered; None: the options with the greatest probability.
    stop
        Why it stopped before the end.
    """
    flips, unexplained = changes(debate, last)
    return Outcome(
        probabilities=tuple(probabilities),
        leading=leading(probabilities) if answers is None else answers,
        rounds=max(0, last),
        words=debate.words(last) if last >= 0 else 0,
        tokens=debate.tokens(last) if last >= 0 else 0,
        calls=debate.calls(last) if last >= 0 else 0,
        stop=stop,
        early=last < len(debate.rounds) - 1,
        flips=flips,
        unexplained=unexplained,
    )


def by_vote(debate: RecordedDebate, last: int, stop: str = "") -> Outcome:
    """The vote of the answers that stand after this round; -1 or no answer at all: it abstains."""
    options = len(debate.options)
    if last < 0:
        return after(debate, -1, (1 / options,) * options, answers=(), stop=stop)
    standing = tuple(debate.standing())[last]
    nobody = all(answer is None for answer in standing)
    return after(debate, last, shares(standing, options), answers=() if nobody else None, stop=stop)


def changes(debate: RecordedDebate, last: int) -> tuple[int, int | None]:
    """Changes of a member's answer in the rounds played, and how many of them quoted nothing new.

    None for the second where no statement of the debate quotes anything: it is then not known.
    """
    if last < 1:
        return 0, 0
    held: dict[int, int] = {}
    quoted: set[str] = set()
    recorded, flips, bare = False, 0, 0
    for spoken in debate.rounds[: last + 1]:
        for said in spoken.statements:
            before = held.get(said.member)
            new = not quoted.issuperset(said.evidence)
            if said.answer is not None:
                if before is not None and before != said.answer:
                    flips += 1
                    bare += not new
                held[said.member] = said.answer
            if said.evidence:
                recorded = True
                quoted.update(said.evidence)
    return flips, bare if recorded or not flips else None
