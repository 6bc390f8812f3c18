"""How the extractive model answers each kind of turn of the consensus protocol."""

from collections.abc import Mapping

from parley.agents.extractive.turn_method import TurnMethod, reads
from parley.agents.protocols.consensus.extractive_analyst import compare, conclude
from parley.agents.protocols.consensus.extractive_panelist import position, sign

METHODS: Mapping[str, TurnMethod] = {
    "answer": TurnMethod(position),
    "revise": TurnMethod(position),
    "compare": reads(lambda shown, _: (compare(shown), False), lambda body: body.comment),
    "sign": reads(lambda shown, _: (sign(shown), False), lambda body: body.states),
    "conclude": reads(lambda shown, _: (conclude(shown), False)),
}
