"""A ballot without a language model: the seat's own answer, then those that read most like it, then those for which
something is quoted. It weighs no arguments, so it is no judge."""

from parley.agents.context import Shown
from parley.agents.extractive.same_answer import agreement
from parley.agents.model.base import ModelRefused
from parley.agents.protocols.consensus.extractive_panelist import states
from parley.schemas.protocols.consensus import BallotBrief, Position
from parley.schemas.voting import MAX_SCORE, ApprovalBallot, RankBallot, Ruling, ScoreBallot


def rank(shown: Shown) -> RankBallot:
    """All answers."""
    brief: BallotBrief = shown.brief
    own = shown.own if isinstance(shown.own, Position) and shown.own.speaks else None
    alike = {n: agreement(own.answer, c.sentence) if own else 0.0 for n, c in enumerate(brief.choices, 1)}
    mine = _stated(shown)
    ranked = sorted(alike, key=lambda n: (n not in mine, -alike[n], not brief.choices[n - 1].quotation))
    return RankBallot(order=tuple(ranked), reason="by its own answer, and what is quoted")


def approve(shown: Shown) -> ApprovalBallot:
    """Those that state its own answer."""
    return ApprovalBallot(approved=_stated(shown), reason="what states its own answer")


def score(shown: Shown) -> ScoreBallot:
    """All for those that state its own answer, and nothing for others."""
    brief, mine = shown.brief, _stated(shown)
    scores = tuple(float(MAX_SCORE * (n in mine)) for n in range(1, len(brief.choices) + 1))
    return ScoreBallot(scores=scores, reason="what states its own answer")


def judge(shown: Shown) -> Ruling:
    """Refuses."""
    raise ModelRefused(
        "a reader without a language model weighs no arguments: give the analyst's seat one, as the judge"
    )


def _stated(shown: Shown) -> tuple[int, ...]:
    """The numbers of the answers that state its own."""
    brief: BallotBrief = shown.brief
    if not isinstance(shown.own, Position) or not shown.own.speaks:
        return ()
    return tuple(n for n, choice in enumerate(brief.choices, 1) if states(shown.own, choice))
