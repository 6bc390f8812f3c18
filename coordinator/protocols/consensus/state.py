"""consensus: the state of a session, and how positions are read, grouped and measured. Scores are 0 to 100."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum, auto
from hashlib import blake2b

import msgspec

from parley.coordinator.protocols.consensus.score import weighted_median
from parley.coordinator.signals.reliability import trust
from parley.coordinator.table import View
from parley.schemas.protocols.consensus import Position, Weighted
from parley.schemas.text import normalise, squeeze
from parley.schemas.wire import Json, decode

MAX_LABEL = 200
"""Characters of a label."""
PANELIST = "panelist"
ANALYST = "analyst"


class Phase(StrEnum):
    """Where a session stands."""

    ANSWERING = auto()
    """Round 1: everybody answers apart, blind."""
    REVISING = auto()
    SCORING = auto()
    SYNTHESIZING = auto()
    """The stop is decided; the analyst words the result."""
    DONE = auto()


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A round as it is kept (seed, "DebateMemory"): numbers of posts, and what was measured."""

    number: int
    posts: dict[str, int]
    """Seat -> the position that it gave in this round."""
    missing: tuple[str, ...]
    flips: tuple[str, ...] = ()
    """Seats whose answer changed."""
    bare_flips: tuple[str, ...] = ()
    """Those of them that changed without new evidence, and without an argument that the analyst found."""
    moved: dict[str, str] = {}
    """Seats whose answer changed -> quotation | argument | unexplained; empty until the round is compared."""
    assessment: int | None = None
    """None: the round was not scored; too few seats answered, or the session ended."""
    score: float | None = None
    source: str = ""
    """analyst | lexical_fallback: where the score is from."""
    key_disagreements: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a session of this protocol remembers beside its posts."""

    phase: Phase
    round: int = 1
    pending: dict[str, Json] = {}
    """Positions of this round so far; nobody is shown them before all are in."""
    held: dict[str, int] = {}
    """Seat -> the post of its current position."""
    rounds: tuple[Round, ...] = ()
    synthesis: int | None = None
    labels: dict[str, str] = {}
    """Number of a compared position's post -> what its answer is called. Equal labels, same answer."""
    short: str = ""
    """The limit of the budget that kept a seat from being asked again; empty: none did."""

    def label(self, post: int) -> str:
        """The name of a position's answer; empty: it has not been compared."""
        return self.labels.get(str(post), "")

    def trend(self) -> tuple[float, ...]:
        """Scores so far, the oldest first."""
        return tuple(r.score for r in self.rounds if r.score is not None)


class Group(msgspec.Struct, frozen=True):
    """Seats that give the same answer."""

    answer: str
    """The answer, as its most confident holder words it."""
    seats: tuple[str, ...]
    """The seats, the most confident first."""
    weight: float
    """Sum of the holders' weights."""
    confidence: float
    """Weighted median of the holders' confidence, 0 to 1."""
    label: str
    """The name of the answer."""


def position(view: View, post: int) -> Position:
    """The position that a post holds."""
    return decode(view.posts[post].body, Position)


def weights(view: View) -> dict[str, float]:
    """Panelist -> weight, in the order of the opening. If records are known: times the worth of its record."""
    seats = view.seats(PANELIST)
    factors = trust(view.opened, seats)
    return {s.seat: s.weight * factors[s.seat] if factors else s.weight for s in seats}


def voters(view: View, posts: Mapping[str, int]) -> dict[str, Position]:
    """Seat -> current position, in the order of the opening; seats that abstain have none."""
    current = {seat: position(view, posts[seat]) for seat in weights(view) if seat in posts}
    return {seat: p for seat, p in current.items() if not p.abstains}


def weighted(view: View, posts: Mapping[str, int], order: Iterable[str]) -> tuple[Weighted, ...]:
    """The seats' current posts with their weights, without names, in this order."""
    w = weights(view)
    return tuple(Weighted(post=posts[seat], weight=w[seat]) for seat in order)


def shown_order(view: View, round_: int, reader: str, seats: Iterable[str]) -> list[str]:
    """The order in which a reader is shown the others. It differs by seat and round, so that no place is favoured."""

    def key(seat: str) -> bytes:
        return blake2b(f"{view.opened.seed}|{round_}|{reader}|{seat}".encode(), digest_size=8).digest()

    return sorted(seats, key=key)


def groups(positions: Mapping[str, Position], weight: Mapping[str, float], labels: Mapping[str, str]) -> list[Group]:
    """Positions by answer; the heaviest group first, then the more confident, then the one whose seat was opened
    first.

    Parameters
    ----------
    labels
        Seat -> what its answer is called; a seat without one: its words decide.
    """
    by_answer: dict[str, list[str]] = {}
    for seat, p in positions.items():
        label = labels.get(seat) or normalise(p.answer)
        by_answer.setdefault(label, []).append(seat)
    answer_groups = []
    for label, seats in by_answer.items():
        total = sum(weight[s] for s in seats)
        sure = [positions[s].confidence for s in seats]
        confidence = weighted_median(sure, [weight[s] for s in seats])
        ranked = tuple(sorted(seats, key=lambda s: -positions[s].confidence))
        answer_groups.append(Group(positions[ranked[0]].answer, ranked, total, confidence, label))
    return sorted(answer_groups, key=lambda g: (-g.weight, -g.confidence))


def sides(state: State, view: View) -> list[Group]:
    """The current positions by answer; empty if nobody holds one."""
    return groups(voters(view, state.held), weights(view), labelled(state, state.held))


def labelled(state: State, posts: Mapping[str, int]) -> dict[str, str]:
    """Seat -> the name of its answer, for compared positions."""
    return {seat: label for seat, post in posts.items() if (label := state.label(post))}


def labels_by_words(state: State, view: View, posts: Mapping[str, int]) -> dict[str, str]:
    """Number of the post -> label, without an analyst: that of a position with the same words, else the answer
    itself."""
    known = {normalise(position(view, int(post)).answer): label for post, label in state.labels.items()}
    labels = {}
    for post in posts.values():
        if not state.label(post):
            answer = position(view, post).answer
            labels[str(post)] = known.setdefault(normalise(answer), squeeze(answer)[:MAX_LABEL])
    return labels


def last_held(state: State, seat: str) -> int | None:
    """The seat's position before the present round."""
    earlier = [r.posts[seat] for r in state.rounds[:-1] if seat in r.posts]
    return earlier[-1] if earlier else None


def changes_by(state: State) -> dict[str, int]:
    """quotation | argument | unexplained -> changes of answer in all rounds."""
    return dict(Counter(by for played in state.rounds for by in played.moved.values()))


def disagreements(answer_groups: Sequence[Group]) -> tuple[str, ...]:
    """The arguments against the leading answer, in words: for a session without an analyst."""
    return tuple(
        f"{g.answer} ({len(g.seats)}) against {answer_groups[0].answer} ({len(answer_groups[0].seats)})"
        for g in answer_groups[1:]
    )
