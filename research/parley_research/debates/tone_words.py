"""A plain lexical measure of tone: words that contradict less words that agree, for each hundred words.

It is no judge of tone. It counts English words of two short lists, whatever they are about, and hears no irony. It
serves for one question: does a debater contradict more when the dial of contentiousness tells it to?
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_CONTRADICTING = """
against baseless but cannot contradicts deny denies doubt doubtful error fail fails false flawed however ignores
impossible invalid mistake mistaken misses never no nor not nothing overlooks refute refutes reject rejects risk
unacceptable unfounded unproven wrong
"""
_AGREEING = """
accept accepts agree agreed agrees also both common concede confirm confirms consistent correct fair grant indeed
jointly likewise our right same share shared support supports together true we yes
"""
CONTRADICTS, AGREES = frozenset(_CONTRADICTING.split()), frozenset(_AGREEING.split())
LEVELS = (0.9, 0.1)
"""The two positions of the dial that are compared: confronting, and working together."""
_WORD = re.compile(r"[a-z']+")
_SAID = ("claim", "reasons", "reasoning")
"""Fields of a debater's reply that hold its own words."""


def tone(texts: Iterable[str]) -> float | None:
    """Contradicting less agreeing words, for each hundred; -100 to 100. None: there are no words.

    Examples
    --------
    >>> tone(["That is wrong"]), tone(["We agree, it is so"])
    (33.333333333333336, -40.0)
    """
    words = [word for text in texts for word in _WORD.findall(text.casefold())]
    if not words:
        return None
    return 100 * (sum(w in CONTRADICTS for w in words) - sum(w in AGREES for w in words)) / len(words)


def said(bodies: Iterable[Any]) -> tuple[str, ...]:
    """The own words in replies, each text once: what is admitted is posted again."""
    return tuple(dict.fromkeys(text for body in bodies for text in _texts(body)))


def _texts(value: Any, *, own: bool = False) -> Iterable[str]:
    if isinstance(value, str):
        yield from (value,) if own else ()
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, own=name in _SAID)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner, own=own)
