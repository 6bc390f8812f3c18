"""Kinds of turns of the consensus protocol: panelists answer, revise and sign, the analyst compares and concludes."""

from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.turn_kinds import abstaining
from parley.agents.turn_kinds.kit import Kind
from parley.schemas.protocols.consensus import (
    Assessment,
    BallotBrief,
    CompareBrief,
    Comparison,
    ConcludeBrief,
    Conclusion,
    PanelBrief,
    Position,
    Put,
    Signature,
    SignBrief,
    Signed,
)
from parley.schemas.voting import MAX_SCORE, ApprovalBallot, Cast, RankBallot, Ruling, ScoreBallot

POSTS = {
    "position": Position,
    "analysis": Comparison,
    "assessment": Assessment,
    "synthesis": Conclusion,
    "put": Put,
    "signature": Signed,
    "ballot": Cast,
    "answer": Position,
    "revise": Position,
}


_NOTHING: dict[str, Any] = {"anyOf": [{"type": "null"}]}


def _alone(shown: Shown) -> dict[str, dict[str, Any]]:
    """Nobody was heard, and nothing was said before: there is nothing to change."""
    first: dict[str, dict[str, Any]] = {
        "change": {"enum": ["kept"]},
        "change_reason": {"maxLength": 0},
        "moved_by": {"maxItems": 0},
        "argument": _NOTHING,
    }
    return {**first, **abstaining.limits(shown)}


def _again(shown: Shown) -> dict[str, dict[str, Any]]:
    if shown.own is None:
        return _alone(shown)
    heard = [other.post for other in shown.others]
    limits: dict[str, dict[str, Any]] = {"change_reason": {"minLength": 1}, **abstaining.limits(shown)}
    limits |= {"argument.post": {"enum": heard}} if heard else {"argument": _NOTHING}
    if not any(isinstance(o.body, Position) and o.body.citations for o in shown.others):
        limits["moved_by"] = {"maxItems": 0}
    return limits


def _compares(shown: Shown) -> dict[str, dict[str, Any]]:
    brief: CompareBrief = shown.brief
    argued: dict[str, Any] = {"enum": [m.post for m in brief.moves]} if brief.moves else {"maxItems": 0}
    missing = {"enum": ["", *brief.spare]} if brief.spare else {"maxLength": 0}
    return {"groups.posts": {"enum": [w.post for w in brief.positions]}, "argued": argued, "missing": missing}


def _concludes(shown: Shown) -> dict[str, dict[str, Any]]:
    """It is asked for one answer, and its words say whether they state another."""
    return {"group": {"maxLength": 0}}


def _signs(shown: Shown) -> dict[str, dict[str, Any]]:
    brief: SignBrief = shown.brief
    states = {"states": {"enum": ["first", "second", "both", "neither"] if brief.second else ["first", "neither"]}}
    return states if brief.yours else {**states, "differs": {"maxLength": 0}}


def _signer(shown: Shown) -> dict[str, str]:
    brief: SignBrief = shown.brief
    two = brief.second is not None
    offered = (brief.first, brief.second) if brief.second else (brief.first,)
    mine = "Your own last answer stands there as `yours`. Say whether the sentence states it"
    if two:
        mine = "Your own last answer stands there as `yours`. Say which of the sentences states it"
    neither = "none of them states it" if two else "it does not"
    differs = "the clause that differs from your answer, copied word for word from a sentence that does not state it;"
    if not brief.yours:
        one = "one of these" if two else "this one"
        mine = f"You gave no answer of your own. You may accept {one} if what you know or were shown carries it"
        neither, differs = "you accept none", "an empty string."
    numbers = "`two_ways` lists numbers that some read with a decimal sign and others with a group sign: sign them only"
    return {
        "put": "Two sentences, in no order that means anything" if two else "A sentence that is put to you",
        "mine": mine,
        "numbers": f"{numbers} if they mean what you mean." if any(x.two_ways for x in offered) else "",
        "differs": differs if not brief.yours else f"{differs} empty if none differs.",
        "states": '"first", "second", "both"' if two else '"first"',
        "neither": neither,
    }


_QUOTED = 300
"""Characters of the words that a judge goes by."""


def _votes(shown: Shown) -> dict[str, dict[str, Any]]:
    """Every choice is named, and no other."""
    brief: BallotBrief = shown.brief
    many = len(brief.choices)
    places = list(range(1, many + 1))
    every = {"minItems": many, "maxItems": many}
    narrowed: dict[str, dict[str, dict[str, Any]]] = {
        "rank": {"order": {"enum": places, **every}},
        "approve": {"approved": {"enum": places, "maxItems": many}},
        "score": {"scores": {"minimum": 0, "maximum": MAX_SCORE, **every}},
        "judge": {
            "choice": {"enum": places},
            "post": {"enum": [other.post for other in shown.others] or [1]},
            "quote": {"maxLength": _QUOTED},
        },
    }
    return narrowed[shown.kind]


def _voter(shown: Shown) -> dict[str, str]:
    brief: BallotBrief = shown.brief
    yours = "Your own last answer stands there as `yours`. Weigh it as you weigh the others. " if brief.yours else ""
    return {"many": str(len(brief.choices)), "yours": yours, "quoted": str(_QUOTED)}


def _choices(brief: BallotBrief) -> dict[str, Any]:
    """The answers with their numbers: nothing that is empty."""
    choices = [
        {"number": n, **{key: value for key, value in msgspec.to_builtins(choice).items() if value}}
        for n, choice in enumerate(brief.choices, 1)
    ]
    return {"answers": choices, **({"yours": brief.yours} if brief.yours else {})}


