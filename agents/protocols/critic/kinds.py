"""Kinds of turns of the critic protocol: the answerer answers, the critic objects, the judge rewrites, rules and writes
the verdict, which the other two sign."""

from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.turn_kinds.kit import Kind
from parley.schemas.protocols.critic import (
    RULINGS,
    Answer,
    AnswerBrief,
    Countersignature,
    CountersignBrief,
    Critique,
    CritiqueBrief,
    JudgeBrief,
    Judgement,
    Raised,
    RewriteBrief,
    Rewritten,
    Signature,
    SignBrief,
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


def _judges(shown: Shown) -> dict[str, dict[str, Any]]:
    brief: JudgeBrief = shown.brief
    limits = {**_numbers("met.objection", shown), **_numbers("contradicts", shown)}
    known = [o.number for o in (*brief.profile, *brief.closed)] if brief.objects else []
    limits["repeats"] = {"enum": [0, *known]}
    return limits


def _countersigns(shown: Shown) -> dict[str, dict[str, Any]]:
    brief: CountersignBrief = shown.brief
    return {"left_out": {"enum": [0, *(o.number for o in brief.open)]}}


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


_ANSWERED = ("reasoning", "citations", "answer", "confidence")
_CONCLUDED = ("reasoning", "assumptions", "ruling", "reversed_by", "answer")
_RULED = ("comment", "repeats", "met", "contradicts", "check_holds", "score")
_ATTACKED = ("checked", "citations", "objection")

KINDS = {
    "rewrite": Kind(brief=RewriteBrief, reply=Rewritten, head="rewriter", order=("note", "question")),
    "answer": Kind(
        brief=AnswerBrief, reply=Answer, prompt_brief=_objections, prompt_slots=_round, head="answerer",
        order=_ANSWERED,
    ),
    "critique": Kind(
        brief=CritiqueBrief, reply=Critique, posts=POSTS, prompt_brief=_raised, head="critic", order=_ATTACKED
    ),
    "press": Kind(
        brief=CritiqueBrief, reply=Critique, posts=POSTS, prompt_brief=_raised, head="critic", order=_ATTACKED
    ),
    "judge": Kind(brief=JudgeBrief, reply=Judgement, posts=POSTS, head="judge", narrow=_judges, order=_RULED),
    "verdict": Kind(brief=VerdictBrief, reply=Verdict, posts=POSTS, head="judge", narrow=_concludes, order=_CONCLUDED),
    "sign": Kind(brief=SignBrief, reply=Signature, head="signer", order=("differs", "states")),
    "countersign": Kind(brief=CountersignBrief, reply=Countersignature, head="signer", narrow=_countersigns),
}  # fmt: skip
