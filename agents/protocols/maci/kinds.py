"""Kinds of turns of the MACI protocol: debaters answer blind and argue, judges score, the analyst merges and plans, the
helper retrieves and measures.

What the helper does is computed and asked of no language model: it decides over participants.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.turn_kinds.kit import NOTHING, Kind
from parley.schemas.belief import Share
from parley.schemas.protocols.maci.messages import (
    AnonymousItem,
    ArgueBrief,
    Blind,
    BlindBrief,
    Case,
    Crit,
    CritBrief,
    Earlier,
    MeasureBrief,
    Measured,
    MergeBrief,
    Merged,
    Passages,
    PlanBrief,
    Rebutted,
    RetrieveBrief,
    Retrieved,
    Ruled,
    Tests,
)

POSTS = {"passages": Passages, "argument": Ruled, "refused": Ruled, "outcomes": Merged}
DEBATER_TEMPERATURE = 0.7  # B.2
JUDGE_TEMPERATURE = 0.3  # E.4
REBUTTAL = (
    "To meet an argument head on, name the number of its post in `rebuts`: say which of its reasons does not hold "
    "or does not carry its claim. A judge is then shown that argument, and judges yours as a rebuttal of it."
)
"""What a debater is told where there is something to rebut."""
MET = "`rebuts`, the number of the post that it rebuts, one of those that you may rebut, else null; "
BESIDE = "judges passed it; a program refused it, since its quotations are far from the subject of the question"
FRAME = (
    "The moderator wants the debate to begin from different points of view. Take this one for your first answer, as "
    "far as the passages let you; in later rounds go by what is argued:"
)
COUNTS = (
    "Your own words were taken for the same answer as others', as `your words count as` shows. If that is wrong, name "
    "them in `apart`: they become an outcome of their own, of which your belief may name them."
)
"""What a debater is told whose proposals were merged into an outcome of another name."""
MOST_NAMED = 20
"""Outcomes of a belief that a prompt names; the others are told by their number and their sum."""
NAMED_FROM = 0.005
"""Probability from which a prompt names them."""


def _belief(shares: Iterable[Share]) -> dict[str, Any]:
    """A belief as a map, the most probable first, so that one over hundreds of outcomes is short."""
    ordered = sorted(shares, key=lambda s: -s.p)
    named = [s for s in ordered if s.p >= NAMED_FROM][:MOST_NAMED] or ordered[:MOST_NAMED]
    rest = ordered[len(named) :]
    others = {f"{len(rest)} others together": round(sum(s.p for s in rest), 3)} if rest else {}
    return {**{s.outcome: round(s.p, 3) for s in named}, **others}


def _without_figures(body: Any) -> Any:
    """A post without figures that are the moderator's: they would be read as a reason to believe it."""
    if isinstance(body, Passages):
        return {"passages": [{"id": p.id, "document": p.document, "text": p.text} for p in body.passages]}
    if isinstance(body, Ruled):
        rebuts = {"rebuts the argument": body.rebuts_id} if body.rebuts_id else {}
        beside = {} if body.admitted else {"not in the record": BESIDE}
        return {"id": body.id, **beside, **rebuts, "claim": body.claim, "reasons": body.reasons, "spans": body.spans}
    return body


def _blind(brief: BlindBrief) -> dict[str, Any]:
    return {"outcomes": brief.outcomes, **_scale(brief)}


def _scale(brief: BlindBrief | ArgueBrief) -> dict[str, Any]:
    return {"the outcomes are": "a scale, in this order"} if brief.ordered else {}


def _stand(brief: ArgueBrief) -> dict[str, Any]:
    """Where the debate stands for one debater: nothing that is empty."""
    shared = brief.against or brief.shared
    return {
        **({"all hold": shared} if shared else {}),
        "outcomes": brief.outcomes,
        **_scale(brief),
        "your belief": _belief(brief.belief),
        "your words count as": {one.proposed: one.outcome for one in brief.counts_as},
        "what you said before": [_without_empty(said) for said in brief.earlier],
        **({} if brief.answers else _speakers(brief)),
        "posts that you may rebut": brief.rebuttable,
    }


def _without_empty(said: Earlier) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(said).items() if value or name == "round"}