def _offered(brief: SignBrief) -> dict[str, Any]:
    """The two sentences as a prompt shows them: nothing that is empty."""
    fields: dict[str, Any] = msgspec.to_builtins(brief)
    for name in ("first", "second"):
        fields[name] = {key: value for key, value in (fields[name] or {}).items() if value}
    return {name: value for name, value in fields.items() if value}


def _round(shown: Shown) -> dict[str, str]:
    brief: PanelBrief | CompareBrief = shown.brief
    return {"of": f" of at most {brief.round_limit}"}


def _panelist(shown: Shown) -> dict[str, str]:
    so_far = shown.brief.so_far
    put = " (`put`: a sentence that too few members signed; `differs`: what they do not hold of it)"
    return {
        **_round(shown),
        "put": put if so_far and so_far.put else "",
        "strategy": f"How you work: {shown.brief.strategy}" if shown.brief.strategy else "",
    }


def _analyst(shown: Shown) -> dict[str, str]:
    brief: CompareBrief = shown.brief
    labels = (
        " `labels` are the names of answers so far, each with an example: an answer that is there already keeps its "
        "label, word for word."
    )
    return {
        **_round(shown),
        "moves": ", and the posts that `moves` names" if brief.moves else "",
        "before": " The state of the debate holds those of the round before." if brief.key_disagreements else "",
        "labels": labels if brief.labels else "",
        "missing": f"\n{_MISSING}" if brief.spare else "",
    }


_MISSING = (
    "- `missing`: `spare` lists what members know who do not sit in this panel. Name the one entry without which the "
    "question cannot be answered well, and which no position shows; empty if there is none."
)


def _wording(shown: Shown) -> dict[str, str]:
    brief: ConcludeBrief = shown.brief
    again = (
        " `put` was put already, and too few signed it: `differs` quotes the clauses that members do not hold, and "
        "`reservations` what they hold beside. Word a new one that they can sign without giving up what they hold; "
        "leave out what only some hold."
    )
    return {"put": again if brief.put else ""}


def _stand(brief: PanelBrief) -> dict[str, Any]:
    """Where the panel stands. What it is told of the rounds is in the task."""
    return {} if brief.so_far is None else msgspec.to_builtins(brief.so_far)


def _compared(brief: CompareBrief) -> dict[str, Any]:
    """What is to be compared. Weights are the moderator's affair, and what it is told of the rounds is in the task."""
    fields: dict[str, Any] = msgspec.to_builtins(brief)
    names = ("labels", "moves", "key_disagreements", *(["spare"] if brief.spare else []))
    return {"positions": [w.post for w in brief.positions], **{name: fields[name] for name in names}}


def _worded(brief: ConcludeBrief) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(brief).items() if name != "positions"}


def _held(body: Any) -> Any:
    """A position as those are shown it who weigh it."""
    if not isinstance(body, Position):
        return body
    fields: dict[str, Any] = msgspec.to_builtins(body)
    names = ("answer", "reasoning", "confidence", "citations", *(() if body.change == "kept" else ("change_reason",)))
    return {name: fields[name] for name in names}


def _claimed(body: Any) -> Any:
    """A position as the analyst is shown it, who does not ask how sure or how moved anybody is."""
    fields = _held(body)
    return {k: v for k, v in fields.items() if k != "confidence"} if isinstance(fields, dict) else fields


_REASONED = (
    "reasoning", "citations", "moved_by", "argument", "change_reason", "change", "abstains", "answer", "confidence",
)  # fmt: skip
_COMPARED = ("agreements", "key_disagreements", "comment", "argued", "groups", "approach", "priority", "missing")

KINDS = {
    "answer": Kind(
        brief=PanelBrief, reply=Position, posts=POSTS, prompt_brief=_stand, prompt_slots=_panelist, head="panelist",
        narrow=_alone, order=_REASONED,
    ),
    "revise": Kind(
        brief=PanelBrief, reply=Position, posts=POSTS, prompt_brief=_stand, prompt_post=_held, prompt_slots=_panelist,
        head="panelist", narrow=_again, order=_REASONED,
    ),
    "compare": Kind(
        brief=CompareBrief, reply=Comparison, posts=POSTS, prompt_brief=_compared, prompt_post=_claimed,
        prompt_slots=_analyst, head="analyst", narrow=_compares, order=_COMPARED,
    ),
    "conclude": Kind(
        brief=ConcludeBrief, reply=Conclusion, posts=POSTS, prompt_brief=_worded, prompt_post=_claimed,
        prompt_slots=_wording, head="analyst", narrow=_concludes, order=("reasoning", "answer"),
    ),
    "sign": Kind(
        brief=SignBrief, reply=Signature, posts=POSTS, prompt_brief=_offered, prompt_slots=_signer, head="signer",
        narrow=_signs, order=("differs", "states", "reservation"),
    ),
    **{
        name: Kind(
            brief=BallotBrief, reply=reply, posts=POSTS, prompt_brief=_choices, prompt_post=_claimed,
            prompt_slots=_voter, head="judge" if name == "judge" else "voter", narrow=_votes,
        )
        for name, reply in (
            ("rank", RankBallot), ("approve", ApprovalBallot), ("score", ScoreBallot), ("judge", Ruling),
        )
    },
}  # fmt: skip

PARTS = {
    "look_up": Kind(
        brief=PanelBrief,
        reply=Position,
        posts=POSTS,
        prompt_brief=_stand,
        prompt_post=_held,
        prompt_slots=_panelist,
        head="panelist",
    ),
}
"""A panelist looks things up before it answers (parley.agents.looking.looked); its own types stand for the reply."""
