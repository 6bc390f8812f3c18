"""Whether a seat may abstain: its prompt and the schema of its reply say the same, from here."""

from typing import Any

from parley.agents.context import Shown


def limits(shown: Shown) -> dict[str, dict[str, Any]]:
    """Limits of the schema. Who holds no document goes by what it knows: it has no reason to abstain."""
    return {} if shown.documents else {"answer": {"minLength": 1}, "abstains": {"enum": [False]}}


def slots(shown: Shown) -> dict[str, str]:
    """What the prompt says of the field `abstains`."""
    rule = "true only if you have nothing at all to go on; then `answer` may be empty." if shown.documents else "false."
    return {"abstains": rule}


def abstention(shown: Shown, why: str) -> Any:
    """The reply of a model whose provider says in a field of its own that it declines; None: this turn has no
    abstaining."""
    if "abstains" not in getattr(shown.reply, "__struct_fields__", ()):
        return None
    return shown.reply(answer="", reasoning=f"The model declined: {why}", confidence=0.0, abstains=True)
