"""Kinds of turns of the competition: debaters confer, bid, decide, speak, question and answer; the judge scores, sums
up and reviews; the audience votes.

What the prompts say outside their fences is built here from numbers, seats and words of our own; names of teams,
stances, personalities and tasks come from files and stand inside.
"""

from collections.abc import Mapping
from typing import Any

from agents.context import Shown
from agents.protocols.kit import Kind
from schemas.protocols.competition.format import DIMENSIONS, Act, Violation, other
from schemas.protocols.competition.messages import (
    AnswerBrief,
    Ballot,
    BallotBrief,
    Bid,
    BidBrief,
    CaptainBrief,
    ConferBrief,
    Decision,
    Identity,
    Marks,
    Note,
    QuestionBrief,
    Questions,
    Review,
    ReviewBrief,
    Said,
    ScoreBrief,
    SpeechBrief,
    Spoken,
    StageSummary,
    SummaryBrief,
)
from schemas.wire import figure

POSTS = {"speech": Said, "note": Note, "bid": Bid, "decision": Decision, "summary": StageSummary, "review": Review}
AIM = 0.9
"""Share of the words allowed that a speaker is told to aim at: nobody counts exactly while speaking."""

ACTS: dict[Act, str] = {
    "speech": "a speech that lays out the team's case",
    "summary": "a summary of what the cross-examination brought",
    "question": "questions to the other side",
    "answer": "an answer in the cross-examination",
    "free": "a speech in the free debate",
    "closing": "a closing speech that weighs the debate",
}
VIOLATIONS: dict[Violation, str] = {
    "counter_question": "whoever has to answer asks a question back, instead of answering",
    "not_direct_answer": "the answer passes over what was asked",
    "attacker_answered": "whoever has to ask questions answers them, or argues, instead of asking",
    "off_topic": "the speech has next to nothing to do with the motion",
    "scripted_summary": "the summary was plainly written beforehand: it does not take up what was asked and answered",
    "personal_attack": "a person is attacked, not an argument",
}
"""What each violation is (seed, "JudgeAgent": violation detection)."""
_SCALE: dict[str, str] = {
    "logic": "whether what is claimed follows from what is said, and what is said from evidence",
    "persuasion": "whether it would move somebody who is undecided, and meets what the other side said",
    "expression": "whether it is clear, well ordered, and said in few words",
    "teamwork": "whether it builds on what its own team said, and does not repeat it; of its first speech, whether "
    "the team can build on it",
    "rule_compliance": "whether it keeps to its task, to its words, and to the manners of debate",
}
assert set(_SCALE) == set(DIMENSIONS), "every dimension is explained"


def _me(me: Identity) -> dict[str, str]:
    """Who a debater is: the part of its identity that is no text from outside."""
    return {
        "seat": f"{me.team}_{me.position}",
        "team": me.team,
        "against": other(me.team),
        "position": str(me.position),
    }


def _limit(words: int) -> dict[str, str]:
    return {"words": f"{words:,}", "aim": f"{max(1, int(words * AIM)):,}"}


def _confer(brief: ConferBrief) -> dict[str, str]:
    return {**_me(brief.me), "turn": str(brief.turn), "turns": str(brief.turns)}


def _speak(brief: SpeechBrief) -> dict[str, str]:
    left = "" if brief.seconds_left is None else f" Your team has {brief.seconds_left:.0f} seconds of speech left."
    if brief.seconds_left == 0:
        left = " Your team's time is used up; you have these words because everybody must speak."
    along = (
        " Your captain's direction for this speech stands in the state of the debate, under `direction`: follow it."
        if brief.direction
        else ""
    )
    return {**_me(brief.me), **_limit(brief.words), "act": ACTS[brief.act], "left": left, "along": along}


def _question(brief: QuestionBrief) -> dict[str, str]:
    return {
        **_me(brief.me),
        **_limit(brief.words),
        "least": str(brief.least),
        "answerers": " or ".join(brief.answerers),
    }


