"""How the extractive model answers each kind of turn of the consensus protocol."""

from collections.abc import Mapping

from agents.extractive.turn_method import TurnMethod, reads
from agents.protocols.consensus.extractive_analyst import score, synthesize
from agents.protocols.consensus.extractive_panelist import position

METHODS: Mapping[str, TurnMethod] = {
    "answer": TurnMethod(position),
    "revise": TurnMethod(position),
    "score": reads(lambda shown, _: (score(shown), False), lambda body: f"{body.score:g}: {body.comment}"),
    "synthesize": reads(lambda shown, _: (synthesize(shown), False)),
}
