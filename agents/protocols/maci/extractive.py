"""How the extractive model answers the turns of the MACI protocol that are asked of models."""

from collections.abc import Callable, Mapping
from typing import Any

from parley.agents.context import Shown
from parley.agents.extractive.turn_method import Live, TurnMethod, reads
from parley.agents.protocols.maci.extractive_debater import answer, argue, blind
from parley.agents.protocols.maci.extractive_judge import crit, merge, plan


def _reads(read: Callable[[Shown], tuple[Any, bool]], live: Live) -> TurnMethod:
    """Passages and the record come as posts."""
    return reads(lambda shown, _: read(shown), live, in_thread=True)


METHODS: Mapping[str, TurnMethod] = {
    "blind": _reads(blind, lambda body: str(body.reasoning)),
    "argue": _reads(argue, lambda body: "\n".join([*(a.claim for a in body.arguments), body.changed])),
    "attack": _reads(argue, lambda body: "\n".join([*(a.claim for a in body.arguments), body.changed])),
    "answer": _reads(answer, lambda body: "\n".join(met.why for met in body.answers)),
    "crit": _reads(
        crit, lambda body: "\n".join(f"{s.item}: {s.composite:.2f}, {s.justification}" for s in body.scores)
    ),
    "plan": _reads(plan, lambda body: "\n".join(t.what for t in body.tests)),
    "merge": _reads(lambda shown: (merge(shown), False), lambda body: ", ".join(g.name for g in body.groups)),
}