def _answer(brief: AnswerBrief) -> dict[str, str]:
    return {**_me(brief.me), **_limit(brief.words), "count": str(len(brief.questions))}


def _captain(brief: CaptainBrief) -> dict[str, str]:
    return {
        **_me(brief.me),
        **_limit(brief.words),
        "may": ", ".join(brief.may),
        "unspoken": ", ".join(brief.unspoken) or "nobody",
        "spoken": ", ".join(f"{seat} {n}" for seat, n in sorted(brief.spoken.items())),
        "seconds": f"{brief.seconds_left:.0f}",
    }


def _bid(brief: BidBrief) -> dict[str, str]:
    return {**_me(brief.me), **_limit(brief.words), "seconds": f"{brief.seconds_left:.0f}"}


def _dimension(name: str, weights: Mapping[str, float]) -> str:
    weight = f" (weight {weights[name]:g})" if name in weights else ""
    return f"- `{name}`{weight}: {_SCALE[name]}."


def _score(brief: ScoreBrief) -> dict[str, str]:
    return {
        "seat": brief.seat,
        "act": ACTS[brief.act],
        "said": figure(brief.words),
        "words": f"{brief.limit:,}",
        "over": "It is over its limit; points for that are taken elsewhere, so leave it out of your marks."
        if brief.words > brief.limit
        else "",
        "scale": "\n".join(_dimension(name, brief.weights) for name in DIMENSIONS),
        "violations": "\n".join(f"- `{kind}`: {VIOLATIONS[kind]}." for kind in brief.violations),
    }


def _vote(brief: BallotBrief) -> dict[str, str]:
    when = {
        "before": "The debate has not begun. Vote as you are inclined now; `undecided` is an honest answer.",
        "after": "The debate is over. Vote by what was said in it, and not by what you held before.",
    }
    return {"when": when[brief.name]}


def _answerers(shown: Shown) -> dict[str, dict[str, Any]]:
    return {"answerer": {"enum": list(shown.brief.answerers)}} if shown.brief.answerers else {}


def _speakers(shown: Shown) -> dict[str, dict[str, Any]]:
    return {"speaker": {"enum": list(shown.brief.may)}} if shown.brief.may else {}


KINDS = {
    "confer": Kind(brief=ConferBrief, reply=Note, posts=POSTS, prompt_slots=_confer, aside=True, labels=False),
    "speak": Kind(brief=SpeechBrief, reply=Spoken, posts=POSTS, prompt_slots=_speak, aside=True, labels=False),
    "question": Kind(
        brief=QuestionBrief,
        reply=Questions,
        posts=POSTS,
        prompt_slots=_question,
        aside=True,
        labels=False,
        narrow=_answerers,
    ),
    "answer": Kind(brief=AnswerBrief, reply=Spoken, posts=POSTS, prompt_slots=_answer, aside=True, labels=False),
    "captain": Kind(
        brief=CaptainBrief,
        reply=Decision,
        posts=POSTS,
        prompt_slots=_captain,
        aside=True,
        labels=False,
        narrow=_speakers,
        order=("direction", "speaker"),
    ),
    "bid": Kind(
        brief=BidBrief, reply=Bid, posts=POSTS, prompt_slots=_bid, aside=True, labels=False, order=("point", "wants")
    ),
    "score": Kind(
        brief=ScoreBrief,
        reply=Marks,
        posts=POSTS,
        prompt_slots=_score,
        aside=True,
        labels=False,
        order=("violations", "comment"),
    ),
    "summarize": Kind(brief=SummaryBrief, reply=StageSummary, posts=POSTS, aside=True, labels=False),
    "review": Kind(brief=ReviewBrief, reply=Review, posts=POSTS, aside=True, labels=False),
    "vote": Kind(
        brief=BallotBrief, reply=Ballot, posts=POSTS, prompt_slots=_vote, aside=True, labels=False, order=("why",)
    ),
}
