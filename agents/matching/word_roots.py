"""Reads a prompt as roots of words, and marks those that it excludes.

A root is a light stem without the endings that make one part of speech of another, so that `authenticate`,
`authenticated` and `authentication` are one word. English only.

Unwanted is what stands under a negation that excludes ("do not touch the database", "without changing the UI", "leave
the billing alone", "not the frontend"). A negation that describes ("the login does not work", "there are no tests")
excludes nothing: what it names is the very matter.

Where that leaves nothing of a text, it depends on what the negations are. Those that set something aside ("do not touch
the database", "no schema changes please", "leave the billing alone") ask for nothing: nothing is kept. Any other is a
rule that somebody is to see to ("don't deploy on Fridays", "never log passwords"): all of the text is wanted.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from parley.agents.retrieval.corpus import STOP, stem, word_set

KEPT = 8
"""Prompts whose reading a process keeps: a task that is in hand is read by every expert, and more than once by each."""
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*[+#]{0,2}|[.,;:!?()\n—–]|--|(?<=\s)-(?=\s)")
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
_STOPS = frozenset(".,;:!?()\n—–-") | {"--"}
_BREAK = _STOPS | {"but", "just", "only", "however", "instead", "though", "although", "so"}
_TOUCH = word_set(
    """touch touching change changing modify modifying alter altering break breaking rewrite rewriting edit editing
    refactor refactoring redesign redesigning replace replacing remove removing add adding use using involve involving
    affect affecting disturb disturbing introduce introducing mess messing bother bothering worry worrying write writing
    run running deploy deploying update updating optimize optimizing optimise optimising move moving migrate migrating
    bring bringing include including rename renaming delete deleting start starting consider considering discuss
    discussing need needing want wanting care reimplement go going look looking get getting do doing give put ask test
    testing document documenting fix fixing review reviewing build building create creating implement implementing"""
)
_THINGS = word_set("the a an any our your my their his her its this that these those about to for because all")
_ABOUT = word_set("about a an the involve touch need require change affect for because to")
_IS = word_set("is are was were has have been works work runs run looks look got its")
_FINE = word_set(
    """fine ok okay alright good perfect great done finished ready settled decided agreed correct right working green
    healthy idle quick fast happy approved reviewed fixed deployed merged sound well clear"""
)
"""What a clause that names something only to set it aside ends with."""
_THERE = word_set("there have has had having with is are was were be get gets see sees got shows show returns of")
_KEEP_OFF = word_set(
    """touch touching change changing modify modifying alter altering edit editing rewrite rewriting refactor
    refactoring redesign redesigning reimplement disturb disturbing mess messing bother bothering worry worrying involve
    involving consider considering discuss discussing need care mind require look looking"""
)
"""What one is told not to do with what is set aside; other verbs make a rule."""
_CHANGES = word_set("change changes modification modifications edit edits refactoring refactorings work touching")
_ASIDE = word_set(
    """leave not except excluding apart other rather instead nothing anything without hands forget doesn't shouldn't
    mustn't needn't isn't aren't wasn't"""
)
"""What a negation begins with that only sets something aside."""
_BEGINS = word_set(
    """leave never don't dont do does should must need doesn't shouldn't mustn't needn't isn't aren't wasn't not without
    no rather instead apart other except excluding avoid ignore skip avoiding ignoring skipping nothing anything forget
    hands"""
)
"""What a negation that excludes begins with, where it is not the beginning of a clause."""
_LONGEST_SCOPE = 9
"""Words that one negation reaches over at most."""


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
    shown = text if _ONE_WORD.search(text) else _CAMEL.sub(" ", text)
    matches = list(_TOKEN.finditer(shown))
    tokens = [m.group().lower().replace("’", "'") for m in matches]
    scopes = _excluded(tokens)
    out = {i for begin, end in scopes for i in range(begin, end)}
    words = tuple(Word(token, root(token), i not in out) for i, token in enumerate(tokens) if _carries(token))
    if not out:
        return PromptReading(words, text)
    remaining = [shown[m.start() : m.end()] for i, m in enumerate(matches) if i not in out]
    wanted_text = _LOOSE.sub("", re.sub(r"\s+([.,;:!?])", r"\1", " ".join(remaining)).strip(" ,;:—–"))
    if any(w.wanted for w in words):
        return PromptReading(words, wanted_text)
    if all(_sets_aside(tokens, begin) for begin, _ in scopes):
        return PromptReading(words, "")
    return PromptReading(tuple(replace(w, wanted=True) for w in words), text)


def _carries(token: str) -> bool:
    """Whether a token carries meaning."""
    return token not in _EMPTY and token[0].isalnum() and (len(token) > 1 or token in "cr")


def count_words(text: str) -> int:
    """How many words `read_prompt` finds in a text, without reading it."""
    shown = text if _ONE_WORD.search(text) else _CAMEL.sub(" ", text)
    return sum(map(_carries, _TOKEN.findall(shown.lower().replace("’", "'"))))


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


# ---------------------------------------------------------------- negation


def _excluded(tokens: Sequence[str]) -> list[tuple[int, int]]:
    """The scope of each negation that excludes: (the negation's place, the first one after it)."""
    spans: list[tuple[int, int]] = []
    for i, token in enumerate(tokens):
        may_begin = token in _BEGINS or not i or tokens[i - 1] in _STOPS
        if may_begin and (not spans or i >= spans[-1][1]):
            reach = _reach(tokens, i, token)
            if reach:
                spans.append((i, reach + (reach < len(tokens) and tokens[reach] in (",", ";"))))
    return spans


