"""What a question asks for, read off its form: options named in it, yes or no, a figure or a name, or anything else.

Options are what stands around "or" (also "between A and B", "which of A, B and C", "A versus B"); yes or no is a
question that begins with a verb; figures and names are asked for with how long, how many, how much, when, who, where.
A question with a "not" in it is answered in a sentence, because nobody knows what yes to it means.
"""

import re
from dataclasses import dataclass

from agents.extractive.figures import Figure, stated
from agents.extractive.nearness import kin
from agents.retrieval.corpus import STOP, collapse, stem, stems, word_set, words

OPTIONS, YES_NO, FIGURE, NAME, OPEN = "options", "yes_no", "figure", "name", "open"

_AUXILIARY = word_set(
    """should is are was were can could does do did will would has have had must may might shall isn't
    aren't doesn't don't didn't wasn't weren't shouldn't won't wouldn't can't couldn't hasn't haven't hadn't mustn't"""
)
_EVALUATIVE = word_set(
    """should could would must may might shall shouldn't wouldn't couldn't mustn't worth wise better good safe"""
)
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
_DIMENSION = tuple(
    (re.compile(rf"\bhow (?:{adjective})\b|\bwhat(?:'s| is| was) the (?:\w+ )?(?:{noun})\b"), dimension)
    for dimension, adjective, noun in (
        ("deep", "deep", "depth"), ("wide", "wide|broad", "width"), ("high", "tall|high (?:is|was|are|were)", "height"),
        ("far", "far", "distance"), ("heavy", "heavy", "weight"), ("fast", "fast", "speed"), ("old", "old", "age"),
        ("hot", "hot|warm|cold", "temperature"),
    )
)  # fmt: skip
_SHARES = ("percent", *map(stem, ("percentage", "share", "fraction", "rate", "proportion")))
_NOT = re.compile(r"\b(?:not(?! only\b)|never)\b|n['’]t\b")
_MORE = re.compile(
    r"\b(?:more than|over|above|longer than|(?:larg|high|great|old|deep|wid)er than|after|at least|exceed)\s*$"
)
_LESS = re.compile(
    r"\b(?:less than|fewer than|under|below|(?:short|small|low|cheap|young)er than|before|at most|within)\s*$"
)
_ACTS = re.compile(r"(?:Did|Does|Do|Has|Have|Had) (?:the )?((?:[A-Z][\w'’-]*\s)+)(?:not |never |ever )?([a-z]\w*)")
_COMPARED = word_set("least larger greater higher longer shorter smaller lower fewer exceed older younger deeper wider")


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
    """As agents.extractive.figures.find takes it."""
    noun: str = ""
    """What is counted."""
    asks: str = ""
    """Of a name: who | part (who was the …) | where | what."""
    key: str = ""
    """Of who: the stem of what was done, or of the part played."""
    names: frozenset[str] = frozenset()
    """Stems of the names in it."""
    stated: tuple[Figure, ...] = ()
    """Of yes or no: the figures that are to be checked; of the others: the dates that it asks about."""
    agent: frozenset[str] = frozenset()
    """Of yes or no: stems of the name that is to have done what `key` says."""
    bound: str = ""
    """How the figure is to compare: more | less, or nothing for the same."""
    negated: bool = False
    evaluative: bool = False
    """It asks what to do, not what is."""


def read_question(text: str) -> Question:
    """Read a question. Never fails: what has no known form is open."""
    text = collapse(text)
    asked = _asked(text)
    low = asked.lower()
    first = words(asked)[:1]
    every = words(text)
    terms = tuple(dict.fromkeys(stem(w) for w in every if w not in STOP and w not in _AUXILIARY))
    names = frozenset(
        stem(w.lower()) for w in re.findall(r"(?<!^)(?<![.!?] )\b[A-Z][\w'’-]*", text) if w.lower() not in STOP
    )
    options = _options(asked)
    if len(options) >= 2:
        marks = _marks(options)
        if all(marks):
            return Question(text, OPTIONS, terms, options, marks, evaluative=True, negated=bool(_NOT.search(low)))
    if first and first[0] in _AUXILIARY:
        return _yes_no(text, asked, terms, names)
    dates = tuple(f for f in stated(asked) if f.kind == "date")
    figure, noun = _figure(low)
    if figure:
        asking = (
            {figure, *(stem(w) for w in words(noun)), "date", "year", *_SHARES} if figure != "duration" else {figure}
        )
        subject = tuple(t for t in terms if t not in asking)  # "which year" asks for a year, it is not about years
        return Question(text, FIGURE, subject or terms, figure=figure, noun=noun, names=names, stated=dates)
    if re.search(r"\bwh(?:o|om|ose)\b", low):
        part = re.search(r"\bwho (?:is|was|are|were) the\b", low)
        return Question(text, NAME, terms, asks="part" if part else "who", key=_key(asked), names=names, stated=dates)
    if re.search(r"\bwhere\b", low) or _NAMED_NOUN.search(low):
        return Question(text, NAME, terms, asks="where" if re.search(r"\bwhere\b", low) else "what", names=names)
    return Question(text, OPEN, terms, names=names)


