"""Who was right in a past session, from its record and the feedback on it.

A member's answer is the one that it gave alone, before it heard another. It is right where the result that it agrees
with was said to be right, or where it is the answer that the feedback names. It is wrong where it differs from those,
or agrees with a result that was said to be wrong. Where a result is wrong and nobody says what is right, members that
differed from it are left out: nothing is known of them.
"""

import math
from collections.abc import Iterable
from hashlib import sha256

import msgspec

from parley.client.protocols import show_of
from parley.client.records import Record, opening, posts_of, result_of
from parley.client.show.show import Show
from parley.schemas.past_sessions.feedback import Feedback, feedback_of
from parley.schemas.result import Result
from parley.schemas.text import answer_key, squeeze


class MemberAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One member's answer of its own."""

    seat: str = ""
    model: str = ""
    right: bool


class PanelRound(msgspec.Struct, frozen=True, kw_only=True):
    """A panel after one of its rounds."""

    share: float
    """Of the weight of those who answered, in percent, that holds the first answer."""
    answers: int
    """Seats that held one."""
    right: bool | None = None
    """The first answer; None: not known, or another has as much weight."""


class KnownOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became known of one session, or of one question that was answered elsewhere."""

    session: str
    """Its id; a question from a file: its file and line."""
    question: str
    """A hash of its words (`question_hash`)."""
    kind: str = ""
    protocol: str = ""
    at_ns: int
    """When its result stood."""
    members: tuple[MemberAnswer, ...] = ()
    confidence: float | None = None
    """What the result stated; None: nothing."""
    right: bool | None = None
    """The result; None: only its members are known."""
    stop: str = ""
    """Why it ended."""
    rounds: tuple[PanelRound, ...] = ()
    """Of a protocol whose seats answer anew in each."""


def question_hash(question: str) -> str:
    """Equal for the same words, whatever their case and white space."""
    return sha256(squeeze(question).casefold().encode()).hexdigest()[:16]


def verdict(record: Record) -> KnownOutcome | None:
    """What the last word of feedback on a session says; None: it is open, or nobody gave any."""
    result = result_of(record)
    posts = posts_of(record)
    words = feedback_of(posts)
    if result is None or not words:
        return None
    opened, last = opening(record), words[-1]
    show = show_of(opened.protocol)
    models = {seat.seat: seat.model for seat in opened.seats}
    members = []
    for seat, names in show.alone(result).items():
        right = _right(names, show.answered(result), last)
        if right is not None:
            members.append(MemberAnswer(seat=seat, model=models.get(seat, ""), right=right))
    stated = result.outcome.get("confidence")
    learned = opened.learned
    return KnownOutcome(
        session=record.sid,
        question=question_hash(opened.question),
        kind="" if learned is msgspec.UNSET else learned.kind,
        protocol=opened.protocol,
        at_ns=next((post.at_ns for post in posts if post.kind == "closed"), 0),
        members=tuple(members),
        confidence=float(stated) if isinstance(stated, int | float) else None,
        right=last.right,
        stop=result.stop.reason,
        rounds=_rounds(show, result, last),
    )


def _rounds(show: type[Show], result: Result, said: Feedback) -> tuple[PanelRound, ...]:
    """How far a panel agreed after each round, and whether on what is right. Seats whose weight the certificate does
    not hold weigh 1."""
    weights = result.stop.certificate.get("weights") or {}
    answered = show.answered(result)
    rounds = []
    for held in show.held(result):
        names: dict[str, set[str]] = {}
        weight: dict[str, float] = {}
        for seat, called in held.items():
            label = answer_key(called[0])
            names.setdefault(label, set()).update(called)
            weight[label] = weight.get(label, 0.0) + float(weights.get(seat, 1.0))
        most = max(weight.values(), default=0.0)
        first = [label for label in weight if math.isclose(weight[label], most)]
        if most:
            known = _right(names[first[0]], answered, said) if len(first) == 1 else None
            rounds.append(PanelRound(share=round(100 * most / sum(weight.values()), 2), answers=len(held), right=known))
    return tuple(rounds)


def _right(mine: Iterable[str], result: Iterable[str], said: Feedback) -> bool | None:
    """Whether an answer is right; None: not known. `mine`, `result`: names of the answers, any of which may match."""
    held, given = ({answer_key(name) for name in names if name} for names in (mine, result))
    if said.right:
        return bool(held & given)
    if said.answer:
        return answer_key(said.answer) in held
    return False if held & given else None