def _speakers(brief: ArgueBrief) -> dict[str, Any]:
    """Who holds what, and whose the arguments of the record are."""
    labels = [s.label for s in brief.speakers if not s.own]
    return {
        "what the other debaters hold": {k: _belief(b) for k, b in zip(labels, brief.opponents, strict=True)},
        "whose arguments they are": {s.label + " (you)" * s.own: s.arguments for s in brief.speakers if s.arguments},
    }


NO_PASSAGES = "There are no passages: go by what is commonly known, and invent no figure, study or quotation."
MOST_SPANS, MOST_ARGUED, MOST_REASONS = 5, 3, 3
"""Pieces of evidence of a blind answer, and of an argument; reasons of an argument: what the prompt asks for, and its
schema allows."""
QUOTED, SENTENCE, CHANGED, BELIEF = 200, 240, 300, 1_200
"""Characters of a quotation, of a claim or a reason, of what moved a belief, and of a belief beside arguments: together
they fit an answer of three arguments."""
MOST_PROPOSED, MOST_NAME = 8, 100
"""Outcomes that a debater proposes, and the characters of one, where they are open."""
_AROUND_NAME = 26
"""Characters of an entry of a belief beside the outcome's name."""
COPIED = (
    "each with `passage`, its id (such as p3), and `quote`, words copied from it exactly as they stand there, at most "
    f"{QUOTED} characters"
)
_IN_WORDS = {3: "three", 5: "five"}


def _quotable(shown: Shown) -> bool:
    return any(isinstance(o.body, Passages) and o.body.passages for o in shown.others)


def _blind_orders(shown: Shown) -> dict[str, str]:
    brief: BlindBrief = shown.brief
    return {
        "open": "" if brief.outcomes else "Propose the outcomes, two to eight different ones, each in few words. ",
        "named": "its name as given" if brief.outcomes else "its name",
        "frame": f"{FRAME} {' '.join(brief.frame.split())}" if brief.frame else "",
        "evidence": "Answer from the passages, and invent no figure, study or quotation."
        if _quotable(shown)
        else NO_PASSAGES,
        "spans": f"up to {_IN_WORDS[MOST_SPANS]} pieces of evidence, {COPIED}.",
    }


def _argue_orders(shown: Shown) -> dict[str, str]:
    brief: ArgueBrief = shown.brief
    gates = (
        "An argument is admitted only if judges, who do not know whose it is, find it good: evidence, logic and "
        f"relevance at least {brief.tau_crit:.2f} of 1"
    )
    argued = ""
    if _quotable(shown):
        gates += (
            f"; and if its quotations, taken together, are at least {brief.tau_q:.2f} of 1 like the question and its "
            "passages, as a program measures it: let one of them name the subject. One without a quotation is refused."
            if brief.tau_q
            else ". One without a quotation has no evidence."
        )
        argued = f"; `spans`, one to {_IN_WORDS[MOST_ARGUED]} pieces of evidence, {COPIED}"
    else:
        gates += f". {NO_PASSAGES}"
    return {
        "cl": "" if brief.quiet else f" at contentiousness {brief.cl:.2f}",
        "tone": " ".join(brief.tone.split()),
        "admission": gates,
        "argued": argued,
        "most": str(brief.most),
        "counts": COUNTS if brief.counts_as else "",
        "rebuttal": REBUTTAL if brief.rebuttable else "",
        "rebuts": MET if brief.rebuttable else "",
        "sources": "the passages carry" if _quotable(shown) else "is known",
        "attacks": ", ".join(brief.answers),
    }


def _crit(brief: CritBrief) -> dict[str, Any]:
    """Each argument with its evidence: quotation, document, and what stands around it; and what it rebuts, which stands
    there once."""
    rebutted = list(dict.fromkeys(item.rebuts for item in brief.items if item.rebuts is not msgspec.UNSET))
    names = {one: f"r{i}" for i, one in enumerate(rebutted, 1)}
    return {
        **({"the answer": brief.against} if brief.against else {}),
        "arguments": [_item(item, names) for item in brief.items],
        "rebutted": {name: msgspec.to_builtins(one) for one, name in names.items()},
    }


def _item(item: AnonymousItem, names: Mapping[Rebutted, str]) -> dict[str, Any]:
    shown: dict[str, Any] = {"item": item.item, "claim": item.claim, "reasons": item.reasons}
    if item.rebuts is not msgspec.UNSET:
        shown["rebuts"] = names[item.rebuts]
    evidence = [
        {"document": s.document, "quotation": quote, "passage": s.around}
        for quote, s in zip(item.quotes, item.sources, strict=True)
    ]
    return {**shown, **({"evidence": evidence} if evidence else {})}


