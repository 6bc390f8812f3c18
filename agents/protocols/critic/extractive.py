"""How the extractive model answers each kind of turn of the critic protocol."""

from collections.abc import Mapping

from parley.agents.extractive.turn_method import TurnMethod, compares, reads
from parley.agents.protocols.critic.extractive_answers import answer, critique
from parley.agents.protocols.critic.extractive_compare import judge
from parley.agents.protocols.critic.extractive_judge import countersign, rewrite, sign, verdict

METHODS: Mapping[str, TurnMethod] = {
    "rewrite": reads(lambda shown, _: (rewrite(shown), False), lambda body: str(body.question)),
    "answer": TurnMethod(answer),
    "critique": reads(critique, lambda body: str(body.objection)),
    "judge": compares(judge, lambda body: f"{body.score:g}: {body.comment}"),
    "verdict": reads(lambda shown, _: (verdict(shown), False)),
    "sign": reads(lambda shown, _: (sign(shown), False), lambda body: body.states),
    "countersign": reads(lambda shown, _: (countersign(shown), False), lambda body: body.reason),
}
