"""How large a kind of turn's prompt is before anything is put into it."""

import msgspec

from parley.agents.model.base import ModelRefused
from parley.agents.openai.held_schema import form_of
from parley.agents.prompts.templates import rules, same_answer, template

_BYTES_PER_TOKEN = 4
_DIGITS = b"0123456789"


def instructions(protocol: str, kind: str, documents: bool) -> int:
    """Tokens of the template, the rules and the form of the reply, about as a vocabulary makes them, in which a digit
    is nearly a token of its own; 0 where no model is asked such turns. `documents`: whether its seat holds any."""
    try:
        parts = template(protocol, kind)
    except ModelRefused:
        return 0
    text = parts.identity + parts.context + parts.task
    for slot, filled in (("{{rules}}", rules), ("{{same_answer}}", same_answer)):
        text += filled() if slot in text else ""
    form = msgspec.json.encode(form_of(protocol, kind, documents=documents))
    letters = form.translate(None, _DIGITS)
    return (len(text.encode()) + len(letters)) // _BYTES_PER_TOKEN + len(form) - len(letters)
