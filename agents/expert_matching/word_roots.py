"""Reads a prompt as roots of words, and marks those that it excludes.

A root is a light stem without the endings that make one part of speech of another, so that `authenticate`,
`authenticated` and `authentication` are one word. English only.

Unwanted is what stands under a negation that sets something aside ("do not touch the database", "without changing the
UI", "leave the billing alone", "not the frontend"). A negation that describes ("the login does not work", "there are no
tests") or makes a rule ("never log passwords") sets nothing aside: what it names is the very matter.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from parley.agents.retrieval.corpus import STOP, stem, word_set

KEPT = 8
"""Prompts whose reading a process keeps: a task that is in hand is read by every expert, and more than once by each."""
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*[+#]{0,2}")
_CAMEL = re.compile(r"(?<=[a-z]{3})(?=[A-Z][a-z]{2})")
_ONE_WORD = re.compile(r"\b(?:JavaScript|TypeScript|GitHub|GitLab|BitBucket|YouTube|LinkedIn|CoffeeScript)\b")
_ENDINGS = (
    "ization", "isation", "ational", "ability", "ibility", "ation", "ition", "ement", "ality", "ment", "ness", "ical",
    "ency", "ancy", "anc", "enc", "abl", "ibl", "ity", "ion", "iv", "iz", "is", "ous", "al", "at",
)  # fmt: skip
"""Where a stem has lost its last e."""
_LOOSE = re.compile(r"^(?:and|but|or|just|only)\b[ ,]*|[ ,]*\b(?:and|but|or)$", re.I)
_LEAST = 4
"""Letters that stay when an ending falls off."""
_EMPTY = STOP | word_set(
    """please need needs want wants make makes made help can't cannot could we've i'm it's that's don't thing things
    something someone anything everything like also get gets getting got give go going lot really way ways new one two
    i'd i'll let's still already currently right now able try trying tell show me us ok okay hi hello hey thanks"""
)
_CUES = "|".join(
    (
        r"(?:do\s+not|don't|dont|doesn't|should\s+not|shouldn't|without)\s+(?:need|want|car|mind|involv|touch|alter|chang"
        r"|edit|modify|rewrit|refactor|redesign|reimplement|disturb|mess|bother|worry|consider|discuss)",
        r"no\s+(?:new\s|(?:\w+\s+){0,3}(?:changes|modifications|edits|refactorings?)\b)",
        r"(?:(?<=^)|(?<=[.,;:!?(\n]\s))(?:not\s+(?:the|a|any|our|your|my)|forget)\b",
        r"(?:this|it)(?:\s+is\s+not|\s+isn't|'s\s+not)\s+about",
        r"(?:except|excluding|instead\s+of|rather\s+than|apart\s+from|other\s+than|hands\s+off)\b",
    )
)
"""What sets something aside begins with."""
_NEXT = (
    "add|build|check|create|explain|fix|give|implement|improve|make|move|remove|rename|show|speed|test|update|use|write"
)
_ASIDE = re.compile(
    rf"\bleave\b[^.,;:!?()\n]{{1,80}}?\b(?:alone|untouched|unchanged|out|as\s+(?:it|they)\s+(?:is|are))\b"
    rf"|\b(?:{_CUES})[^.,;:!?()\n—–]*?(?=[.,;:!?()\n—–]|\s(?:but|just|only|so|should|must|and\s+(?:{_NEXT}))\b|$)",
    re.I,
)
"""All of it: to the end of its clause, or to where another request begins."""


@lru_cache(maxsize=50_000)
def root(word: str) -> str:
    """The root of a word in lower case."""
    short = stem(word)
    for ending in _ENDINGS:
        if short.endswith(ending) and len(short) - len(ending) >= _LEAST:
            return short[: -len(ending)]
    return short


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text that carries meaning."""

    text: str
    """In lower case."""
    root: str
    wanted: bool
    """It does not stand under a negation that excludes."""


@dataclass(frozen=True, slots=True)
class PromptReading:
    """A text as it is matched."""

    words: tuple[Word, ...]
    """Those that carry meaning, in order."""
    wanted_text: str
    """The text without what it says it does not want."""

    @property
    def wanted(self) -> tuple[str, ...]:
        """Roots of the words that are wanted, in order."""
        return tuple(w.root for w in self.words if w.wanted)

    @property
    def unwanted(self) -> tuple[str, ...]:
        """Roots of the words that are not, in order."""
        return tuple(w.root for w in self.words if not w.wanted)


def _parse_prompt(text: str) -> PromptReading:
    shown = (text if _ONE_WORD.search(text) else _CAMEL.sub(" ", text)).replace("’", "'")
    aside = [m.span() for m in _ASIDE.finditer(shown)]
    words = tuple(
        Word(token, root(token), not any(begin <= m.start() < end for begin, end in aside))
        for m in _TOKEN.finditer(shown)
        if _carries(token := m.group().lower())
    )
    if not aside:
        return PromptReading(words, text)
    wanted_text = _LOOSE.sub("", " ".join(_ASIDE.sub(" ", shown).split()).strip(" ,;:.!—–"))
    return PromptReading(words, wanted_text if any(w.wanted for w in words) else "")


def _carries(token: str) -> bool:
    """Whether a token carries meaning."""
    return token not in _EMPTY and (len(token) > 1 or token in "cr")


@lru_cache(maxsize=KEPT)
def read_prompt(text: str) -> PromptReading:
    """Reads a prompt into roots of words."""
    return _parse_prompt(text)


def roots_of(text: str) -> tuple[str, ...]:
    """Roots of the words of a text that carry meaning, in order; a text of none but empty words keeps them."""
    roots = tuple(w.root for w in _parse_prompt(text).words)
    return roots or tuple(root(t) for t in re.findall(r"[^\W_]+", text.lower()))


roots = lru_cache(maxsize=50_000)(roots_of)
"""The same of a specification's phrase, which is asked for with every task: remembered, so for no other text."""


def stands_in(phrase: Sequence[str], words: Sequence[str]) -> bool:
    """Whether all roots of a phrase stand near each other, in whatever order: within two further words."""
    if not phrase:
        return False
    wanted = set(phrase)
    if len(wanted) == 1:
        return phrase[0] in words
    if not wanted <= set(words):
        return False
    span = len(wanted) + 2
    return any(wanted <= set(words[i : i + span]) for i in range(max(1, len(words) - len(wanted) + 1)))


def share(of: Iterable[str], among: Iterable[str]) -> float:
    """How many of some roots stand among others, 0 to 1; 0 of none."""
    mine = set(of)
    return len(mine & set(among)) / len(mine) if mine else 0.0
