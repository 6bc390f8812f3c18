"""The calls of models that a session did not make, as their result was known."""

from collections.abc import Iterator, Mapping
from typing import Any

from parley.client.show.card import CardPart
from parley.client.text import count
from parley.client.untrusted import mapping, number

_WHY = {
    "unchanged": "nothing changed",
    "same_words": "all said the same",
    "counted": "a vote is counted",
    "known": "the answer was known",
    "idle": "nothing was added",
}


def saved_part(outcome: Mapping[str, Any]) -> Iterator[CardPart]:
    """`2 calls saved: nothing changed`; nothing: none was saved."""
    given = mapping(outcome.get("saved"))
    each = {words: n for why, words in _WHY.items() if (n := int(number(given.get(why)) or 0)) > 0}
    if each:
        told = ", ".join(why if len(each) == 1 else f"{why} ({n})" for why, n in each.items())
        yield CardPart(name="saved", title="Calls saved", lines=(f"{count(sum(each.values()), 'call')} saved: {told}",))