def _yes_no(text: str, asked: str, terms: tuple[str, ...], names: frozenset[str]) -> Question:
    evaluative = bool(_EVALUATIVE & set(words(re.sub(r"(?<!^)\bMay\b", "", asked))))
    plain = re.sub(r",?\s+or not\b", "", asked, flags=re.I)
    negated = bool(_NOT.search(plain.lower()))
    figures = () if evaluative else tuple(f for f in stated(plain) if not f.kind.startswith("every"))
    in_figures = {stem(w) for f in figures for w in words(plain[f.start : f.end])}
    bound = ""
    for f in figures:
        before = plain[max(0, f.start - 24) : f.start].lower()
        bound = "more" if _MORE.search(before) else "less" if _LESS.search(before) else bound
    acts = _ACTS.match(plain)
    left = tuple(t for t in terms if t not in in_figures and (not bound or t not in _COMPARED))
    return Question(
        text, YES_NO, left or terms, _statements(plain) if negated else ("Yes", "No"), evaluative=evaluative,
        key=kin(stem(acts[2].lower())) if acts else "", agent=frozenset(stems(acts[1])) if acts else frozenset(),
        names=names - in_figures, stated=figures, bound=bound, negated=negated,
    )  # fmt: skip


def _statements(asked: str) -> tuple[str, str]:
    """What the two answers to a question with "not" say: `Use X` and `Do not use X`."""
    body = asked.rstrip("?!. ")
    m = re.match(r"(\w+)\s+(.+?)\s+(?:not|never)\s+(.+)$", body, re.I)
    short = re.match(r"(\w+?)n['’]t\s+(we|i|you|they|he|she|it|this|that|there)\s+(.+)$", body, re.I)
    found = m or short
    if found is None:
        positive = re.sub(r"n['’]t\b", "", body, count=1)
        return f"Yes to “{positive}?”", f"No to “{positive}?”"
    verb, subject, rest = found[1].lower(), found[2], found[3]
    if verb in ("should", "must", "shall") and subject.lower() in ("we", "i", "you", "one"):
        return rest[0].upper() + rest[1:], f"Do not {rest}"
    subject = subject[0].upper() + subject[1:]
    return f"{subject} {verb} {rest}", f"{subject} {verb} not {rest}"


def _key(asked: str) -> str:
    """Of a question with who: the stem of what was done, or of the part played."""
    parts = list(re.finditer(r"[^\W_]+", asked))
    at = next(i for i, m in enumerate(parts) if m[0].lower() in ("who", "whom", "whose"))
    after = [m[0] for m in parts[at + 1 :]]
    content = [w for w in after if w.lower() not in STOP]
    if not content:
        return ""
    inverted = parts[at][0].lower() == "whom" or after[0].lower() in ("do", "does", "did")
    plain = [w for w in content if w[0].islower()] if inverted else content
    return kin(stem((plain or content)[-1 if inverted else 0].lower()))


def _asked(text: str) -> str:
    """The sentence that asks, where others stand before it."""
    parts = [p for p in re.split(r"(?<=[.!?])\s+(?=[\"“‘(]*[A-Z])", text) if p.endswith("?")]
    return parts[-1] if parts else text


def _figure(low: str) -> tuple[str, str]:
    if re.search(r"\bhow (?:often|frequently)\b", low):
        return "frequency", ""
    if re.search(r"\bhow long (?:is|are|was|were)\b|\bwhat(?:'s| is| was) the length\b", low):
        return "long", ""
    if re.search(rf"\bhow long\b|\bhow many (?:\w+ )?{_TIME}\b", low):
        return "duration", ""
    for pattern, dimension in _DIMENSION:
        if pattern.search(low):
            return dimension, ""
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
