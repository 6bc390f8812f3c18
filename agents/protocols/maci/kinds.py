"""Kinds of turns of the MACI protocol: debaters answer blind and argue, judges score, the analyst merges and plans, the
helper retrieves and measures.

What the helper does is computed and asked of no language model: it decides over participants.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.turn_kinds.kit import Kind
from parley.schemas.belief import Share
from parley.schemas.protocols.maci.messages import (
    ArgueBrief,
    Blind,
    BlindBrief,
    Case,
    Crit,
    CritBrief,
    Item,
    MeasureBrief,
    Measured,
    MergeBrief,
    Merged,
    Passages,
    PlanBrief,
    RetrieveBrief,
    Retrieved,
    Ruled,
    Tests,
)

POSTS = {"passages": Passages, "argument": Ruled, "refused": Ruled, "outcomes": Merged}
DEBATER_TEMPERATURE = 0.7  # B.2
JUDGE_TEMPERATURE = 0.3  # E.4
ADVOCATE = (
    "In this round you are the devil's advocate, by lot. All debaters hold the same answer most probable, and "
    "the state of the debate names it. Argue against it in place of what your contentiousness asks for: bring the "
    "strongest case against it, or for its best rival, that the passages carry. Your arguments count as any other, so "
    "claim nothing that the passages do not bear out; if they hold nothing against it, give no argument and say so in "
    "`changed`. Your belief stays your own: state what you hold yourself, changed only if your case has convinced you."
)
"""What the devil's advocate of a round is told beside the rest."""
REBUTTAL = (
    "To meet an argument of another debater head on, name the number of its post in `rebuts`: say which of its reasons "
    "does not hold, or does not carry its claim, and quote what shows it. A judge is then shown that argument too, and "
    "judges yours as a rebuttal of it."
)
"""What a debater is told where there is something to rebut."""
ANSWER = (
    "A devil's advocate has argued against the answer that all debaters hold, and judges passed its arguments: "
    "{posts}. Answer them in this round: rebut one by its number, or say in `changed` which of their reasons moved "
    "your belief, or why none did."
)
"""What a debater is told in the round after a devil's advocate's."""
MET = "the number of the post that it rebuts, one of those that you may rebut, else null"
BESIDE = "judges passed it; a program refused it, since its quotations are far from the subject of the question"
FRAME = (
    "The moderator wants the debate to begin from different points of view. Take this one for your first answer, as "
    "far as the passages let you; in later rounds go by what is argued:"
)
ALONE = "null, since there is no argument of another debater to rebut"
MOST_NAMED = 20
"""Outcomes of a belief that a prompt names; the others are told by their number and their sum."""
NAMED_FROM = 0.005
"""Probability from which a prompt names them."""


def _belief(shares: Iterable[Share]) -> dict[str, Any]:
    """A belief as a map, the most probable first, so that one over hundreds of outcomes is short."""
    ordered = sorted(shares, key=lambda s: -s.p)
    named = [s for s in ordered if s.p >= NAMED_FROM][:MOST_NAMED] or ordered[:MOST_NAMED]
    shares_by_name: dict[str, Any] = {s.outcome: round(s.p, 3) for s in named}
    rest = ordered[len(named) :]
    return {"named": shares_by_name, "others": {"outcomes": len(rest), "together": round(sum(s.p for s in rest), 3)}}


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
    return {"outcomes": brief.outcomes or "open: propose them", "ordered": brief.ordered}


def _argue(brief: ArgueBrief) -> dict[str, Any]:
    against = {"all hold this, and you argue against it": brief.against} if brief.against else {}
    return {
        **against,
        "outcomes": brief.outcomes,
        "ordered": brief.ordered,
        "your belief": _belief(brief.belief),
        "what you said before": brief.earlier,
        **_speakers(brief),
        **({"posts that you may rebut": brief.rebuttable} if brief.rebuttable else {}),
    }


def _speakers(brief: ArgueBrief) -> dict[str, Any]:
    """Who holds what, and whose the arguments of the record are."""
    labels = [s.label for s in brief.speakers if not s.own]
    return {
        "what the other debaters hold": {k: _belief(b) for k, b in zip(labels, brief.opponents, strict=True)},
        "whose arguments they are": {s.label + " (you)" * s.own: s.arguments for s in brief.speakers},
    }


