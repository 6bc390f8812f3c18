"""What a question asks for, read off its form: options named in it, yes or no, a figure or a name, or anything else.

Options are what stands around "or" (also "between A and B", "which of A, B and C", "A versus B"); yes or no is a
question that begins with a verb; figures and names are asked for with how long, how many, how much, when, who, where.
"""

import re
from dataclasses import dataclass

from agents.retrieval.corpus import STOP, collapse, stem, word_set, words

OPTIONS, YES_NO, FIGURE, NAME, OPEN = "options", "yes_no", "figure", "name", "open"

_AUXILIARY = word_set(
    """should is are was were can could does do did will would has have had must may might shall isn't aren't doesn't"""
)
_EVALUATIVE = word_set("""should could would must may might shall worth wise better good safe""")
_EDGE = word_set(
    """to use with for a an the by in between is be are was were we i you they it should would could can do does did
    of on keep choose pick adopt prefer better best from at as than either run via through our my your their this
    that and go take make which what whether store deploy roll using have has if when during after per into out up"""
)
"""Words at which the first option begins and the last one ends."""
_TAIL = word_set(
    """for in on when if to at with after by during of as from while given so under because since into per"""
)
_TIME = r"(?:milliseconds?|seconds?|minutes?|hours?|days?|nights?|weeks?|months?|quarters?|years?)"
_LENGTH_NOUN = re.compile(
    r"\b(?:what|which)\b[^?]*?\b(?:period|timeout|time-?out|interval|duration|retention|window|ttl|delay|time span)\b"
)
_SHARE_NOUN = re.compile(
    r"\b(?:what|which|how (?:large|big|high|great) (?:a|is the))\b[^?]*?\b"
    r"(?:percent|percentage|share|fraction|rate|proportion)\b"
)
_NAMED_NOUN = re.compile(
    r"\bwhat(?:'s| is| was| are) the (?:\w+ )?"
    r"(?:capital|name|author|inventor|founder|owner|vendor|supplier|city|country)\b"
)


@dataclass(frozen=True)
class Question:
    """A question, read."""

    text: str
    kind: str
    """options | yes_no | figure | name | open"""
    terms: tuple[str, ...]
    """Stems to look for."""
    options: tuple[str, ...] = ()
    """As they stand in the question; for yes_no `Yes` and `No`."""
    marks: tuple[frozenset[str], ...] = ()
    """For each option the stems that only it has."""
    figure: str = ""
    """duration | frequency | percent | money | count | year | date"""
    noun: str = ""
    """What is counted."""
    evaluative: bool = False
    """It asks what to do, not what is."""


def read(text: str) -> Question:
    """Read a question. Never fails: what has no known form is open."""
    text = collapse(text)
    asked = _asked(text)
    low = asked.lower()
    first = words(asked)[:1]
    every = words(text)
    terms = tuple(dict.fromkeys(stem(w) for w in every if w not in STOP))
    options = _options(asked)
    if len(options) >= 2:
        marks = _marks(options)
        if all(marks):
            return Question(text, OPTIONS, terms, options, marks, evaluative=True)
    if first and first[0] in _AUXILIARY:
        evaluative = bool(_EVALUATIVE & set(words(asked)))
        return Question(text, YES_NO, terms, ("Yes", "No"), evaluative=evaluative)
    figure, noun = _figure(low)
    if figure:
        subject = tuple(t for t in terms if t != figure)  # "which year" asks for a year, it is not about years
        return Question(text, FIGURE, subject, figure=figure, noun=noun)
    if re.search(r"\b(?:who|whom|whose|where)\b", low) or _NAMED_NOUN.search(low):
        return Question(text, NAME, terms)
    return Question(text, OPEN, terms)


def _asked(text: str) -> str:
    """The sentence that asks, where others stand before it."""
    parts = [p for p in re.split(r"(?<=[.!?])\s+", text) if p.endswith("?")]
    return parts[-1] if parts else text


