"""How the extractive model answers each kind of turn of the consensus protocol."""

from collections.abc import Callable, Mapping
from typing import Any

from parley.agents.context import Shown
from parley.agents.extractive.turn_method import TurnMethod, reads
from parley.agents.protocols.consensus.extractive_analyst import compare, conclude
from parley.agents.protocols.consensus.extractive_panelist import position, sign
from parley.agents.protocols.consensus.extractive_voter import approve, judge, rank, score
from parley.agents.retrieval.corpus import Corpus


def _fills(fill: Callable[[Shown], Any]) -> Callable[[Shown, Corpus], tuple[Any, bool]]:
    """A ballot: nothing is read beside what is shown."""
    return lambda shown, _: (fill(shown), False)


METHODS: Mapping[str, TurnMethod] = {
    "answer": TurnMethod(position),
    "revise": TurnMethod(position),
    "compare": reads(lambda shown, _: (compare(shown), False), lambda body: body.comment),
    "sign": reads(lambda shown, _: (sign(shown), False), lambda body: body.states),
    **{
        kind: reads(_fills(fill), lambda body: body.reason)
        for kind, fill in (("rank", rank), ("approve", approve), ("score", score), ("judge", judge))
    },
    "conclude": reads(lambda shown, _: (conclude(shown), False)),
}
