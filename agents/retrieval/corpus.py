"""Documents as sentences: cut once, kept by content hash.

A sentence's text is a verbatim span of its document up to white space, so it can be quoted. What stands around it (the
heading above, the sentence before) is kept beside it as context, because "It lost two hours of writes" is about
whatever the heading names.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from parley.agents.retrieval.blocks import blocks, is_row, sections
from parley.agents.text.languages import DEFAULT, language_of
from parley.agents.text.sentences import sentences
from parley.agents.text.words import idle_words, prefix, words
from parley.schemas.session import Document

MAX_QUOTE = 480
"""Characters of a sentence; what is longer is cut between words."""
_SHORT = 40_000
"""Characters of a text whose paragraphs may each be in a language of their own."""
KEPT_CHARACTERS = 24_000_000
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
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|\]\([^()\s]*\)|\]\[[^\][]*\]")
_REFERRING = word_set("it its he his she her they their this these")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence and what its words are."""

    text: str
    words: tuple[str, ...]
    """Lower case, in order."""
    stems: tuple[str, ...]
    """Of the words that carry meaning, in order."""
    context: tuple[str, ...] = ()
    """Stems of the headings above and of the sentence before it in its paragraph: of more where that is about "it"; of
    a list's item also of the sentence that leads to the list."""
    row: bool = False
    """Of a table."""


@dataclass(frozen=True, slots=True)
class Text:
    """A document, cut."""

    sentences: tuple[Sentence, ...]
    plain: str
    """Its text with white space collapsed: where a quote must stand."""
    headings: tuple[Sentence, ...] = ()


@lru_cache(maxsize=50_000)
def stem(word: str, language: str = DEFAULT) -> str:
    """A light stem: in English plural, -ing, -ed and -ly fall off."""
    if language != DEFAULT:
        return prefix(word, language)
    for suffix, least in (("ies", 5), ("ing", 6), ("edly", 7), ("ed", 5), ("es", 5), ("ly", 5), ("s", 4)):
        if suffix == "es" and not word.endswith(_HISSING):
            continue
        if word.endswith(suffix) and len(word) >= least and not word.endswith("ss"):
            word = word[: -len(suffix)] + ("y" if suffix == "ies" else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def stems(text: str, language: str = DEFAULT) -> tuple[str, ...]:
    """Stems of the words that carry meaning."""
    return _stems(words(text), language)


def _stems(all_words: Iterable[str], language: str) -> tuple[str, ...]:
    idle = STOP if language == DEFAULT else idle_words(language)
    return tuple(stem(w.removesuffix("'s"), language) for w in all_words if w not in idle)


def plain(text: str) -> str:
    """A text without tags, and links as what is shown of them."""
    return _MARKUP.sub(" ", text) if "<" in text or "](" in text else text


def collapse(text: str) -> str:
    """White space collapsed to single spaces: two texts that differ in nothing else become equal."""
    return " ".join(text.split())


def clean(text: str) -> str:
    """A text as an answer: without control characters, in one line."""
    return collapse("".join(c if c.isprintable() else " " for c in text))


def sentence(text: str, context: tuple[str, ...] = (), language: str = DEFAULT, *, row: bool = False) -> Sentence:
    """One sentence from its text, its stems in this language."""
    all_words = words(plain(text))
    return Sentence(collapse(text), all_words, _stems(all_words, language), context, row)


def refers(s: Sentence) -> bool:
    """Whether a sentence begins with a word for what the sentence before is about."""
    return s.words[:1] != () and s.words[0] in _REFERRING


def parse_quote(text: str, asked: str = DEFAULT) -> Sentence:
    """What somebody quotes: a sentence, or a row that repeats its headers."""
    return sentence(text, (), asked, row=is_row(text))


def cut(text: str, asked: str = DEFAULT) -> Text:
    """Cut a text (plain or Markdown) into sentences, items, rows and lines of code; headings are none. Stems are of the
    language that the question is asked in."""
    found: list[Sentence] = []
    language, mixed = _languages(text)
    titles: list[Sentence] = []
    stems_of: dict[int, tuple[str, ...]] = {}
    """Of each heading, by where it stands."""
    led: tuple[str, ...] = ()
    """Stems of the last sentence of the paragraph before."""
    for headings, block in sections(blocks(text)):
        above = tuple(s for h in headings[-2:] for s in stems_of[h.start])
        if block.kind == "heading":
            titles.append(sentence(block.text[:MAX_QUOTE], above, asked))
            stems_of[block.start] = titles[-1].stems
            led = ()
            continue
        if block.kind == "row":
            found.append(sentence(block.text[:MAX_QUOTE], above, asked, row=True))
            continue
        before = () if block.kind == "paragraph" else led
        for part in _parts(block.text, language, mixed) if block.kind != "code" else [block.text[:MAX_QUOTE]]:
            s = sentence(part, above + before, asked)
            if len(s.words) >= (3 if block.kind == "paragraph" else 1):
                found.append(s)
                before = s.stems + before if refers(s) else s.stems
        led = before if block.kind == "paragraph" else led
    return Text(tuple(found), collapse(text), tuple(t for t in titles if t.words))


def _languages(text: str) -> tuple[str, bool]:
    """(the language of a text as it begins; whether each paragraph is asked for its own: of a text that is short, or
    whose middle or end is in another)."""
    first = language_of(text)
    return first, len(text) < _SHORT or any(
        language_of(text[at:], first) != first for at in (len(text) // 2, max(0, len(text) - 4_000))
    )


def _parts(block: str, language: str, mixed: bool) -> list[str]:
    """The sentences of a paragraph; what is longer than a quotation may be is cut between words."""
    short: list[str] = []
    for part in sentences(block, language_of(block, language) if mixed else language):
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
        self._most_characters = kept_characters
        self._texts: OrderedDict[tuple[str, str], Text] = OrderedDict()
        self._size = 0

    def text(self, document: Document, language: str = DEFAULT) -> Text:
        """The document's sentences, with stems of this language."""
        key = document.id, language
        text = self._texts.get(key)
        if text is not None:
            self._texts.move_to_end(key)
            return text
        text = self._texts[key] = cut(document.text, language)
        self._size += len(text.plain)
        while self._size > self._most_characters and len(self._texts) > 1:
            _, old = self._texts.popitem(last=False)
            self._size -= len(old.plain)
        return text