def _sets_aside(tokens: Sequence[str], begin: int) -> bool:
    """Whether a negation that begins at a token only says what to keep off."""
    first = tokens[begin]
    if first == "no":
        return not _CHANGES.isdisjoint(tokens[begin : _scope(tokens, begin + 1)])
    if first in ("do", "should", "must", "need", "don't", "dont"):
        verb = begin + (1 if first in ("don't", "dont") else 2)
        return verb < len(tokens) and tokens[verb] in _KEEP_OFF
    return first in _ASIDE


def _reach(tokens: Sequence[str], i: int, token: str) -> int:
    """Where the scope of a negation that begins at a token ends; 0: none begins there, or it describes."""
    after = tokens[i + 1] if i + 1 < len(tokens) else ""
    before = tokens[i - 1] if i else "."
    if token == "leave" and (end := _left_alone(tokens, i)):
        return end
    if token in ("never", "don't", "dont") or (token in ("do", "does", "should", "must", "need") and after == "not"):
        start = i + 1 if token in ("never", "don't", "dont") else i + 2
        return _scope(tokens, start) if _excludes(tokens, i, start, before) else 0
    if token in ("doesn't", "shouldn't", "mustn't", "needn't", "isn't", "aren't", "wasn't"):
        return _scope(tokens, i + 1) if _descriptive_excludes(tokens, i + 1) else 0
    if token == "not" and after in _THINGS and after != "to":
        return _scope(tokens, i + 1)
    if token == "without" and after.endswith("ing") and after in _TOUCH:
        return _scope(tokens, i + 1)
    if token == "no" and before not in _THERE and after not in ("longer", "matter", "one", ""):
        return _scope(tokens, i + 1)
    if (token, after) in (("rather", "than"), ("instead", "of"), ("apart", "from"), ("other", "than")):
        return _scope(tokens, i + 2)
    if token in ("except", "excluding", "avoid", "ignore", "skip", "avoiding", "ignoring", "skipping") and (
        before in _BREAK or before in ("please", "and", "you", "to", "can") or token.startswith("exc")
    ):
        return _scope(tokens, i + 1)
    if token in ("nothing", "anything") and tokens[i + 1 : i + 4] == ["to", "do", "with"]:
        return _scope(tokens, i + 4)
    if token == "not" and after in ("asking", "looking"):
        return _scope(tokens, i + 2)
    is_request = before in _STOPS or before in ("please", "and", "but", "you", "just")
    if (token == "forget" and is_request) or (token == "hands" and after == "off"):
        return _scope(tokens, i + 1)
    return _settled(tokens, i) if before in _STOPS else 0


def _settled(tokens: Sequence[str], i: int) -> int:
    """The end of a clause that says of something that it is as it should be; 0: it does not."""
    end = next((j for j in range(i, len(tokens)) if tokens[j] in _STOPS or tokens[j] in ("but", "and")), len(tokens))
    clause = tokens[i:end]
    if not 2 < len(clause) <= _LONGEST_SCOPE + 2 or (end < len(tokens) and tokens[end] == "?") or "not" in clause:
        return 0
    fine = clause[-1] in _FINE and any(w in _IS for w in clause[:-1])
    return end if fine or "already" in clause[1:] else 0


def _excludes(tokens: Sequence[str], i: int, start: int, before: str) -> bool:
    """Whether `do not V` is asked of the reader, or said of what is wanted ("we do not need"), and no description."""
    verb = tokens[start] if start < len(tokens) else ""
    if verb in ("need", "want", "care", "require", "mind"):
        return True
    is_request = before in _BREAK or before in ("please", "and", "you", "we", "i", "or", "should", "must")
    if tokens[i] == "does":
        return False
    return is_request and verb in _TOUCH and (before not in ("we", "i") or verb in ("need", "want", "touch", "care"))


def _descriptive_excludes(tokens: Sequence[str], start: int) -> bool:
    """`this isn't about X`, `it doesn't need X`, `that shouldn't touch X`; not `it doesn't load`."""
    word = tokens[start] if start < len(tokens) else ""
    return word in _ABOUT


def _left_alone(tokens: Sequence[str], i: int) -> int:
    """The end of `leave X alone|untouched|as it is|out`; 0: it is none."""
    for j in range(i + 1, min(len(tokens), i + _LONGEST_SCOPE + 2)):
        if tokens[j] in ("alone", "untouched", "unchanged", "out"):
            return j + 1
        if tokens[j] == "as" and tokens[j + 1 : j + 3] in (["it", "is"], ["they", "are"], ["is", "."]):
            return j + 3
        if tokens[j] in _BREAK:
            return 0
    return 0


def _scope(tokens: Sequence[str], start: int) -> int:
    """Where a clause that begins at a token ends."""
    end = min(len(tokens), start + _LONGEST_SCOPE)
    for j in range(start, end):
        if tokens[j] in _BREAK or (tokens[j] in ("should", "must", "gets") and j > start):
            return j
        if tokens[j] == "and" and j + 1 < len(tokens) and tokens[j + 1] in _TOUCH and tokens[j + 1] != "test":
            return j  # "no new tests and fix the parser": another request begins
    return end
