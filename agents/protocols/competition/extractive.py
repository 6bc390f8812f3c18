"""How the extractive model answers each kind of turn of the competition."""

from collections.abc import Callable, Mapping
from typing import Any

from parley.agents.context import Shown
from parley.agents.extractive.turn_method import Live, TurnMethod, reads
from parley.agents.protocols.competition.extractive_answers import bid, captain, confer, question, respond
from parley.agents.protocols.competition.extractive_judge import review, score, summarize, vote
from parley.agents.protocols.competition.extractive_speech import speak


def _text(body: Any) -> str:
    return str(body.text)


def _reads(read: Callable[[Shown], tuple[Any, bool]], live: Live = _text) -> TurnMethod:
    """Speeches come as posts."""
    return reads(lambda shown, _: read(shown), live, in_thread=True)


METHODS: Mapping[str, TurnMethod] = {
    "confer": _reads(confer),
    "speak": _reads(speak),
    "question": _reads(question, lambda body: "\n".join(body.questions)),
    "answer": _reads(respond),
    "captain": _reads(captain, lambda body: f"{body.speaker}: {body.direction}"),
    "bid": _reads(bid, lambda body: str(body.point)),
    "score": _reads(score, lambda body: str(body.comment)),
    "summarize": _reads(summarize),
    "review": _reads(review),
    "vote": _reads(vote, lambda body: f"{body.choice}: {body.why}"),
}
