"""How the extractive model answers each kind of turn of the critic protocol."""

from collections.abc import Mapping

from parley.agents.extractive.turn_method import TurnMethod, compares, reads
from parley.agents.protocols.critic.extractive_answers import answer, critique
from parley.agents.protocols.critic.extractive_compare import compare
from parley.agents.protocols.critic.extractive_judge import judge, rewrite, verdict

METHODS: Mapping[str, TurnMethod] = {
    "rewrite": reads(lambda shown, _: (rewrite(shown), False), lambda body: str(body.question)),
    "answer": TurnMethod(answer),
    "critique": reads(critique, lambda body: str(body.objection)),
    "press": reads(critique, lambda body: str(body.objection)),
    "compare": compares(compare, lambda body: ", ".join(f"{v:g}" for v in body.values)),
    "judge": reads(lambda shown, _: judge(shown), lambda body: f"{body.score:g}: {body.comment}"),
    "verdict": reads(lambda shown, _: (verdict(shown), False)),
}
