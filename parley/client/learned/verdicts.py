"""Who was right in past sessions, from their records and the feedback on them, and the table of records that follows.

A member's answer is the one that it gave alone, before it heard another. It is right where the result that it agrees
with was said to be right, or where it is the answer that the feedback names. It is wrong where it differs from those,
or agrees with a result that was said to be wrong. Where a result is wrong and nobody says what is right, members that
differed from it are left out: nothing is known of them.

Records are Beta posteriors with decay: each answer counts 2^(-age / half-life). Members of one model in one session are
copies, and each counts its share of one answer, since copies err together; a seat has one member, which counts whole.
Over all kinds of questions a member begins with the prior, one right and one wrong answer. On one kind it begins with
KIND_PRIOR answers, shared out as its record over all kinds is: so a short record of a kind is filled up with what is
known of the member. Intervals hold 95 % of the posterior.
"""

import math
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from typing import Literal

import msgspec

from parley.client.protocols import show_of
from parley.client.records import Record, opening, posts_of, result_of
from parley.client.show.show import Show
from parley.schemas.past_sessions.feedback import Feedback, feedback_of
from parley.schemas.past_sessions.learned import MOST_ROWS, Reliability, Standing
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


HALF_LIFE_DAYS = 180.0
PRIOR = (1.0, 1.0)
KIND_PRIOR = 4.0
LEVEL = 0.95
_DAY_NS = 86_400 * 10**9
Key = tuple[Literal["model", "seat"], str, str]


def table(verdicts: Iterable[KnownOutcome], *, now_ns: int, question: str = "") -> Reliability:
    """The records as they stand at a time.

    Parameters
    ----------
    verdicts
        What is known; later than `now_ns` counts nothing.
    question
        The one at hand: verdicts on the same words are left out. Empty: none.
    """
    at_hand = question_hash(question) if question else ""
    counts: dict[Key, list[float]] = {}
    used, left_out = 0, 0
    for said in verdicts:
        if said.at_ns > now_ns:
            continue
        if at_hand and said.question == at_hand:
            left_out += 1
            continue
        used += bool(said.members)
        weight = age_weight(now_ns - said.at_ns, HALF_LIFE_DAYS)
        copies = Counter(member.model for member in said.members)
        for member in said.members:
            for by, name in (("model", member.model), ("seat", member.seat)):
                for kind in dict.fromkeys(("", said.kind)):
                    if name:
                        pair = counts.setdefault((by, name, kind), [0.0, 0.0])  # type: ignore[arg-type]
                        pair[0 if member.right else 1] += weight / copies[member.model] if by == "model" else weight
    most = sorted(counts, key=lambda key: (-sum(counts[key]), key))[:MOST_ROWS]
    return Reliability(
        rows=tuple(_row(key, counts) for key in sorted(most)), sessions=used, left_out=left_out, as_of_ns=now_ns,
        half_life_days=HALF_LIFE_DAYS, prior=PRIOR, kind_prior=KIND_PRIOR, learned_from="feedback",
    )  # fmt: skip


def _row(key: Key, counts: dict[Key, list[float]]) -> Standing:
    by, name, kind = key
    right, wrong = counts[key]
    a, b = PRIOR
    if kind:
        whole = counts[by, name, ""]
        share = posterior_mean(whole[0], whole[1], PRIOR)
        a, b = KIND_PRIOR * share, KIND_PRIOR * (1 - share)
    low, high = interval(right, wrong, (a, b))
    mean = posterior_mean(right, wrong, (a, b))
    return Standing(
        name=name, by=by, kind=kind, right=round(right, 6), wrong=round(wrong, 6), mean=round(mean, 6),
        low=round(low, 6), high=round(high, 6),
    )  # fmt: skip


def age_weight(age_ns: int, half_life_days: float) -> float:
    """What an outcome of this age counts: 1 when it is new, a half after the half-life."""
    return math.pow(0.5, age_ns / _DAY_NS / half_life_days)


def posterior_mean(right: float, wrong: float, prior: tuple[float, float]) -> float:
    """Mean of the Beta posterior.

    Examples
    --------
    >>> posterior_mean(7, 1, (1, 1))
    0.8
    """
    return (prior[0] + right) / (prior[0] + prior[1] + right + wrong)


def interval(right: float, wrong: float, prior: tuple[float, float]) -> tuple[float, float]:
    """The equal-tailed interval of the Beta posterior that holds LEVEL of it."""
    from scipy.special import betaincinv  # takes a third of a second, and only those who have records pay it

    a, b, tail = prior[0] + right, prior[1] + wrong, (1 - LEVEL) / 2
    low, high = float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1 - tail))
    return (0.0 if math.isnan(low) else low), (1.0 if math.isnan(high) else high)