NO_PASSAGES = "There are no passages: go by what is commonly known, and invent no figure, study or quotation."
NONE = "an empty list."
MOST_SPANS, MOST_ARGUED, MOST_REASONS = 5, 3, 3
"""Pieces of evidence of a blind answer, and of an argument; reasons of an argument: what the prompt asks for, and its
schema allows."""
QUOTED, SENTENCE, CHANGED, BELIEF = 200, 240, 300, 1_200
"""Characters of a quotation, of a claim or a reason, of what moved a belief, and of a belief beside arguments: together
they fit an answer of three arguments."""
_AROUND_NAME = 26
"""Characters of an entry of a belief beside the outcome's name."""
COPIED = (
    "each with `passage`, the id of a passage (such as p3), and `quote`, words copied from it exactly as they stand "
    f"there, at most {QUOTED} characters"
)
FINE = sorted({i / 1_000 for i in range(1_001)} | {i / 10_000 for i in range(100)})
"""Probabilities that a reply may name where there are more outcomes than two: an equal share of a thousand is one."""
_IN_WORDS = {3: "three", 5: "five"}


def _quotable(shown: Shown) -> bool:
    """Whether there is a passage to be quoted."""
    return any(isinstance(o.body, Passages) and o.body.passages for o in shown.others)


def _blind_orders(shown: Shown) -> dict[str, str]:
    framed = {"frame": f"{FRAME} {' '.join(shown.brief.frame.split())}" if shown.brief.frame else ""}
    if not _quotable(shown):
        return {**framed, "evidence": NO_PASSAGES, "spans": NONE}
    return {
        **framed,
        "evidence": "Answer from the passages, and invent no figure, study or quotation.",
        "spans": f"up to {_IN_WORDS[MOST_SPANS]} pieces of evidence, {COPIED}.",
    }


def _argue_orders(shown: Shown) -> dict[str, str]:
    brief: ArgueBrief = shown.brief
    gates = (
        f"An argument is admitted only if judges, who do not know whose it is, find it good (evidence, logic and "
        f"relevance; at least {brief.tau_crit:.2f} of 1)"
    )
    if _quotable(shown):
        gates += (
            f" and if its evidence is near to the matter: a program measures how alike its quotations, taken together, "
            f"are to the question and its passages; at least {brief.tau_q:.2f} of 1 is wanted, so let one of them name "
            "the subject. An argument without a quotation is refused."
            if brief.tau_q
            else ". They go by what its quotations say: an argument without one has no evidence."
        )
        gates += " A passage may be quoted again for another claim."
        argued = f"one to {_IN_WORDS[MOST_ARGUED]} pieces of evidence, {COPIED}."
    else:
        gates += f". {NO_PASSAGES}"
        argued = NONE
    return {
        "cl": "" if brief.quiet else f" at contentiousness {brief.cl:.2f}",
        "tone": " ".join(brief.tone.split()),
        "admission": gates,
        "argued": argued,
        "most": str(brief.most),
        "advocate": ADVOCATE if brief.against else "",
        "rebuttal": REBUTTAL if brief.rebuttable else "",
        "answer": ANSWER.format(posts=f"posts {', '.join(map(str, brief.answers))}") if brief.answers else "",
        "rebuts": MET if brief.rebuttable else ALONE,
    }


def _crit(brief: CritBrief) -> dict[str, Any]:
    """Each argument with its evidence: quotation, document, and what stands around it; and what it rebuts."""
    return {"arguments": [_item(item) for item in brief.items]}


def _item(item: Item) -> dict[str, Any]:
    shown: dict[str, Any] = {"item": item.item, "claim": item.claim, "reasons": item.reasons}
    if item.rebuts is not msgspec.UNSET:
        shown["rebuts"] = msgspec.to_builtins(item.rebuts)
    evidence = [
        {"document": s.document, "quotation": quote, "passage": s.around}
        for quote, s in zip(item.quotes, item.sources, strict=True)
    ]
    return {**shown, "evidence": evidence}


