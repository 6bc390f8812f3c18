"""Kinds of turns of the critic protocol: the answerer answers, the critic objects, the judge rewrites, rules and writes
the verdict, the helper compares."""

from typing import Any

import msgspec

from agents.context import Shown
from agents.protocols.kit import Kind
from schemas.protocols.critic import (
    Answer,
    AnswerBrief,
    CompareBrief,
    Critique,
    CritiqueBrief,
    JudgeBrief,
    Judgement,
    Raised,
    RewriteBrief,
    Rewritten,
    Similarities,
    Verdict,
    VerdictBrief,
)

POSTS = {"answer": Answer, "objection": Raised}


def _numbers(field: str, shown: Shown) -> dict[str, dict[str, Any]]:
    """Objections are named by numbers of the profile, each once."""
    known = [past.number for past in shown.brief.profile]
    name, _, _ = field.partition(".")
    found: dict[str, dict[str, Any]] = {name: {"maxItems": len(known)}}
    if known:
        found.setdefault(field, {})["enum"] = known
    return found


def _answers(shown: Shown) -> dict[str, dict[str, Any]]:
    return _numbers("addresses.objection", shown)


def _judges(shown: Shown) -> dict[str, dict[str, Any]]:
    return _numbers("answered", shown)


def _round(brief: AnswerBrief) -> dict[str, str]:
    return {"of": f" of at most {brief.round_limit}" if brief.round_limit is not msgspec.UNSET else ""}


_ANSWERED = ("reasoning", "citations", "addresses", "answer", "confidence")
_RULED = ("comment", "answered", "score")

KINDS = {
    "rewrite": Kind(brief=RewriteBrief, reply=Rewritten, order=("note", "question")),
    "answer": Kind(brief=AnswerBrief, reply=Answer, prompt_slots=_round, narrow=_answers, order=_ANSWERED),
    "critique": Kind(brief=CritiqueBrief, reply=Critique, posts=POSTS),
    "press": Kind(brief=CritiqueBrief, reply=Critique, posts=POSTS),
    "compare": Kind(brief=CompareBrief, reply=Similarities),
    "judge": Kind(
        brief=JudgeBrief, reply=Judgement, posts=POSTS, narrow=_judges, order=("comment", "answered", "score")
    ),
    "verdict": Kind(brief=VerdictBrief, reply=Verdict, posts=POSTS, order=("reasoning", "answer")),
}
