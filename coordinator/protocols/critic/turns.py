"""critic: builds the turns: what each seat is asked, and what it is shown.

The answerer sees the question and the profile, nothing that it said before. The critic sees the answer that stands and
its profile. The judge sees the round's pair and what is at issue. Whoever signs sees a verdict that narrows; and the
critic, at the end, what became of its objections. What was closed as worthless is shown to the critic, so that it is
not raised again, and at the end to the judge.
"""

from typing import Any

import msgspec

from parley.coordinator.commands import AskSeat
from parley.coordinator.protocol_parts import ask, caps, seat_of
from parley.coordinator.protocols.critic.confidence import overturning
from parley.coordinator.protocols.critic.state import (
    ANSWERER,
    CRITIC,
    JUDGE,
    State,
    answer,
    answer_first,
    body_of,
    repeated,
)
from parley.coordinator.table import Planned, TurnPlan, Usual, View
from parley.schemas.protocols.critic import (
    ORDERS,
    AnswerBrief,
    CountersignBrief,
    CritiqueBrief,
    JudgeBrief,
    Judgement,
    Objection,
    PastObjection,
    RewriteBrief,
    Ruled,
    SignBrief,
    VerdictBrief,
)
from parley.schemas.stops import STOPS
from parley.schemas.text import same

REWRITE, ANSWER, CRITIQUE = "rewrite", "answer", "critique"
JUDGING, VERDICT, SIGN, COUNTERSIGN = "judge", "verdict", "sign", "countersign"


def _ask(s: State, v: View, role: str, kind: str, brief: object, **more: Any) -> AskSeat:
    """A turn of the one seat of a role."""
    return ask(v, seat_of(v, role), kind, s.now.number, brief, **more)


def ask_rewrite(v: View) -> AskSeat:
    """The one turn that is shown nothing but the user's own question."""
    return ask(v, seat_of(v, JUDGE), REWRITE, 0, RewriteBrief())


def _at_issue(s: State) -> tuple[PastObjection, ...]:
    return tuple(o.past() for o in s.at_issue())


def ask_answer(s: State, v: View) -> AskSeat:
    """Afresh: the objections so far, and none of its answers."""
    return _ask(s, v, ANSWERER, ANSWER, AnswerBrief(round=s.now.number, profile=_at_issue(s)), stream=True)


def ask_critique(s: State, v: View) -> AskSeat:
    """The answer that stands, and the profile."""
    brief = CritiqueBrief(round=s.now.number, profile=s.past())
    return _ask(s, v, CRITIC, CRITIQUE, brief, sees=(s.answer,), stream=True)


def ask_judge(s: State, v: View, *, swapped: bool = False, checked: str = "") -> AskSeat:
    """The round's pair, in an order drawn by seed and round, or in the opposite one; or the answer, and how the critic
    checked it."""
    n = s.now
    first = answer_first(v, n.number) != swapped
    pair = (s.answer,) if n.objection is None else (s.answer, n.objection)
    brief = JudgeBrief(
        round=n.number,
        order=ORDERS[0 if first else 1],
        profile=_at_issue(s),
        objects=n.objection is not None,
        closed=tuple(o.past() for o in s.profile if o.closed),
        checked=checked,
    )
    return _ask(s, v, JUDGE, JUDGING, brief, sees=pair if first else pair[::-1])


def ask_verdict(s: State, v: View, reason: str) -> AskSeat:
    """The answer that stands and the profile; paid from what was held back for it."""
    brief = VerdictBrief(
        reason=reason,
        converged=STOPS[reason].converged,
        profile=s.profile,
        overturned_by=overturning(s),
        unsigned=s.unsigned,
    )
    return _ask(s, v, JUDGE, VERDICT, brief, sees=(s.answer,), stream=True, final=True)


def ask_sign(s: State, v: View, narrowed: str) -> AskSeat:
    """Does a verdict that narrows claim less than the answer that stands, and nothing else?"""
    standing = answer(v, s.answer)
    assert standing is not None, "a verdict is on an answer"
    return _ask(s, v, ANSWERER, SIGN, SignBrief(yours=standing.answer, verdict=narrowed), final=True)


def ask_countersign(s: State, v: View, narrowed: str) -> AskSeat:
    """What is open against the answer as it stands, or as a verdict narrows it?"""
    brief = CountersignBrief(narrowed=narrowed, objections=tuple(_ruled(s, v, o) for o in s.profile))
    return _ask(s, v, CRITIC, COUNTERSIGN, brief, sees=(s.answer,), final=True)


def _ruled(s: State, v: View, o: Objection) -> Ruled:
    """An objection with what the judge made of it."""
    said = (repeated(v, r.repeats) for r in s.rounds)
    again = tuple(r.objection for r in said if r and r.repeats == o.number and not same(r.objection, o.text))
    judged = body_of(v, s.rounds[o.round - 1].judgement, Judgement)
    ruling, why = "open", ""
    if o.closed:
        ruling, why = "nothing to it", judged.comment if judged else ""
    elif o.answered:
        ruling, why = "met", o.met_by or ""
    return Ruled(number=o.number, text=o.text, ruling=ruling, why=why, repeated=again or msgspec.UNSET)


def plan(v: View) -> TurnPlan:
    """At least what a critic takes that has nothing to object to: rewriting, answer, its word, verdict. At most: a
    verdict that narrows may go back once, and both times be signed by both."""
    settings, c = v.settings, caps(v)
    rounds, attempts = settings.round_limit, v.attempts
    judged = 2 if settings.measure_bias else 1
    answerer, critic, judge = (seat_of(v, role) for role in (ANSWERER, CRITIC, JUDGE))
    least = (
        Planned(judge, REWRITE, c),
        Planned(answerer, ANSWER, c),
        Planned(critic, CRITIQUE, c),
        Planned(judge, VERDICT, c),
    )
    most = (
        Planned(judge, REWRITE, c, attempts),
        Planned(answerer, ANSWER, c, rounds * attempts),
        Planned(critic, CRITIQUE, c, rounds * attempts),
        Planned(judge, JUDGING, c, rounds * judged * attempts),
        Planned(judge, VERDICT, c, 2 * attempts),
        Planned(answerer, SIGN, c, 2 * attempts),
        Planned(critic, COUNTERSIGN, c, 2 * attempts),
    )
    return TurnPlan(rounds=rounds, least=least, most=most)


# ---------------------------------------------------------------- a usual course


_ROUNDS = 3
_OBJECTION = 165
"""Tokens by which prompts grow with each round."""


def usual(v: View, rounds: int | None) -> tuple[Usual, ...]:
    """The turns of so many rounds."""
    rounds = min(rounds or _ROUNDS, v.settings.round_limit)
    answerer, critic, judge = (seat_of(v, role) for role in (ANSWERER, CRITIC, JUDGE))
    turns = [Usual(judge, REWRITE, answer=100)]
    for n in range(rounds):
        grown = n * _OBJECTION
        turns += [
            Usual(answerer, ANSWER, 1, 90 + grown, 190),
            Usual(critic, CRITIQUE, 1, 290 + grown, 165),
            Usual(judge, JUDGING, 2 if v.settings.measure_bias else 1, 560 + grown, 125),
        ]
    grown = rounds * _OBJECTION
    return (*turns, Usual(judge, VERDICT, 1, 220 + grown, 245), Usual(critic, COUNTERSIGN, 1, 330 + grown, 15))
