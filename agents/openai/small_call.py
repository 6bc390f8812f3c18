"""One small structured call, asked for as a turn asks: what an endpoint refuses is learned before a session begins."""

from typing import Any

from parley.agents.endpoint.endpoint import Rejected
from parley.agents.openai import refusals
from parley.agents.openai.connected_model import ConnectedModel
from parley.agents.openai.trials import RefusedRequest, Trials

_ANSWER_TOKENS = 200
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
_MESSAGES = [
    {"role": "system", "content": "You reply with JSON."},
    {"role": "user", "content": 'Reply with one JSON object: {"answer": "ok"}'},
]


async def ask(model: ConnectedModel) -> str:
    """What was learned on the way to an answer, in words; empty: nothing had to be. Raises Rejected, Broken: no answer
    came."""
    o, trials = model.options, Trials(model.memory, model.options)
    while True:
        known, rung = trials.known, trials.rung
        thinks = o.reasoning_tokens if known.reasoning_tokens is None else known.reasoning_tokens
        output = min(n for n in (_ANSWER_TOKENS + thinks, known.output, known.window and known.window // 2) if n)
        body = trials.body(
            _MESSAGES, output=output, rung=rung, name="answer", schema=_SCHEMA, temperature=o.temperature
        )
        try:
            await model.open()[0].complete(body, lambda _text: None)
        except Rejected as error:
            sent = RefusedRequest(body=body, prompt=0, output=output, answer=_ANSWER_TOKENS, rung=rung, bounds=False)
            if refusals.stop(error) or refusals.is_loading(error) or not trials.next(error, sent):
                raise
            continue
        words = trials.words
        trials.worked()
        return words
