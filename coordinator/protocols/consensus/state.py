"""consensus: the state of a session, and how positions are read, grouped and measured. Scores are 0 to 100."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum, auto
from hashlib import blake2b

import msgspec

from parley.coordinator.protocols.consensus.score import weighted_median
from parley.coordinator.signals.reliability import trust
from parley.coordinator.table import View
from parley.schemas.protocols.consensus import Position, Put, Signed, Weighted
from parley.schemas.session import Seat
from parley.schemas.text import answer_key, plain
from parley.schemas.voting import Poll
from parley.schemas.wire import Json, decode

MAX_LABEL = 200
"""Characters of a label."""
PANELIST = "panelist"
ANALYST = "analyst"
PUBLIC = "public"
QUOTATION, ARGUMENT, SIGNATURE, UNEXPLAINED = "quotation", "argument", "signature", "unexplained"
"""What a change of position rests on."""
SAME, UNCHANGED, VOTED, LEXICAL = "same_words", "unchanged", "counted", "lexical_fallback"
"""Where a score is from that no analyst gave: all say the same, no answer changed, a vote is counted, or the analyst
failed and equal words are one answer."""


class Phase(StrEnum):
    """Where a session stands."""

    ANSWERING = auto()
    """Round 1: everybody answers apart, blind."""
    REVISING = auto()
    SCORING = auto()
    WORDING = auto()
    """The analyst words a sentence that can be signed."""
    SIGNING = auto()
    """Seats say which sentence states their answer."""
    VOTING = auto()
    """Seats cast ballots, or the judge rules."""
    DONE = auto()


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A round as it is kept (seed, "DebateMemory"): numbers of posts, and what was measured."""

    number: int
    posts: dict[str, int]
    """Seat -> the position that it gave in this round."""
    missing: tuple[str, ...]
    why: dict[str, str] = {}
    """Seat that is missing -> why, in words."""
    flips: tuple[str, ...] = ()
    """Seats whose answer changed."""
    bare_flips: tuple[str, ...] = ()
    """Those of them that changed without new evidence, and without an argument that the analyst found."""
    moved: dict[str, str] = {}
    """Seats whose answer changed -> quotation | argument | signature | unexplained; empty until the round is
    compared."""
    assessment: int | None = None
    """None: the round was not scored; too few seats answered, or the session ended."""
    score: float | None = None
    """By the groups as the seats have signed since."""
    band: str = ""
    """What the score is called: strong | moderate | weak | none; one_source where copies of one reader agree."""
    facts: float | None = None
    """That dimension by those groups, where it is another than in the assessment."""
    source: str = ""
    """analyst | same_words | unchanged | counted | lexical_fallback: where the score is from."""
    key_disagreements: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a session of this protocol remembers beside its posts."""

    phase: Phase
    round: int = 1
    pending: dict[str, Json] = {}
    """Positions of this round so far, or signatures; nobody is shown them before all are in."""
    absent: dict[str, str] = {}
    """Seat whose turn of this round, or whose signature, came to nothing -> why."""
    late: dict[str, Json] = {}
    """Positions that came after their round: they are revealed with those of the next."""
    held: dict[str, int] = {}
    """Seat -> the post of its current position."""
    rounds: tuple[Round, ...] = ()
    puts: tuple[Put, ...] = ()
    """Sentences that were put to be signed."""
    signatures: dict[str, Signed] = {}
    """What a signature binds -> what the seat said; also of those who did not sign. None is asked for twice."""
    reworded: bool = False
    """A sentence that too few signed went back to be worded anew: once in a session."""
    ending: str = ""
    """Why the session ends where the sentence is not agreed; empty: it goes on then."""
    departing: int | None = None
    """The post of a conclusion that words another answer than it was asked for."""
    labels: dict[str, str] = {}
    """Number of a compared position's post -> what its answer is called. Equal labels, same answer."""
    short: str = ""
    """The limit of the budget that kept a seat from being asked again; empty: none did."""
    poll: Poll | msgspec.UnsetType = msgspec.UNSET
    """What a rule counted; unset: nothing was counted."""
    joining: dict[str, Seat] = {}
    """Members that join at the end of the round."""
    leaving: tuple[str, ...] = ()
    """Seats that leave at the end of the round."""
    joined: tuple[str, ...] = ()
    """Seats that joined. Until it has answered, such a seat answers blind."""
    left: dict[str, int] = {}
    """Seat that left -> the round from which on it is asked nothing."""
    proposed: str = ""
    """The member that may join, as the analyst misses what it knows: proposed once in a session."""
    answered: bool = False
    """Whether a person has said whether it joins."""

    def label(self, post: int) -> str:
        """The name of a position's answer; empty: it has not been compared."""
        return self.labels.get(str(post), "")

    def is_put(self, round_: int) -> bool:
        """Whether a sentence was put in this round."""
        return bool(self.puts) and self.puts[-1].round == round_

    def trend(self) -> tuple[float, ...]:
        """Scores so far, the oldest first."""
        return tuple(r.score for r in self.rounds if r.score is not None)


