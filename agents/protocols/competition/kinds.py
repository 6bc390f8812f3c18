"""Kinds of turns of the competition: debaters confer, bid, decide, speak, question and answer; the judge scores, sums
up and reviews; the audience votes.

What the prompts say outside their fences is built here: numbers, seats, words of our own, and, since a seat acts on
it, what whoever runs the debate set (names of teams, stances, personalities, tasks) and a captain's direction.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.turn_kinds.kit import Kind
from parley.schemas.protocols.competition.format import DIMENSIONS, Act, Team, Violation, other
from parley.schemas.protocols.competition.messages import (
    AnswerBrief,
    Ballot,
    BallotBrief,
    Bid,
    BidBrief,
    CaptainBrief,
    ConferBrief,
    Decision,
    FinalReview,
    Identity,
    Marks,
    Note,
    QuestionBrief,
    Questions,
    ReviewBrief,
    ScoreBrief,
    SpeechBrief,
    SpeechPost,
    Spoken,
    StageSummary,
    SummaryBrief,
)
from parley.schemas.wire import figure

POSTS = {
    "speech": SpeechPost,
    "note": Note,
    "bid": Bid,
    "decision": Decision,
    "summary": StageSummary,
    "review": FinalReview,
}
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


def _line(text: str) -> str:
    """In one line, and ended as a sentence."""
    line = " ".join(text.split())
    return line if not line or line[-1] in ".!?" else f"{line}."


def _me(shown: Shown) -> dict[str, str]:
    """Who a debater is, in the same words in all its turns, and what it may quote."""
    me: Identity = shown.brief.me
    style = "" if me.personality is None else f"{_line(me.personality.name)} {_line(me.personality.characteristics)}"
    own = bool(shown.documents)
    return {
        "seat": f"{me.team}_{me.position}",
        "team": me.team,
        "against": other(me.team),
        "position": str(me.position),
        "team_name": " ".join(me.team_name.split()),
        "stance": _line(me.stance),
        "duty": f"What your position is responsible for: {_line(me.role)}" if me.role else "",
        "style": f"Your style of debate: {style}" if style else "",
        "mates": f"Your team-mates: {', '.join(me.mates)}." if me.mates else "",
        "quoting": QUOTING if own else NO_DOCUMENTS,
        "citations": CITATIONS if own else "an empty list.",
    }


QUOTING = (
    "Evidence is a quotation from your documents, word for word, with the document named. A quotation that does not "
    "stand there is refused."
)
NO_DOCUMENTS = "You hold no documents: argue from what is commonly known, and invent no figure, study or quotation."
CITATIONS = (
    "spans of your documents that you quote, each with `document`, its name, and a `quote` copied word for word; empty "
    "if there are none."
)


def _limit(words: int) -> dict[str, str]:
    return {"words": f"{words:,}", "aim": f"{max(1, int(words * AIM)):,}"}


def _confer(shown: Shown) -> dict[str, str]:
    brief: ConferBrief = shown.brief
    ahead = "\n".join(f"- {_line(line)}" for line in brief.ahead) or "- nothing."
    turns = {"turn": str(brief.turn), "turns": str(brief.turns)}
    return {**_me(shown), **turns, "stage": " ".join(brief.stage.split()), "ahead": ahead}


def _speak(shown: Shown) -> dict[str, str]:
    brief: SpeechBrief = shown.brief
    time_left = "" if brief.seconds_left is None else f" Your team has {brief.seconds_left:.0f} seconds of speech left."
    if brief.seconds_left == 0:
        time_left = " Your team's time is used up; you have these words because everybody must speak."
    direction = f"Your captain's direction for this speech; follow it: {_line(brief.direction)}"
    return {
        **_me(shown),
        **_limit(brief.words),
        "act": ACTS[brief.act],
        "task": _line(brief.task),
        "direction": direction if brief.direction else "",
        "left": time_left,
    }


def _question(shown: Shown) -> dict[str, str]:
    brief: QuestionBrief = shown.brief
    return {
        **_me(shown),
        **_limit(brief.words),
        "least": str(brief.least),
        "answerers": " or ".join(brief.answerers),
    }


def _answer(shown: Shown) -> dict[str, str]:
    brief: AnswerBrief = shown.brief
    return {**_me(shown), **_limit(brief.words), "count": str(len(brief.questions))}


def _captain(shown: Shown) -> dict[str, str]:
    brief: CaptainBrief = shown.brief
    return {
        **_me(shown),
        **_limit(brief.words),
        "may": ", ".join(brief.may),
        "unspoken": ", ".join(brief.unspoken) or "nobody",
        "first": " They go first, since everybody must have spoken."
        if brief.unspoken and set(brief.may) <= set(brief.unspoken)
        else "",
        "styles": " " + _line("Their styles: " + ", ".join(f"{seat} {style}" for seat, style in brief.styles.items()))
        if brief.styles
        else "",
        "spoken": ", ".join(f"{seat} {n}" for seat, n in sorted(brief.spoken.items())),
        "seconds": f"{brief.seconds_left:.0f}",
    }


def _bid(shown: Shown) -> dict[str, str]:
    brief: BidBrief = shown.brief
    return {**_me(shown), **_limit(brief.words), "seconds": f"{brief.seconds_left:.0f}"}


def _dimension(name: str, weights: Mapping[str, float]) -> str:
    weight = f" (weight {weights[name]:g})" if name in weights else ""
    return f"- `{name}`{weight}: {_SCALE[name]}."


def _score(shown: Shown) -> dict[str, str]:
    brief: ScoreBrief = shown.brief
    return {
        "seat": brief.seat,
        "act": ACTS[brief.act],
        "task": f"What the speech was for: {_line(brief.task)}" if brief.task else "",
        "said": figure(brief.words),
        "words": f"{brief.limit:,}",
        "over": "It is over its limit; points for that are taken elsewhere, so leave it out of your marks."
        if brief.words > brief.limit
        else "",
        "scale": "\n".join(_dimension(name, brief.weights) for name in DIMENSIONS),
        "violations": "\n".join(f"- `{kind}`: {VIOLATIONS[kind]}." for kind in brief.violations),
    }


def _vote(shown: Shown) -> dict[str, str]:
    """Which team is named first is drawn by session and seat: the same for both votes, and neither is first for all."""
    brief: BallotBrief = shown.brief
    when = {
        "before": "The debate has not begun. Vote as you are inclined now; `undecided` is an honest answer.",
        "after": "The debate is over. Vote by what was said in it, and not by what you held before.",
    }
    stances: dict[Team, str] = {"pro": "for the motion", "con": "against the motion", **brief.stances}
    drawn = blake2b(f"{shown.session}|{shown.seat}".encode(), digest_size=1).digest()[0] % 2
    teams: tuple[Team, Team] = ("pro", "con") if drawn else ("con", "pro")
    return {
        "when": when[brief.name],
        "sides": " ".join(f"Team `{team}` holds this: {_line(stances[team])}" for team in teams),
        "choices": ", ".join(f"`{team}`" for team in teams),
    }


def _nothing(brief: Any) -> dict[str, Any]:
    """All of the brief stands outside the fences."""
    return {}


def _questions(brief: AnswerBrief) -> dict[str, Any]:
    return {"questions": brief.questions}


def _bids(brief: CaptainBrief) -> dict[str, Any]:
    return {"bids": msgspec.to_builtins(brief.bids)} if brief.bids else {}


def _answerers(shown: Shown) -> dict[str, dict[str, Any]]:
    return {"answerer": {"enum": list(shown.brief.answerers)}} if shown.brief.answerers else {}


def _speakers(shown: Shown) -> dict[str, dict[str, Any]]:
    return {"speaker": {"enum": list(shown.brief.may)}} if shown.brief.may else {}


def _kind(head: str, brief: Any, reply: Any, **more: Any) -> Kind:
    """A kind of turn; bodies of posts say whose they are. What a captain decided is not for every turn, and so comes
    after what a debater's next prompt shows again."""
    return Kind(
        brief=brief,
        reply=reply,
        posts=POSTS,
        head=head,
        aside=True,
        shuffled=False,
        passing=frozenset({"decision"}),
        sums_up="summary",
        **{"prompt_brief": _nothing, **more},
    )


KINDS = {
    "confer": _kind("debater", ConferBrief, Note, prompt_slots=_confer),
    "speak": _kind("debater", SpeechBrief, Spoken, prompt_slots=_speak),
    "question": _kind("debater", QuestionBrief, Questions, prompt_slots=_question, narrow=_answerers),
    "answer": _kind("debater", AnswerBrief, Spoken, prompt_slots=_answer, prompt_brief=_questions),
    "captain": _kind(
        "debater",
        CaptainBrief,
        Decision,
        prompt_slots=_captain,
        prompt_brief=_bids,
        narrow=_speakers,
        order=("direction", "speaker"),
    ),
    "bid": _kind("debater", BidBrief, Bid, prompt_slots=_bid, order=("point", "wants")),
    "score": _kind("judge", ScoreBrief, Marks, prompt_slots=_score, order=("violations", "comment")),
    "summarize": _kind("judge", SummaryBrief, StageSummary, prompt_brief=None),
    "review": _kind("judge", ReviewBrief, FinalReview, prompt_brief=None),
    "vote": _kind("audience", BallotBrief, Ballot, prompt_slots=_vote, order=("why",)),
}
