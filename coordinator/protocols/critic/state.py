"""critic: the state of a session, and what a judged round changes in it. Confidence is in points, 0 to 100."""

from collections.abc import Mapping
from enum import StrEnum, auto
from hashlib import blake2b
from typing import TypeVar

import msgspec

from parley.coordinator.commands import Wish
from parley.coordinator.table import View
from parley.schemas.protocols.critic import Answer, Bias, Objection, PastObjection, Raised, Repeated, Verdict
from parley.schemas.text import same
from parley.schemas.wire import decode

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
    JUDGING = auto()
    REJUDGING = auto()
    """The same pair once more, in the opposite order, to measure the judge's bias."""
    CONCLUDING = auto()
    """The debate has ended; the judge writes its verdict."""
    SIGNING = auto()
    """The answerer says whether a verdict that narrows states its answer, or less of it."""
    COUNTERSIGNING = auto()
    """The critic says what is open against the answer as it stands."""
    DONE = auto()


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One round: numbers of posts and what was measured."""

    number: int
    answer: int | None = None
    """None: the answerer missed; its answer of the round before stands."""
    stands: int = 0
    """The first round that gave the answer that stands in these words."""
    raised: int | None = None
    """What the critic said."""
    repeats: int | None = None
    """The post that says which objection of the profile that repeats."""
    objection: int | None = None
    """`raised`, where it is a new objection."""
    exhausted: bool = False
    """The critic has nothing new, and said so, or repeated itself, where that may end the debate."""
    checked: bool | None = None
    """Whether the judge confirms the critic's calculation that the answer is right; None: none was shown."""
    judgement: int | None = None
    score: float | None = None
    tally: int | None = None
    source: str = ""
    """judge | unjudged | nothing; empty: the session ended before."""
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
    seen: int | None = None
    """Post of the answer that the critic last spoke of."""
    rounds: tuple[Round, ...] = ()
    """The last one is being played."""
    ending: str = ""
    """What ended the debate, once it has ended: a stop reason. What it came to says `ending.settled`."""
    short: str = ""
    """The limit of the budget that ended it; empty: none did."""
    verdict: int | None = None
    signed: tuple[str, ...] = ()
    """Seats that signed what is the result."""
    countersigned: bool | None = None
    """Whether the critic holds nothing against the answer as it stands; None: it was not asked, or has not said."""
    unseen: str = ""
    """Why it has not, although it was asked."""
    unsigned: str = ""
    """Why a verdict that was not signed went back to the judge; empty: none did."""
    taken: bool = False
    """Whether the verdict is taken: it upholds or reverses, or is signed."""
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

    def past(self) -> tuple[PastObjection, ...]:
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


def body_of(view: View, post: int | None, as_type: type[T]) -> T | None:
    """The body of a post; None for none."""
    return None if post is None else decode(view.posts[post].body, as_type)


def answer(view: View, post: int | None) -> Answer | None:
    """The answer that a post holds."""
    return body_of(view, post, Answer)


def raised(view: View, post: int | None) -> Raised | None:
    """The critic's word that a post holds."""
    return body_of(view, post, Raised)


def repeated(view: View, post: int | None) -> Repeated | None:
    """The repetition that a post names."""
    return body_of(view, post, Repeated)


def stands(s: State, view: View, text: str) -> int:
    """The first round that gave an answer in these words; the one that is being played if none did before."""
    for r in s.rounds:
        given = answer(view, r.answer)
        if given is not None and same(given.answer, text):
            return r.number
    return s.now.number


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


class ProfileChange(msgspec.Struct, frozen=True, kw_only=True):
    """What one judged round does to the profile."""

    answered: tuple[int, ...] = ()
    reopened: tuple[int, ...] = ()


def move(s: State, met: Mapping[int, str]) -> ProfileChange:
    """Objections newly met and no longer met."""
    return ProfileChange(
        answered=tuple(o.number for o in s.at_issue() if o.number in met and not o.answered),
        reopened=tuple(o.number for o in s.at_issue() if o.number not in met and o.answered),
    )
