"""critic: the state of a session, and what a judged round changes in it. Confidence is in points, 0 to 100."""

from enum import StrEnum, auto
from hashlib import blake2b
from typing import TypeVar

import msgspec

from parley.coordinator.commands import SayOn, Wish
from parley.coordinator.table import View
from parley.schemas.protocols.critic import Answer, Bias, Objection, Past, Raised, Repeated, Verdict
from parley.schemas.wire import decode, raw

PUBLIC = "public"
Says = tuple[Wish, ...]
ANSWERER, CRITIC, JUDGE = "answerer", "critic", "judge"
LABELS = ((75.0, "high"), (50.0, "medium"), (0.0, "low"))
LABEL_NOTE = (
    "informational: a judge's confidence is no guarantee that the answer is right"  # seed, "Termination Conditions"
)

T = TypeVar("T")


class Phase(StrEnum):
    """Where a session stands."""

    REWRITING = auto()
    """The judge puts the user's question in neutral, precise words."""
    ANSWERING = auto()
    CRITIQUING = auto()
    PRESSING = auto()
    """The critic, which found nothing new too early, is asked again in a sharper tone; its word is judged anew."""
    JUDGING = auto()
    REJUDGING = auto()
    """The same pair once more, in the opposite order, to measure the judge's bias."""
    CONCLUDING = auto()
    """The debate has ended; the judge writes its verdict."""
    SIGNING = auto()
    """The answerer says whether the verdict states its answer; where it narrows, the critic whether it leaves an open
    objection out."""
    DONE = auto()


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One round: numbers of posts and what was measured."""

    number: int
    answer: int | None = None
    """None: the answerer missed; its answer of the round before stands."""
    raised: tuple[int, ...] = ()
    """What the critic said: one post, or two where it was pressed."""
    repeats: tuple[int, ...] = ()
    """Posts that say which of `raised` repeats an objection of the profile."""
    objection: int | None = None
    """The one of `raised` that is new."""
    pressed: bool = False
    exhausted: bool = False
    """The critic has nothing new, and said so, or repeated itself, where that may end the debate."""
    checked: bool | None = None
    """Whether the judge confirms the critic's calculation that the answer is right; None: none was shown."""
    judgement: int | None = None
    score: float | None = None
    tally: int | None = None
    source: str = ""
    """judge | unjudged; empty: the session ended before."""
    confidence: float | None = None
    missing: tuple[str, ...] = ()
    bias: Bias | None = None


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a session of this protocol remembers beside its posts."""

    phase: Phase
    question: int | None = None
    """Post of the rewritten question."""
    answer: int | None = None
    """Post of the answer that stands."""
    confidence: float
    profile: tuple[Objection, ...] = ()
    heard: tuple[str, ...] = ()
    """Which of answerer and critic have spoken."""
    rounds: tuple[Round, ...] = ()
    """The last one is being played."""
    ending: str = ""
    """Why the debate ended, once it has: a stop reason."""
    short: str = ""
    """The limit of the budget that ended it; empty: none did."""
    verdict: int | None = None
    signed: tuple[str, ...] = ()
    """Seats that signed the verdict."""
    unsigned: str = ""
    """Why a verdict that was not signed went back to the judge; empty: none did."""
    taken: bool = False
    """Whether the verdict is the result: it is signed, or needs no signature."""
    refused: str = ""
    """Why it is not; empty: it is, or the session ended before it was signed."""
    reversed_by: int = 0
    """The objection by which the verdict reverses the answer; 0: it does not."""

    @property
    def now(self) -> Round:
        """The round that is being played."""
        return self.rounds[-1]

    def mark(self, **changes: object) -> "State":
        """With the running round changed."""
        return msgspec.structs.replace(self, rounds=(*self.rounds[:-1], msgspec.structs.replace(self.now, **changes)))

    def past(self) -> tuple[Past, ...]:
        """The profile, without what was ruled on it."""
        return tuple(o.past() for o in self.profile)

    def at_issue(self) -> tuple[Objection, ...]:
        """The profile without what was closed as worthless: what an answer has to meet."""
        return tuple(o for o in self.profile if not o.closed)

    def trend(self) -> tuple[float, ...]:
        """Confidence after each round, the oldest first."""
        return tuple(r.confidence for r in self.rounds if r.confidence is not None)

    def open_objections(self) -> tuple[int, ...]:
        """Objections that the last answer judged does not meet."""
        return tuple(o.number for o in self.profile if not o.answered)


def seat_of(view: View, role: str) -> str:
    """The one seat of a role."""
    return view.seats(role)[0].seat


def body_of(view: View, post: int | None, as_type: type[T]) -> T | None:
    """The body of a post; None for none."""
    return None if post is None else decode(view.posts[post].body, as_type)


def answer(view: View, post: int | None) -> Answer | None:
    """The answer that a post holds."""
    return body_of(view, post, Answer)


def raised(view: View, post: int | None) -> Raised | None:
    """The critic's word that a post holds."""
    return body_of(view, post, Raised)


def repeated(view: View, post: int) -> Repeated:
    """The repetition that a post names."""
    return decode(view.posts[post].body, Repeated)


def verdict(view: View, post: int | None) -> Verdict | None:
    """The verdict that a post holds."""
    return body_of(view, post, Verdict)


def label(confidence: float) -> str:
    """high | medium | low."""
    return next(name for least, name in LABELS if confidence >= least)


def direction(trend: tuple[float, ...], start: float) -> str:
    """improving | stable | diverging: the last confidence against the one before."""
    before = trend[-2] if len(trend) > 1 else start
    return "stable" if trend[-1] == before else "improving" if trend[-1] > before else "diverging"


def raised_against(s: State, view: View, objection: Objection) -> Answer | None:
    """The answer that an objection was raised against."""
    posts = [r.answer for r in s.rounds[: objection.round] if r.answer is not None]
    return answer(view, posts[-1]) if posts else None


def answer_first(view: View, round_: int) -> bool:
    """Whether the judge is shown the answer before the objection: drawn by seed and round, so that no side has the
    better place all along."""
    return blake2b(f"{view.opened.seed}|{round_}|order".encode(), digest_size=1).digest()[0] % 2 == 0


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """What one judged round does to the profile."""

    answered: tuple[int, ...] = ()
    reopened: tuple[int, ...] = ()


def move(s: State, met: frozenset[int]) -> Moved:
    """Objections newly met and no longer met."""
    return Moved(
        answered=tuple(o.number for o in s.at_issue() if o.number in met and not o.answered),
        reopened=tuple(o.number for o in s.at_issue() if o.number not in met and o.answered),
    )


def say(kind: str, round_: int, body: object, seat: str = "") -> SayOn:
    """A post."""
    return SayOn(channel=PUBLIC, kind=kind, round=round_, body=raw(body), seat=seat)