REBUTS = (
    "An argument with `rebuts` is a rebuttal of the one that `rebutted` shows under that name, which is not scored. "
    "Logic: granted its reasons, does the rebutted claim fall, or lose one of the reasons that carry it? Relevance: "
    "does it meet that claim or those reasons, and not something that nobody said? It need not show what the answer is."
)
"""What a judge is told of rebuttals."""
AROUND = (
    " Beside each quotation stands its document and what stands around it there, so that you see whether it is torn "
    "from what it says."
)


def _crit_orders(shown: Shown) -> dict[str, str]:
    brief: CritBrief = shown.brief
    quoted = any(item.quotes for item in brief.items)
    evidence = "- evidence: do the quotations say what claim and reasons say that they say? 0 without a quotation."
    return {
        "evidence": evidence + AROUND if quoted else "",
        "rebuts": REBUTS if any(item.rebuts is not msgspec.UNSET for item in brief.items) else "",
        "against": "; `against`, whether it speaks against `the answer`, by what it says and not by what it is called"
        if brief.against
        else "",
        "scored": "`evidence`, `logic` and `relevance`" if quoted else "`logic` and `relevance`",
    }


def _plan(brief: PlanBrief) -> dict[str, Any]:
    return {"outcomes in contention": _belief(brief.mixture), "queries that were run already": brief.asked}


def _plan_orders(shown: Shown) -> dict[str, str]:
    run = ", none that was run already" if shown.brief.asked else ""
    return {"most": str(shown.brief.most), "run": run}


def _outcomes(shown: Shown) -> dict[str, dict[str, Any]]:
    names = [*shown.brief.outcomes, *(one.proposed for one in getattr(shown.brief, "counts_as", ()))]
    if not names:
        return {"belief.outcome": {"maxLength": MOST_NAME}, "belief": {"maxItems": MOST_PROPOSED}}
    name = {"enum": names} if len(names) <= 100 else {"maxLength": max(map(len, names))}
    return {"belief.outcome": name, "belief": {"maxItems": len(names)}}


def _passages(shown: Shown, field: str, most: int) -> dict[str, dict[str, Any]]:
    """Only a passage that is shown can be quoted, and so many at most."""
    posts = [o.body for o in shown.others if isinstance(o.body, Passages)]
    known = [p.id for body in posts for p in body.passages]
    if not known:
        return {field: NOTHING if "." in field else {"maxItems": 0}}
    named = {f"{field}.passage": {"enum": known}} if len(known) <= 100 else {}
    return {field: {"maxItems": most}, f"{field}.quote": {"maxLength": QUOTED}, **named}


def _narrow_blind(shown: Shown) -> dict[str, dict[str, Any]]:
    return {**_outcomes(shown), **_passages(shown, "spans", MOST_SPANS)}


def _apart(brief: ArgueBrief) -> dict[str, dict[str, Any]]:
    words = [one.proposed for one in brief.counts_as]
    return {"apart": {"enum": words, "maxItems": len(words)} if words else {"maxItems": 0}}


