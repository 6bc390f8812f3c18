"""A speech put together within its words: sentences of our own around quotations.

How it is worded follows the debater's style; what is quoted is chosen elsewhere.
"""

import re
from collections.abc import Sequence

from parley.agents.protocols.competition.extractive_reading import DocumentLine, counted
from parley.agents.retrieval.corpus import clean, collapse
from parley.schemas.citation import Citation

WHO = "No language model is at work."
ROOM_FOR_WHO = 40
"""Words from which a text says that no language model is at work."""
MOST_CITED = 10
LONGEST_CLAIM = 30
"""Words of a claim of the other side that is met."""

OPENERS = {
    "": ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Last"),
    "logical": (
        "We begin with a premise",
        "It follows further",
        "Because of that",
        "One step more",
        "Add to it",
        "And so",
    ),
    "emotional": (
        "Think of this",
        "And of this",
        "Somebody lives this",
        "Nor forget this",
        "This too is a life",
        "And this",
    ),
    "data_driven": (
        "The record says",
        "This was found",
        "Beside it stands this",
        "And next",
        "And one more",
        "And last",
    ),
    "aggressive": (
        "Nobody over there has met this",
        "Nor this",
        "Let them try this",
        "Or this",
        "And this",
        "Or even this",
    ),
    "diplomatic": ("What we can agree on", "What serves both sides", "No quarrel over this", "Nor this", "And this"),
}
"""How points begin, in turn."""
REPLIES = {
    "": "The other side says “{claim}”; against that stands: “{counter}” ({source}).",
    "logical": "From “{claim}” their conclusion does not follow, because of this: “{counter}” ({source}).",
    "emotional": "They say “{claim}”, but somebody lives with this: “{counter}” ({source}).",
    "data_driven": "They say “{claim}”; set this beside it: “{counter}” ({source}).",
    "aggressive": "Hold them to “{claim}”: it breaks on “{counter}” ({source}), and they have no answer to that.",
    "diplomatic": "We grant them “{claim}”; and yet it is also true: “{counter}” ({source}).",
}
"""How a claim of the other side is met; the diplomatic concede it first."""
_LAST = re.compile(r"[\s.,;:!?]+$")


class SpeechDraft:
    """Parts of a text that together keep to a limit of words."""

    def __init__(self, limit: int, reserved: int = 0) -> None:
        self._room = max(1, limit) - reserved
        self._parts: list[str] = []
        self.cited: list[DocumentLine] = []

    @property
    def empty(self) -> bool:
        """Whether nothing has been taken."""
        return not self._parts

    def add(self, text: str, *lines: DocumentLine) -> bool:
        """Take a part and what it quotes, if it fits."""
        words = counted(text)
        if words > self._room:
            return False
        self._room -= words
        self._parts.append(text)
        self.cited += lines
        return True

    def free(self, words: int) -> None:
        """Words that were kept back may be used."""
        self._room += words

    @property
    def text(self) -> str:
        """All parts in their order."""
        return " ".join(self._parts)

    def citations(self, error: str = "") -> tuple[Citation, ...]:
        """What is quoted; after a refusal, without what the error blames."""
        lines = [x for x in dict.fromkeys(self.cited) if x.document not in error and repr(x.text[:200]) not in error]
        return tuple(Citation(document=x.document, quote=x.text) for x in lines[:MOST_CITED])


def point(opener: str, line: DocumentLine) -> str:
    """A point of one's own: how it begins, the quotation, where it stands."""
    return f"{opener}: “{clean(line.text)}” ({source(line.document)})."


def reply(style: str, claim: str, line: DocumentLine) -> str:
    """A claim of the other side, and what stands against it."""
    return REPLIES[style].format(
        claim=shortened(claim, LONGEST_CLAIM), counter=clean(line.text), source=source(line.document)
    )


def source(document: str) -> str:
    """A document's name as it is spoken: `pro/trial-report.md` is the trial report."""
    name = document.rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    return clean(re.sub(r"[-_]+", " ", re.sub("[“”()]", "", stem))) or "a document"


def shortened(text: str, words: int) -> str:
    """A text in so many words at most, with an ellipsis where it was cut; without the full stop at its end."""
    plain = _LAST.sub("", collapse(clean(text)))
    if counted(plain) <= words:
        return plain
    taken: list[str] = []
    for word in plain.split():
        if counted(" ".join([*taken, word])) > words:
            break
        taken.append(word)
    return _LAST.sub("", " ".join(taken)) + "…" if taken else "…"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