def _plan(brief: PlanBrief) -> dict[str, Any]:
    return {"outcomes in contention": _belief(brief.mixture), "queries that were run already": brief.asked}


def _plan_orders(shown: Shown) -> dict[str, str]:
    return {"most": str(shown.brief.most)}


def _outcomes(shown: Shown) -> dict[str, dict[str, Any]]:
    names = list(shown.brief.outcomes)
    grid = {} if len(names) == 2 else {"belief.p": {"enum": FINE}}
    if not names:
        return grid
    name = {"enum": names} if len(names) <= 100 else {"maxLength": max(map(len, names))}
    return {**grid, "belief.outcome": name, "belief": {"maxItems": len(names)}}


def _passages(shown: Shown, field: str, most: int) -> dict[str, dict[str, Any]]:
    """Only a passage that is shown can be quoted, and so many at most."""
    posts = [o.body for o in shown.others if isinstance(o.body, Passages)]
    known = [p.id for body in posts for p in body.passages]
    if not known:
        return {field: {"maxItems": 0}}
    named = {f"{field}.passage": {"enum": known}} if len(known) <= 100 else {}
    return {field: {"maxItems": most}, f"{field}.quote": {"maxLength": QUOTED}, **named}


def _narrow_blind(shown: Shown) -> dict[str, dict[str, Any]]:
    return {**_outcomes(shown), **_passages(shown, "spans", MOST_SPANS)}


def _narrow_case(shown: Shown) -> dict[str, dict[str, Any]]:
    brief: ArgueBrief = shown.brief
    most = {
        "arguments": {"maxItems": brief.most},
        "arguments.claim": {"maxLength": SENTENCE},
        "arguments.reasons": {"maxItems": MOST_REASONS, "maxLength": SENTENCE},
        "changed": {"maxLength": CHANGED},
    }
    named = [{"type": "integer", "enum": list(brief.rebuttable)}] if brief.rebuttable else []
    rebuts = {"anyOf": [*named, {"type": "null"}]}
    outcomes = _outcomes(shown)
    if brief.outcomes:  # the arguments need the room that a belief over many outcomes would take
        longest = max(map(len, brief.outcomes))
        outcomes["belief"] = {"maxItems": min(len(brief.outcomes), max(10, BELIEF // (longest + _AROUND_NAME)))}
    return {**outcomes, **_passages(shown, "arguments.spans", MOST_ARGUED), **most, "arguments.rebuts": rebuts}


def _narrow_crit(shown: Shown) -> dict[str, dict[str, Any]]:
    items = [item.item for item in shown.brief.items]
    return {"scores": {"maxItems": len(items)}, **({"scores.item": {"enum": items}} if items else {})}


KINDS = {
    "retrieve": Kind(brief=RetrieveBrief, reply=Retrieved, computed=True),
    "measure": Kind(brief=MeasureBrief, reply=Measured, posts=POSTS, computed=True),
    "blind": Kind(
        brief=BlindBrief, reply=Blind, posts=POSTS, temperature=DEBATER_TEMPERATURE, prompt_brief=_blind,
        prompt_slots=_blind_orders, prompt_post=_without_figures, shuffled=False, head="debater", narrow=_narrow_blind,
        order=("reasoning", "spans", "belief"),
    ),
    "argue": Kind(
        brief=ArgueBrief, reply=Case, posts=POSTS, temperature=DEBATER_TEMPERATURE, prompt_brief=_argue,
        prompt_slots=_argue_orders, prompt_post=_without_figures, shuffled=False, head="debater", narrow=_narrow_case,
        order=("arguments", "rebuts", "changed", "belief"),
    ),
    "crit": Kind(
        brief=CritBrief, reply=Crit, prompt_brief=_crit, temperature=JUDGE_TEMPERATURE, head="judge",
        narrow=_narrow_crit, order=("item", "justification"),
    ),
    "merge": Kind(brief=MergeBrief, reply=Merged, prompt_brief=msgspec.to_builtins, head="analyst"),
    "plan": Kind(
        brief=PlanBrief, reply=Tests, posts=POSTS, prompt_brief=_plan, prompt_slots=_plan_orders,
        prompt_post=_without_figures, shuffled=False, head="analyst",
    ),
}  # fmt: skip
