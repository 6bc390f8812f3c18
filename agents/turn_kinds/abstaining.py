"""Whether a seat may abstain."""

from typing import Any

from parley.agents.context import Shown


def limits(shown: Shown) -> dict[str, dict[str, Any]]:
    """Limits of the schema. Who holds no document goes by what it knows: it has no reason to abstain."""
    return {} if shown.documents else {"answer": {"minLength": 1}, "abstains": {"enum": [False]}}


def abstention(shown: Shown, why: str) -> Any:
    """The reply of a model whose provider says in a field of its own that it declines; None: this turn has no
    abstaining."""
    if "abstains" not in getattr(shown.reply, "__struct_fields__", ()):
        return None
    return shown.reply(answer="", reasoning=f"The model declined: {why}", confidence=0.0, abstains=True)