def _narrow_argue(shown: Shown) -> dict[str, dict[str, Any]]:
    brief: ArgueBrief = shown.brief
    named = [{"type": "integer", "enum": list(brief.rebuttable)}] if brief.rebuttable else []
    others = [name for name in brief.outcomes if name != brief.against]
    outcomes = _outcomes(shown)
    if brief.outcomes:  # the arguments need the room that a belief over many outcomes would take
        longest = max(map(len, brief.outcomes))
        most = min(outcomes["belief"]["maxItems"], max(10, BELIEF // (longest + _AROUND_NAME)))
        outcomes["belief"] = {"maxItems": most}
    return {
        "arguments": {"maxItems": brief.most},
        "arguments.claim": {"maxLength": SENTENCE},
        "arguments.reasons": {"maxItems": MOST_REASONS, "maxLength": SENTENCE},
        "changed": {"maxLength": CHANGED},
        "speaks_for": {"enum": others}
        if brief.against and 1 < len(others) <= 100
        else {}
        if brief.against and len(others) > 1
        else {"maxLength": 0},
        "answers": {"maxItems": 0},
        **outcomes,
        **_passages(shown, "arguments.spans", MOST_ARGUED),
        **_apart(brief),
        "arguments.rebuts": {"anyOf": [*named, {"type": "null"}]} if named else NOTHING,
    }


def _narrow_answer(shown: Shown) -> dict[str, dict[str, Any]]:
    brief: ArgueBrief = shown.brief
    return {
        "arguments": {"maxItems": 0},
        "changed": {"maxLength": 0},
        "speaks_for": {"maxLength": 0},
        "answers": {"maxItems": len(brief.answers)},
        "answers.argument": {"enum": list(brief.answers)},
        "answers.why": {"maxLength": CHANGED},
        **_outcomes(shown),
        **_apart(brief),
    }


def _narrow_crit(shown: Shown) -> dict[str, dict[str, Any]]:
    brief: CritBrief = shown.brief
    items = [item.item for item in brief.items]
    return {
        "scores": {"maxItems": len(items)},
        **({"scores.item": {"enum": items}} if items else {}),
        **({} if brief.against else {"scores.against": NOTHING}),
        **({} if any(item.quotes for item in brief.items) else {"scores.evidence": NOTHING}),
    }


_DEBATE: dict[str, Any] = {"posts": POSTS, "prompt_post": _without_figures, "shuffled": False}
"""Of whoever is shown the debate."""
_DEBATER: dict[str, Any] = {
    **_DEBATE,
    "reply": Case,
    "temperature": DEBATER_TEMPERATURE,
    "prompt_brief": _stand,
    "prompt_slots": _argue_orders,
    "head": "debater",
    "order": ("speaks_for", "arguments", "rebuts", "answers", "argument", "why", "fails", "changed", "apart", "belief"),
}


def _narrow_merge(shown: Shown) -> dict[str, dict[str, Any]]:
    names = list(shown.brief.proposed)
    if len(names) > 100:
        return {}
    size = {"maxItems": len(names)}
    return {"groups": size, "groups.name": {"enum": names}, "groups.members": {"enum": names, **size}}


def _narrow_plan(shown: Shown) -> dict[str, dict[str, Any]]:
    brief: PlanBrief = shown.brief
    names = [share.outcome for share in brief.mixture]
    named = {"tests.positive.outcome": {"enum": names}} if len(names) <= 100 else {}
    return {
        "tests": {"maxItems": brief.most},
        "tests.positive": {"minItems": len(names), "maxItems": len(names)},
        **named,
    }


KINDS = {
    "retrieve": Kind(brief=RetrieveBrief, reply=Retrieved, computed=True),
    "measure": Kind(brief=MeasureBrief, reply=Measured, posts=POSTS, computed=True),
    "blind": Kind(
        brief=BlindBrief,
        reply=Blind,
        temperature=DEBATER_TEMPERATURE,
        prompt_brief=_blind,
        prompt_slots=_blind_orders,
        head="debater",
        narrow=_narrow_blind,
        order=("reasoning", "spans", "belief"),
        **_DEBATE,
    ),
    "argue": Kind(brief=ArgueBrief, narrow=_narrow_argue, **_DEBATER),
    "attack": Kind(brief=ArgueBrief, narrow=_narrow_argue, **_DEBATER),
    "answer": Kind(brief=ArgueBrief, narrow=_narrow_answer, **_DEBATER),
    "crit": Kind(
        brief=CritBrief,
        reply=Crit,
        prompt_brief=_crit,
        prompt_slots=_crit_orders,
        temperature=JUDGE_TEMPERATURE,
        head="judge",
        narrow=_narrow_crit,
        order=("item", "justification", "against"),
    ),
    "merge": Kind(
        brief=MergeBrief, reply=Merged, prompt_brief=msgspec.to_builtins, head="analyst", narrow=_narrow_merge
    ),
    "plan": Kind(
        brief=PlanBrief,
        reply=Tests,
        prompt_brief=_plan,
        prompt_slots=_plan_orders,
        head="analyst",
        narrow=_narrow_plan,
        **_DEBATE,
    ),
}

LOOKING = ("blind", "argue", "attack")
"""Kinds of turns before which a debater may look things up."""


def _looks(brief: BlindBrief | ArgueBrief) -> dict[str, Any]:
    return _blind(brief) if isinstance(brief, BlindBrief) else _stand(brief)


PARTS = {"look_up": Kind(brief=ArgueBrief, reply=Case, prompt_brief=_looks, head="debater", **_DEBATE)}
"""A debater looks things up before its turn (parley.agents.looking.looked); its own types stand for the reply."""
