"""Documents as sentences: cut once, kept by content hash.

A sentence's text is a verbatim span of its document up to white space, so it can be quoted. What stands around it (the
heading above, the sentence before) is kept beside it as context, because "It lost two hours of writes" is about
whatever the heading names.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from schemas.session import Document

MAX_QUOTE = 320
"""Characters of a sentence; what is longer is cut between words."""
KEPT_CHARACTERS = 8_000_000
"""How much text the cache holds before it forgets the documents used longest ago."""


def word_set(text: str) -> frozenset[str]:
    """The words of a list written as text."""
    return frozenset(text.split())


STOP = word_set(
    """a about above after again all also am an and any are as at be because been before being below between both
    but by can could did do does doing down during each either few for from further had has have having he her
    here hers him his how i if in into is it its itself just let may me might more most must my no nor not now
    of off on once one only or other our ours out over own per same shall she should so some such than that the
    their theirs them then there these they this those through to too under until up upon us very was we were
    what when where whether which while who whom whose why will with within without would you your yours long
    many much often best better good use using used"""
)
"""Words that say nothing about the subject of a question."""

_HISSING = ("ses", "xes", "zes", "ches", "shes", "oes")
_REFERRING = word_set("it its he his she her they their this these")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|approx|Dr|Mr|Mrs|Ms|St|No|Fig|Inc|Ltd|etc)|\b[A-Z])\.$")
_MARKER = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")
_SKIPPED = re.compile(r"\s*(?:```.*|~~~.*|[-=_*]{3,}\s*|\|[\s:|-]+\|?\s*)?$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence and what its words are."""

    text: str
    words: tuple[str, ...]
    """Lower case, in order."""
    stems: tuple[str, ...]
    """Of the words that carry meaning, in order."""
    context: tuple[str, ...] = ()
    """Stems of the headings above and of the sentence before it in its paragraph: of more where that is about "it"."""


@dataclass(frozen=True, slots=True)
class Text:
    """A document, cut."""

    sentences: tuple[Sentence, ...]
    plain: str
    """Its text with white space collapsed: where a quote must stand."""


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A light stem: plural, -ing, -ed and -ly fall off."""
    for suffix, least in (("ies", 5), ("ing", 6), ("edly", 7), ("ed", 5), ("es", 5), ("ly", 5), ("s", 4)):
        if suffix == "es" and not word.endswith(_HISSING):
            continue
        if word.endswith(suffix) and len(word) >= least and not word.endswith("ss"):
            word = word[: -len(suffix)] + ("y" if suffix == "ies" else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def words(text: str) -> tuple[str, ...]:
    """Words and numbers, lower case, in order."""
    return tuple(_WORD.findall(text.lower().replace("’", "'")))


def stems(text: str) -> tuple[str, ...]:
    """Stems of the words that carry meaning."""
    return tuple(stem(w) for w in words(text) if w not in STOP)


def collapse(text: str) -> str:
    """White space collapsed to single spaces: two texts that differ in nothing else become equal."""
    return " ".join(text.split())


def sentence(text: str, context: tuple[str, ...] = ()) -> Sentence:
    """One sentence from its text."""
    all_words = words(text)
    return Sentence(collapse(text), all_words, tuple(stem(w) for w in all_words if w not in STOP), context)


def refers(s: Sentence) -> bool:
    """Whether a sentence begins with a word for what the sentence before is about."""
    return s.words[:1] != () and s.words[0] in _REFERRING


def cut(text: str) -> Text:
    """Cut a text (plain or Markdown) into sentences; fences, rules and headings are no sentences."""
    found: list[Sentence] = []
    headings: list[tuple[int, tuple[str, ...]]] = []
    for level, block in _blocks(text):
        if level:
            headings = [h for h in headings if h[0] < level] + [(level, stems(block))]
            continue
        above = tuple(s for _, h in headings[-2:] for s in h)
        before: tuple[str, ...] = ()
        for part in _sentences(block):
            s = sentence(part, above + before)
            if len(s.words) >= 3:
                found.append(s)
                before = s.stems + before if refers(s) else s.stems
    return Text(tuple(found), collapse(text))


def _blocks(text: str) -> list[tuple[int, str]]:
    """(heading level or 0, text) of each heading, list item, table row and paragraph."""
    blocks: list[tuple[int, str]] = []
    open_lines: list[str] = []

    def close() -> None:
        if open_lines:
            blocks.append((0, " ".join(open_lines)))
            open_lines.clear()

    for line in text.splitlines():
        bare = line.strip()
        if _SKIPPED.match(line):
            close()
        elif bare.startswith("#") and bare.lstrip("#")[:1] in (" ", ""):
            close()
            blocks.append((len(bare) - len(bare.lstrip("#")), bare.strip("# ")))
        elif bare.startswith("|"):
            close()
            blocks.append((0, bare))
        else:
            marker = _MARKER.match(line)
            if marker:
                close()
                bare = line[marker.end() :].strip()
            open_lines.append(bare)
    close()
    return blocks


def sentence_ends(block: str) -> list[int]:
    """Offsets behind each sentence of a paragraph but the last, with the white space that follows it."""
    ends: list[int] = []
    start = 0
    for match in _SENTENCE_END.finditer(block):
        if not _ABBREVIATION.search(block[start : match.end()].strip()):
            ends.append(match.end())
            start = match.end()
    return ends


def _sentences(block: str) -> list[str]:
    bounds = [0, *sentence_ends(block), len(block)]
    parts = [block[a:b].strip() for a, b in pairwise(bounds)]
    short: list[str] = []
    for part in parts:
        while len(part) > MAX_QUOTE:
            at = part.rfind(" ", 0, MAX_QUOTE)
            at = at if at > 0 else MAX_QUOTE
            short.append(part[:at].strip())
            part = part[at:].strip()
        if part:
            short.append(part)
    return short


class Corpus:
    """Documents cut once each, kept by content hash."""

    def __init__(self, kept_characters: int = KEPT_CHARACTERS) -> None:
        self._kept = kept_characters
        self._texts: OrderedDict[str, Text] = OrderedDict()
        self._size = 0

    def text(self, document: Document) -> Text:
        """The document's sentences."""
        text = self._texts.get(document.id)
        if text is not None:
            self._texts.move_to_end(document.id)
            return text
        text = self._texts[document.id] = cut(document.text)
        self._size += len(text.plain)
        while self._size > self._kept and len(self._texts) > 1:
            _, old = self._texts.popitem(last=False)
            self._size -= len(old.plain)
        return text