class Group(msgspec.Struct, frozen=True):
    """Seats that give the same answer."""

    answer: str
    """The answer, in the words that most weight gives it, of equal ones the most confident."""
    seats: tuple[str, ...]
    """The seats, those first who word it so, then the most confident."""
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
    return {seat: p for seat, p in current.items() if p.speaks}


def counted(state: State, view: View) -> dict[str, float]:
    """Panelist -> weight, of those that an agreement counts: all that ever sat. A seat that left before it ever
    answered is none of them; one that answered stays, so that nobody is agreed away."""
    return {seat: w for seat, w in weights(view).items() if seat in state.held or seat not in state.left}


def sitting(state: State, view: View) -> list[str]:
    """Panelists that are asked."""
    return [seat for seat in weights(view) if seat not in state.left]


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
    """Positions by answer; the heaviest group first, then the more confident, then the one whose seat was opened first.
    `labels`: seat -> what its answer is called; a seat without one: its words decide."""
    called = {answer_key(positions[seat].answer): label for seat, label in labels.items() if seat in positions}
    by_answer: dict[str, list[str]] = {}
    for seat, p in positions.items():
        key = answer_key(p.answer)
        label = labels.get(seat) or called.get(key) or key
        by_answer.setdefault(label, []).append(seat)
    answer_groups = []
    for label, seats in by_answer.items():
        total = sum(weight[s] for s in seats)
        sure = [positions[s].confidence for s in seats]
        confidence = weighted_median(sure, [weight[s] for s in seats])
        worded: dict[str, float] = {}
        for s in seats:
            worded[answer_key(positions[s].answer)] = worded.get(answer_key(positions[s].answer), 0.0) + weight[s]
        ranked = tuple(
            sorted(seats, key=lambda s: (-worded[answer_key(positions[s].answer)], -positions[s].confidence))
        )
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
    known = {answer_key(position(view, int(post)).answer): label for post, label in state.labels.items()}
    labels = {}
    for post in posts.values():
        answer = position(view, post).answer
        key = answer_key(answer)
        if key not in known:
            known[key] = distinct(plain(answer), known.values())
        labels[str(post)] = known[key]
    return labels


def distinct(label: str, used: Iterable[str]) -> str:
    """A label that is none of those in use: long answers may begin alike."""
    taken = {answer_key(x) for x in used}
    tries = itertools.chain([label[:MAX_LABEL]], (f"{label[: MAX_LABEL - 8]} ({n})" for n in itertools.count(2)))
    return next(x for x in tries if answer_key(x) not in taken)


def last_held(state: State, seat: str) -> int | None:
    """The seat's position before the present round."""
    earlier = [r.posts[seat] for r in state.rounds[:-1] if seat in r.posts]
    return earlier[-1] if earlier else None


def changes_by(state: State) -> dict[str, int]:
    """quotation | argument | unexplained -> changes of answer in all rounds."""
    return dict(Counter(by for played in state.rounds for by in played.moved.values()))


def disagreements(answer_groups: Sequence[Group]) -> tuple[str, ...]:
    """What stands against the leading answer, in words: for a session without an analyst. How many hold it is not said,
    which would only invite conformity."""
    first = plain(answer_groups[0].answer)
    return tuple(f"“{first}” and “{plain(g.answer)}” have other words; nobody compared them" for g in answer_groups[1:])


def is_tied(answer_groups: Sequence[Group]) -> bool:
    """Whether the first two answers have the same weight."""
    return len(answer_groups) > 1 and math.isclose(answer_groups[0].weight, answer_groups[1].weight)


def is_over_half(answer_groups: Sequence[Group]) -> bool:
    """Whether the first answer has more than half of the weight of those who hold one."""
    return bool(answer_groups) and 2 * answer_groups[0].weight > sum(g.weight for g in answer_groups)