def _figure(low: str) -> tuple[str, str]:
    if re.search(r"\bhow (?:often|frequently)\b", low):
        return "frequency", ""
    if re.search(rf"\bhow long\b|\bhow many (?:\w+ )?{_TIME}\b", low):
        return "duration", ""
    if re.search(r"\bhow (?:much|high)\b[^?]*\b(?:cost|pay|price|spend|charge|budget|worth|fee|money)", low):
        return "money", ""
    if _SHARE_NOUN.search(low) or re.search(r"\bhow many percent\b", low):
        return "percent", ""
    counted = re.search(
        r"\bhow many (.*?)(?: (?:do|does|did|should|are|is|were|was|can|must|will|would|have|has|per|in|of|to)\b|\?|$)",
        low,
    )
    if counted:
        return "count", (words(counted[1]) or ("",))[-1]
    if re.search(r"\b(?:what|which) year\b", low):
        return "year", ""
    if re.match(r"\W*when\b|.*\b(?:what|which) date\b", low):
        return "date", ""
    return ("duration", "") if _LENGTH_NOUN.search(low) else ("", "")


def _options(asked: str) -> tuple[str, ...]:
    body = asked.rstrip("?!. ")
    between = re.search(r"\bbetween (.+?) and (.+)$", body, re.I)
    of = re.search(r"\bwhich of (.+?),? (?:and|or) (.+)$", body, re.I)
    if ":" in body and re.search(r" or |, ", body.rsplit(":", 1)[1]):
        listed = re.split(r",\s*(?:or\s+|and\s+)?|\s+or\s+", body.rsplit(":", 1)[1])
        return _distinct([_bare(p) for p in listed])
    if of:
        listed = [_bare(p) for p in re.split(r",\s*", of[1])]
        return _distinct([*listed, _last(of[2], max(len(o.split()) for o in listed))])
    if between and " or " not in body:
        return _distinct([_bare(between[1]), _last(between[2], len(between[1].split()))])
    body = re.sub(r"\s+(?:versus|vs\.?)\s+", " or ", body, flags=re.I)
    if not re.search(r"\bor\b", body):
        return ()
    left, right = re.split(r",?\s+or\s+", body, maxsplit=1)[0], re.split(r",?\s+or\s+", body)[1:]
    if words(right[-1])[:1] == ("not",):
        return ()
    last = [_last(r) for r in right]
    items = re.split(r",\s*", left)
    size = max(len(o.split()) for o in [*last, *items[1:]])
    asks_only = len(items) > 1 and bool(re.match(r"(?:which|what|how|where|when|who)\b", items[0], re.I))
    first = "" if asks_only else _first(items[0], size)
    return _distinct([first, *(_bare(i) for i in items[1:]), *last])


def _bare(option: str) -> str:
    parts = option.split()
    while parts and parts[0].lower() in (
        "a",
        "an",
        "the",
        "to",
        "either",
        "or",
        "and",
        "with",
        "by",
        "in",
        "on",
        "for",
        "at",
    ):
        parts.pop(0)
    return " ".join(parts).strip(" ,;:\"'“”‘’")


def _last(option: str, most: int = 8) -> str:
    """The option up to what the rest of the question says about all of them."""
    parts = _bare(option.split(",")[0]).split()
    for i, word in enumerate(parts):
        if i and word.lower() in _TAIL:
            parts = parts[:i]
            break
    return " ".join(parts[:most])


def _first(before: str, size: int) -> str:
    """The option at the end of what stands before: back to a word at which none begins, about as long as the others."""
    parts = before.split()
    taken: list[str] = []
    for word in reversed(parts):
        if word.lower().strip(",;") in _EDGE or len(taken) == size + 1:
            break
        taken.insert(0, word)
    return _bare(" ".join(taken[-max(size, 1) :]))


def _distinct(options: list[str]) -> tuple[str, ...]:
    seen: dict[str, str] = {}
    for option in options:
        if option:
            seen.setdefault(option.lower(), option[0].upper() + option[1:])
    return tuple(seen.values())


def _marks(options: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    sets = [frozenset(stem(w) for w in words(o) if w not in STOP or len(words(o)) == 1) for o in options]
    common = frozenset.intersection(*sets)
    return tuple(s - common for s in sets)
