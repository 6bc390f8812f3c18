"""The calls of models that a session did not make, as their result was known."""

from collections.abc import Mapping
from typing import Any

from parley.client.text import count
from parley.client.untrusted import mapping, number

_WHY = {
    "unchanged": "nothing changed", "same_words": "all said the same", "counted": "a vote is counted",
    "known": "the answer was known", "idle": "nothing was added",
}  # fmt: skip


def saved_words(outcome: Mapping[str, Any]) -> str:
    """`2 calls saved: nothing changed`; empty: none was saved."""
    given = {_WHY.get(str(why), str(why)): int(number(n) or 0) for why, n in mapping(outcome.get("saved")).items()}
    each = {why: n for why, n in given.items() if n > 0}
    if not each:
        return ""
    told = ", ".join(why if len(each) == 1 else f"{why} ({n})" for why, n in each.items())
    return f"{count(sum(each.values()), 'call')} saved: {told}"
