"""What becomes of each parameter. docs/openai.md has this table in words, and a test compares the two.

A parameter steers one model's reply, and here many models argue: each has its own settings (docs/models.md). What is
ignored is named in the answer, in `parley.ignored`. What would change the meaning of the answer is refused.
"""

from collections.abc import Mapping
from typing import Any

from parley.web.openai.errors import ApiError

MOST = 200
"""Parameters of one request."""
HEEDED = frozenset({"model", "messages", "stream", "stream_options", "seed", "metadata", "parley"})
FORM = frozenset({"response_format", "tools", "tool_choice"})
"""What is heeded too where it asks for a form (parley.web.openai.typed)."""
HARMLESS = {
    "n": (1,),
    "tool_choice": ("none", "auto"),
    "function_call": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "modalities": (["text"],),
    "audio": (),
    "prediction": (),
    "logit_bias": ({},),
}
"""What is refused, unless it has one of these values, or null."""
_WHY = {
    "n": "one session gives one answer",
    "tool_choice": "a panel calls no tools of the client",
    "function_call": "a panel calls no functions of the client",
    "response_format": "the verdict is text; its figures stand in the field `parley`",
    "logprobs": "a verdict has no log probabilities",
    "top_logprobs": "a verdict has no log probabilities",
    "modalities": "the verdict is text",
    "audio": "the verdict is text",
    "prediction": "a debate cannot be predicted",
    "logit_bias": "many models argue, each with tokens of its own",
}


def ignored(body: Mapping[str, Any], heeded: frozenset[str]) -> tuple[str, ...]:
    """Names of what is given and changes nothing. Raises ApiError for what would change the meaning of the answer."""
    if len(body) > MOST:
        raise ApiError(f"the body has {len(body):,} parameters, allowed are at most {MOST}", code="invalid_json")
    names = []
    for name, value in body.items():
        if name in heeded or value is None:
            continue
        if name in HARMLESS and value not in HARMLESS[name]:
            message = f"{name}: got {_shown(value)}; {_WHY[name]}"
            raise ApiError(message, param=name, code="unsupported_parameter")
        names.append(name)
    return tuple(sorted(names))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
