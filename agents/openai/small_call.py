"""One small structured call, asked for as a turn asks: what an endpoint refuses is learned before a session begins."""

from typing import Any

from parley.agents.endpoint.endpoint import Rejected
from parley.agents.openai import refusals
from parley.agents.openai.connected_model import ConnectedModel
from parley.agents.openai.ladder import without_system
from parley.agents.openai.probe import SYSTEM
from parley.agents.openai.providers import Rung
from parley.agents.openai.trials import Sent, Trials

_ANSWER_TOKENS = 200
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
_FORMATS: dict[Rung, dict[str, Any]] = {
    Rung.SCHEMA: {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": _SCHEMA},
    },
    Rung.JSON: {"type": "json_object"},
}
_MESSAGES = [
    {"role": "system", "content": "You reply with JSON."},
    {"role": "user", "content": 'Reply with one JSON object: {"answer": "ok"}'},
]


async def ask(model: ConnectedModel) -> str:
    """What was learned on the way to an answer, in words; empty: nothing had to be.

    Raises
    ------
    Rejected, Broken
        No answer came.
    """
    trials = Trials(model.memory, model.options)
    while True:
        sent = _request(model, trials)
        try:
            await model.open()[0].complete(sent.body, lambda _text: None)
        except Rejected as error:
            if refusals.stop(error) or refusals.is_loading(error) or not trials.next(error, sent):
                raise
            continue
        words = trials.words
        trials.worked()
        return words


def _request(model: ConnectedModel, trials: Trials) -> Sent:
    o, known = model.options, trials.known
    rung = min(model.rung(), model.rung() if known.rung is None else known.rung)
    thinks = o.reasoning_tokens if known.reasoning_tokens is None else known.reasoning_tokens
    output = min(n for n in (_ANSWER_TOKENS + thinks, known.output, known.window and known.window // 2) if n)
    field = known.tokens_field or o.preset.tokens_field
    messages = without_system(_MESSAGES) if SYSTEM in known.dropped else _MESSAGES
    body: dict[str, Any] = {"model": o.model, "messages": messages, field: output, **o.preset.extra, **o.extra}
    if o.temperature is not None:
        body["temperature"] = o.temperature
    if rung in _FORMATS:
        body["response_format"] = _FORMATS[rung]
    if known.stream:
        body["stream"] = True
    for name in known.dropped:
        body.pop(name, None)
    return Sent(body=body, prompt=0, output=output, answer=_ANSWER_TOKENS, rung=rung, bounds=False)
