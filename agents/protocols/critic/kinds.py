"""Kinds of turns of the critic protocol: the answerer answers, the critic objects, the judge rewrites, rules and writes
the verdict. The answerer signs one that narrows, and the critic looks at what is to be the result."""

from collections.abc import Sequence
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.turn_kinds.kit import Kind
from parley.schemas.protocols.critic import (
    AS_ASKED,
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


def _numbers(field: str, past: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """Objections are named by their numbers, each once."""
    known = [o.number for o in past]
    name, _, _ = field.partition(".")
    limits: dict[str, dict[str, Any]] = {name: {"maxItems": len(known)}}
    if known:
        limits.setdefault(field, {})["enum"] = known
    return limits


def _judges(shown: Shown) -> dict[str, dict[str, Any]]:
    """Without an objection there is nothing to score, and it repeats and contradicts none."""
    brief: JudgeBrief = shown.brief
    limits = {
        **_numbers("met.objection", brief.profile),
        **_numbers("contradicts", brief.profile if brief.objects else ()),
    }
    known = [o.number for o in (*brief.profile, *brief.closed)] if brief.objects else []
    limits["repeats"] = {"enum": [0, *known]}
    if not brief.objects:
        limits["score"] = {"enum": [100]}
    if not brief.checked:
        limits["check_holds"] = {"enum": [False]}
    return limits


def _countersigns(shown: Shown) -> dict[str, dict[str, Any]]:
    brief: CountersignBrief = shown.brief
    return _numbers("open", brief.objections)


def _concludes(shown: Shown) -> dict[str, dict[str, Any]]:
    """All three rulings, whatever the state of the debate allows: a judge that is held to the others could not say that
    it contradicts the debate."""
    brief: VerdictBrief = shown.brief
    return {"ruling": {"enum": list(RULINGS)}, "reversed_by": {"enum": [0, *brief.overturned_by]}}


def _wordings(shown: Shown) -> dict[str, str]:
    return {"wordings": _TWO if AS_ASKED in shown.question else ""}


def _ruled(shown: Shown) -> dict[str, str]:
    """How to take a check and the objections of the rounds before, where there are some."""
    brief: JudgeBrief = shown.brief
    before = [_BEFORE] if brief.profile else []
    before += [_REPEATS] if brief.objects and (brief.profile or brief.closed) else []
    return {**_wordings(shown), "check": _CHECK if brief.checked else "", "before": " ".join(before)}


def _answers(shown: Shown) -> dict[str, str]:
    """What is to be done about objections, where there are some."""
    brief: AnswerBrief = shown.brief
    contradict = any(o.contradicts for o in brief.profile)
    meet = (_MEET + (_APART if contradict else "")) if brief.profile else ""
    return {**_wordings(shown), "meet": meet, "meets": _MEETS if brief.profile else ""}


def _concluded(shown: Shown) -> dict[str, str]:
    """What a judge is told whose verdict was not signed, and of a debate that did not converge."""
    brief: VerdictBrief = shown.brief
    return {
        **_wordings(shown),
        "unsigned": _UNSIGNED if brief.unsigned else "",
        "ended": "" if brief.converged else "It ended without convergence (`reason`): say that first. ",
        "reverse": _REVERSE if brief.overturned_by else "",
    }


def _narrowed(shown: Shown) -> dict[str, str]:
    brief: CountersignBrief = shown.brief
    return {**_wordings(shown), "narrowed": _NARROWED if brief.narrowed else ""}


def _profile(brief: AnswerBrief | CritiqueBrief) -> dict[str, Any]:
    return {"profile": msgspec.to_builtins(brief.profile)}


def _at_issue(brief: JudgeBrief) -> dict[str, Any]:
    """Without what the posts show, and the order in which they stand."""
    return {"checked": brief.checked, **msgspec.to_builtins({"profile": brief.profile, "closed": brief.closed})}


def _debated(brief: VerdictBrief) -> dict[str, Any]:
    """Why it ended only where it did not converge."""
    shown = msgspec.to_builtins(brief)
    return {k: v for k, v in shown.items() if k != "converged" and not (k == "reason" and brief.converged)}


_TWO = (
    "It stands in two wordings: a neutral one, and as it was asked. Leave aside what only presses in the second. What"
    " counts is an answer to what it asks."
)
_CHECK = "`checked` is the calculation by which the critic checked the answer. Go through it step by step."
_BEFORE = (
    "`profile` holds the objections of the rounds before. To mention one is not to meet it: it is met if what it says"
    " is refuted, or no longer true of this answer. The critic is asked in the end whether what you call met is met."
)
_REPEATS = (
    "A new objection repeats an earlier one, of `profile` or of those in `closed` that had nothing to them, only if it"
    " makes the same point, in other words or not. Another fault of the same part is another point."
)
_MEET = (
    "You begin afresh: you are not shown what you answered before, and owe it nothing. Meet every objection that you"
    " can: change the answer where one is sound, and say what is wrong with it where it is not. Do not claim to meet"
    " one that you pass over."
)
_APART = (
    " `contradicts` names earlier objections that one contradicts: say which is right; an answer cannot follow both."
)
_MEETS = "; for each objection that this answer meets, a whole sentence that meets it"
_UNSIGNED = " `unsigned` says why your verdict before this one was not signed: meet that, or word it more closely."
_REVERSE = (
    " You may not uphold it against an objection of `overturned_by`, which weighs half or more. Reverse it only where"
    " one of those is right and leaves nothing of it."
)
_NARROWED = (
    "`narrowed` is what the judge's verdict makes of the answer, and is to be the result in its place: judge that. An"
    " objection is open if `narrowed` neither gives up what it attacks nor says that it is open. "
)
_ANSWERED = ("reasoning", "citations", "answer", "confidence")
_CONCLUDED = ("reasoning", "assumptions", "ruling", "reversed_by", "answer")
_RULED = ("comment", "repeats", "met", "contradicts", "check_holds", "score")
_ATTACKED = ("checked", "citations", "objection")

KINDS = {
    "rewrite": Kind(brief=RewriteBrief, reply=Rewritten, head="rewriter", order=("note", "question")),
    "answer": Kind(
        brief=AnswerBrief, reply=Answer, prompt_brief=_profile, prompt_slots=_answers, head="answerer", order=_ANSWERED
    ),
    "critique": Kind(
        brief=CritiqueBrief,
        reply=Critique,
        posts=POSTS,
        prompt_brief=_profile,
        prompt_slots=_wordings,
        head="critic",
        order=_ATTACKED,
    ),
    "judge": Kind(
        brief=JudgeBrief,
        reply=Judgement,
        posts=POSTS,
        prompt_brief=_at_issue,
        prompt_slots=_ruled,
        head="judge",
        narrow=_judges,
        order=_RULED,
    ),
    "verdict": Kind(
        brief=VerdictBrief,
        reply=Verdict,
        posts=POSTS,
        prompt_brief=_debated,
        prompt_slots=_concluded,
        head="judge",
        narrow=_concludes,
        order=_CONCLUDED,
    ),
    "sign": Kind(brief=SignBrief, reply=Signature, prompt_slots=_wordings, head="signer", order=("differs", "states")),
    "countersign": Kind(
        brief=CountersignBrief,
        reply=Countersignature,
        posts=POSTS,
        prompt_slots=_narrowed,
        head="critic",
        narrow=_countersigns,
        order=("reason", "open", "fatal"),
    ),
}
