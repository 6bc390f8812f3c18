"""Kinds of turns of the critic protocol: the answerer answers, the critic objects, the judge rewrites, rules and writes
the verdict, the helper compares."""

from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.turn_kinds.kit import Kind
from parley.schemas.protocols.critic import (
    RULINGS,
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
    limits: dict[str, dict[str, Any]] = {name: {"maxItems": len(known)}}
    if known:
        limits.setdefault(field, {})["enum"] = known
    return limits


def _answers(shown: Shown) -> dict[str, dict[str, Any]]:
    return _numbers("addresses.objection", shown)


def _judges(shown: Shown) -> dict[str, dict[str, Any]]:
    return {**_numbers("answered", shown), **_numbers("contradicts", shown)}


def _concludes(shown: Shown) -> dict[str, dict[str, Any]]:
    """All three rulings, whatever the state of the debate allows: a judge that is held to the others could not say that
    it contradicts the debate."""
    return {"ruling": {"enum": list(RULINGS)}}


def _round(shown: Shown) -> dict[str, str]:
    brief: AnswerBrief = shown.brief
    return {"of": f" of at most {brief.round_limit}"}


def _objections(brief: AnswerBrief) -> dict[str, Any]:
    return {"profile": msgspec.to_builtins(brief.profile)}


def _raised(brief: CritiqueBrief) -> dict[str, Any]:
    return {"again": brief.again, "profile": msgspec.to_builtins(brief.profile)}


_ANSWERED = ("reasoning", "citations", "addresses", "answer", "confidence")
_CONCLUDED = ("reasoning", "assumptions", "ruling", "answer")
_RULED = ("comment", "answered", "contradicts", "score")
_ATTACKED = ("checked", "citations", "objection")

KINDS = {
    "rewrite": Kind(brief=RewriteBrief, reply=Rewritten, head="rewriter", order=("note", "question")),
    "answer": Kind(
        brief=AnswerBrief, reply=Answer, prompt_brief=_objections, prompt_slots=_round, head="answerer",
        narrow=_answers, order=_ANSWERED,
    ),
    "critique": Kind(
        brief=CritiqueBrief, reply=Critique, posts=POSTS, prompt_brief=_raised, head="critic", order=_ATTACKED
    ),
    "press": Kind(
        brief=CritiqueBrief, reply=Critique, posts=POSTS, prompt_brief=_raised, head="critic", order=_ATTACKED
    ),
    "compare": Kind(brief=CompareBrief, reply=Similarities),
    "judge": Kind(brief=JudgeBrief, reply=Judgement, posts=POSTS, head="judge", narrow=_judges, order=_RULED),
    "verdict": Kind(brief=VerdictBrief, reply=Verdict, posts=POSTS, head="judge", narrow=_concludes, order=_CONCLUDED),
}  # fmt: skip
