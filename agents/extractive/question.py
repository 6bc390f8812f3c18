"""Finds out from the form of a question what it asks for."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from parley.agents.retrieval.corpus import STOP, collapse, stem, stems, word_set
from parley.agents.text.languages import DEFAULT, language_of
from parley.agents.text.sentences import sentences
from parley.agents.text.words import subject, words

OPTIONS, YES_NO, NUMBER, DATE, YEAR, NAME, WHY, OPEN = (
    "options",
    "yes_no",
    "number",
    "date",
    "year",
    "name",
    "why",
    "open",
)

AUXILIARY = word_set(
    """should is are was were can could does do did will would has have had must may might shall isn't aren't doesn't
    don't didn't wasn't weren't shouldn't won't wouldn't can't couldn't hasn't haven't hadn't mustn't"""
)
EXTREME = word_set(
    """highest most largest biggest greatest longest tallest heaviest maximum more higher larger bigger greater longer
    taller heavier dearer costlier lowest least fewest smallest shortest cheapest lightest minimum less lower fewer
    smaller shorter cheaper lighter"""
)
"""What asks for the most or the least of something."""
NEGATORS = word_set(
    """not no never nor neither without cannot can't don't doesn't didn't isn't aren't wasn't weren't won't wouldn't
    shouldn't couldn't hasn't haven't hadn't mustn't nobody nothing none except excluding unlike"""
)
NUMERAL = (
    r"\d[\d.,:]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|half|"
    "third|quarter|both|none|once|twice|single|dozen|double|no|every|daily|weekly|monthly|yearly)"
    r"\b"
)
"""A number, in figures or words."""
_FORMS = (
    (YEAR, r"\b(?:what|which) year\b|\bwelche[mns] jahre?\b|\bquelle année\b|\bqué año\b|\bque ano\b|哪一?年"),
    (
        NUMBER,
        r"\bhow (?:many|much|long|old|far|high|tall|deep|wide|heavy|fast|large|big|often|hot|cold|frequently)\b"
        r"|\b(?:what|which) (?:is the |was the |are the )?(?:\w+ )?(?:percent|percentage|number|size|length|"
        r"height|depth|width|weight|age|speed|temperature|price|cost|ratio|share|amount|population|port)\b"
        r"|\bwhat's the (?:\w+ )?(?:number|size|price|cost|amount|length)\b"
        r"|\bwie ?viele?n?\b|\bwie (?:lange|hoch|alt|weit|oft|groß|schwer|tief|breit|teuer)\b|\bcombien\b|"
        r"\bquelle (?:température|durée|taille)\b|\bcuánt[oa]s?\b|\bqué temperatura\b|\bquant[oa]s?\b|\bсколько\b|"
        r"多少|多[久长大高重远深]|几[个天次年月层种]",
    ),
    (
        DATE,
        r"\bwhen\b|\b(?:what|which) (?:date|day|month|century|decade|time)\b|\bhow (?:recently|soon)\b|\bwann\b|"
        r"\bwelche[mnrs] (?:tag|monat|datum|uhrzeit)\w*|"
        r"^(?:depuis |jusqu'à )?quand\b|\bquelle (?:heure|date)\b|\bquel (?:jour|mois)\b|"
        r"\bcuándo\b|\bqué (?:hora|día|mes|fecha)\b|\bquando\b|\bкогда\b|什么时候|何时|几点|哪一?天|几[月号]",
    ),
    (
        NAME,
        r"\bwho\b|\bwhom\b|\bwhose\b|\bwhere\b|\b(?:what|which) (?:\w+ )?(?:person|man|woman|king|queen|president|"
        r"player|author|scientist|team|company|group|organi[sz]ation|city|country|state|town|river|region|county|"
        r"continent|school|university|stadium|district)\b|^we[rmn]\b|"
        r"(?:^|\b(?:à|de|avec|chez|pour) )qui\b|\bquiéne?s?\b|\bquem\b|\bкто\b",
    ),
    (WHY, r"\bwhy\b|\bwarum\b|\bwieso\b|\bpourquoi\b|\bpor qu[eé]\b|\bпочему\b|为什么|为何"),
)
_IDLE = word_set(
    "which what who whom whose when where why how many much long often kind type name called year date vs versus"
)
_PROPER = re.compile(r"(?<![.!?:] )(?<!^)(?<!\w)[A-Z][\w'’]+")


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question, read."""

    text: str
    kind: str
    terms: tuple[str, ...]
    """Stems to look for."""
    language: str = DEFAULT
    """In which it is asked."""
    options: tuple[str, ...] = ()
    """As they stand in the question; of yes or no: `Yes`, `No`."""
    negated: bool = False
    unit: str = ""
    """A pattern of what stands beside the figure that is asked for."""
    extreme: str = ""
    """The word that asks for the most or the least of something."""
    names: frozenset[str] = frozenset()
    """Stems of the proper names in it: what speaks of none of them answers something else."""


@lru_cache(maxsize=256)
def read_question(text: str) -> ParsedQuestion:
    """Read a question. Never fails: what has no known form is open."""
    text = collapse(text)
    asking = [s for s in sentences(text) if s.endswith(("?", "？"))]
    low = (asking or [text])[-1].lower()
    every = words(low)
    language = language_of(text)
    kind = next((kind for kind, form in _FORMS if re.search(form, low)), OPEN)
    if language != DEFAULT:
        return ParsedQuestion(text, kind, tuple(dict.fromkeys(stems(subject(text, language), language))), language)
    text_words = [w.removesuffix("'s") for w in words(text)]
    terms = {stem(w): None for w in text_words if w not in STOP | AUXILIARY | _IDLE}
    extreme = next((w for w in every if w in EXTREME), "")
    names = {stem(w.lower().removesuffix("'s")) for w in _PROPER.findall(text)} & terms.keys()
    read = ParsedQuestion(
        text, OPEN, tuple(terms), names=frozenset(names), negated=not NEGATORS.isdisjoint(every), extreme=extreme
    )
    options = _options((asking or [text])[-1])
    if options:
        return replace(read, kind=OPTIONS, options=options)
    if every and every[0] in AUXILIARY:
        return replace(read, kind=YES_NO, options=("Yes", "No"))
    return replace(read, kind=kind, unit=_unit(low) if kind == NUMBER else "")


def _unit(low: str) -> str:
    """What stands beside the number of what is counted: of how many hours, `hours`."""
    counted = re.search(r"\bhow many (?:more |different |other )?(\w+)(?: (\w+))?", low)
    nouns = [w for w in counted.groups() if w and w not in STOP and w not in AUXILIARY] if counted else []
    noun = "|".join(rf"\b{re.escape(stem(w))}" for w in nouns)
    between = r"(?:\W+\w+){0,3}\W+"
    return rf"(?:{NUMERAL}){between}(?:{noun})|(?:{noun})\w*{between}(?:{NUMERAL})" if noun else ""


def _options(text: str) -> tuple[str, ...]:
    """What a question lets choose from: `A or B`, `A, B or C`; empty where it is not clear."""
    body = re.sub(r"\s+(?:versus|vs\.?)\s+", " or ", text.rstrip("?!. "), flags=re.I)
    body = re.sub(r"\bbetween (\D+?) and (?=\D)", r"between: \1 or ", body, flags=re.I)
    if not re.search(r"\bor\b", body) or re.search(r"\bor (?:not|more|less|fewer|so)\b", body):
        return ()
    listed = re.split(r"[:,]\s+(?!or\b)|,?\s+or\s+", body)
    size = max((len(p.split()) for p in listed[1:]), default=0)
    first = listed[0].split()
    starts = bool(re.match(r"(?:which|what|who|how|where|when)\b", body, re.I)) and len(listed) > 2
    if not starts:
        # "Should we take the red bus or the tram": back to a word at which no option begins.
        at = next((i for i in range(len(first) - 1, -1, -1) if first[i].lower() in _EDGE), -1)
        listed[0] = " ".join(first[max(at + 1, len(first) - max(size, 1)) :])
    options = [_bare(p) for p in (listed[1:] if starts else listed)]
    return tuple(dict.fromkeys(f[0].upper() + f[1:] for f in options)) if len(options) > 1 and all(options) else ()


_EDGE = STOP | AUXILIARY | word_set("use choose pick adopt prefer take buy make called run store deploy via roll go")
_TAIL = word_set("for in on when if to at with after by during of as from while because since into per")


def _bare(option: str) -> str:
    parts = option.split()
    while parts and parts[0].lower() in ("a", "an", "the", "to", "either", "by", "with", "in", "on", "for", "at"):
        parts.pop(0)
    end = next((i for i, w in enumerate(parts) if i and w.lower() in _TAIL), len(parts))
    return " ".join(parts[:end]).strip(" ,;:\"'“”‘’")
