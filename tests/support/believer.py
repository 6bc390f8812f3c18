"""The debaters, the judge and the analyst of a MACI session, for tests: what they say follows from their turns alone.

Each debater begins with an outcome of its own, and goes by 1 - CL of the way to the first one of the list. It argues
for what it holds, with sentences of the passages that name it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from parley.agents.context import Shown
from parley.schemas.belief import Belief, Share
from parley.schemas.protocols.maci import messages as maci

SURE = 0.8
NEAR = 0.1
"""What may be left of the way, times 1 - CL, and is gone at once: who halves a distance for ever never arrives."""


def said(shown: Shown) -> Any:
    """The reply's body."""
    brief: Any = shown.brief
    match shown.kind:
        case "blind":
            outcomes = brief.outcomes or ("One", "Two")
            own = (int(re.sub(r"\D", "", shown.seat) or 1) - 1) % len(outcomes)
            return maci.Blind(belief=_held(outcomes, own), reasoning=f"{shown.seat} has read the passages.")
        case "argue" | "attack":
            after = _moved(brief.belief, brief.outcomes, brief.cl)
            rivals = [s for s in after if s.outcome != brief.against]
            best = max(rivals if brief.against else after, key=lambda s: s.p).outcome
            return maci.Case(
                arguments=tuple(_arguments(shown, best, brief))[: brief.most],
                belief=after,
                changed=f"{shown.seat} in round {shown.round}",
                speaks_for=best if brief.against else "",
            )
        case "answer":
            met = tuple(maci.Met(argument=a, why="It does not carry.", fails=True) for a in brief.answers)
            return maci.Case(answers=met, belief=brief.belief)
        case "crit":
            return maci.Crit(scores=tuple(_score(item, brief.against) for item in brief.items))
        case "plan":
            outcomes = [s.outcome for s in brief.mixture]
            tests = [_test(o, outcomes) for o in outcomes if f"sign of {o}" not in brief.asked]
            return maci.Tests(tests=tuple(tests[: brief.most]))
        case _:
            names = {" ".join(name.casefold().split()): name for name in reversed(brief.proposed)}
            groups = ([p for p in brief.proposed if " ".join(p.casefold().split()) == key] for key in names)
            return maci.Merged(groups=tuple(maci.Group(name=g[0], members=tuple(g)) for g in groups))


def _held(outcomes: Sequence[str], own: int) -> Belief:
    if len(outcomes) == 1:
        return (Share(outcome=outcomes[0], p=1.0),)
    rest = (1 - SURE) / (len(outcomes) - 1)
    return tuple(Share(outcome=o, p=SURE if i == own else rest) for i, o in enumerate(outcomes))


def _moved(belief: Belief, outcomes: Sequence[str], cl: float) -> Belief:
    """1 - CL of the way; all of it where that leaves next to nothing."""
    before, target = {s.outcome: s.p for s in belief}, _held(outcomes, 0)
    near = all(cl * abs(s.p - before.get(s.outcome, 0.0)) < NEAR * (1 - cl) for s in target)
    stays = 0.0 if near else cl
    return tuple(Share(outcome=s.outcome, p=stays * before.get(s.outcome, 0.0) + (1 - stays) * s.p) for s in target)


def _arguments(shown: Shown, outcome: str, brief: maci.ArgueBrief) -> Iterator[maci.Argument]:
    """Each with a sentence that is not in the record yet, those that name the outcome first."""
    passages = [p for o in shown.others if isinstance(o.body, maci.Passages) for p in o.body.passages]
    known = {s.quote for o in shown.others if isinstance(o.body, maci.Ruled) for s in o.body.spans}
    sentences = [(p, s.strip()) for p in passages for s in re.split(r"(?<=[.!?])\s+", p.text) if len(s.split()) > 3]
    fresh = [(p, s) for p, s in sentences if s not in known]
    fresh.sort(key=lambda x: outcome.casefold() not in x[1].casefold())
    side = f"against {brief.against}" if brief.against else f"for {outcome}"
    for passage, quote in fresh:
        yield maci.Argument(
            claim=f"What the passages say speaks {side}.",
            reasons=(f"On {outcome} the evidence says this.",),
            spans=(maci.Span(passage=passage.id, quote=quote[:2_000]),),
        )


def _score(item: maci.AnonymousItem, against: str) -> maci.Score:
    good = 0.7 if item.quotes else 0.2
    return maci.Score(
        item=item.item,
        links=(good,) * len(item.reasons),
        evidence=good if item.quotes else 0.0,
        logic=good,
        relevance=good,
        justification=f"{len(item.quotes)} quotations.",
        against=bool(against) and f"against {against}" in item.claim,
    )


def _test(outcome: str, outcomes: Sequence[str]) -> maci.Test:
    return maci.Test(
        what=f"Is there a sign of {outcome}?",
        kind="test",
        query=f"sign of {outcome}",
        positive=tuple(Share(outcome=o, p=SURE if o == outcome else 1 - SURE) for o in outcomes),
    )
