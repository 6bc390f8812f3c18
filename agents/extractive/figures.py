"""Dates and quantities in a text, each as an interval on the scale of its kind, however it is written.

14 days is two weeks, 1.5 km is 1,500 m, and a year is the interval of its days: a date contains another if its interval
does. Two figures are compatible when one contains the other.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial

from agents.extractive.units import DURATION_UNIT, MEASURES, NUMBER, UNITS, counted, duration, number, shown, singular
from agents.retrieval.corpus import stem, word_set, words
from schemas.text import same

KEPT = 20_000
"""Sentences whose figures are kept: a seat is asked about the same ones in every round."""
DIMENSIONS = {
    "long": ("length", "duration"), "deep": ("length",), "wide": ("length",), "high": ("length",), "far": ("length",),
    "heavy": ("mass",), "fast": ("speed",), "old": ("duration",), "hot": ("temperature",),
}  # fmt: skip
"""What `how <word>` asks, and the kinds of figure that answer it."""
CUES = {
    "long": word_set("long length lengths lasts lasted last stretches extends runs spans measures"),
    "deep": word_set("deep depth depths"),
    "wide": word_set("wide width widths broad breadth across"),
    "high": word_set("high height heights tall rises elevation above"),
    "far": word_set("distance far away apart from"),
    "heavy": word_set("heavy weighs weighed weight mass"),
    "fast": word_set("fast speed speeds quick"),
    "old": word_set("old age aged"),
    "hot": word_set("hot temperature temperatures warm cold degrees"),
}
"""Words beside a figure that say which dimension it measures."""
_BEHIND = {"long": "long", "deep": "deep", "wide": "wide", "across": "wide", "high": "high", "tall": "high",
           "old": "old", "away": "far", "apart": "far"}  # fmt: skip

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")  # fmt: skip
CALENDAR = word_set(
    """january february march april may june july august september october november december jan feb mar apr jun jul
    aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday easter christmas spring summer
    autumn winter today yesterday tomorrow century bc ad am pm"""
)
_MONTH = r"(" + "|".join(_MONTHS) + r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
_DATE = re.compile(
    rf"\b(\d{{4}})-(\d\d)-(\d\d)\b|\b(?:(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?{_MONTH}(?:\s+(\d{{1,2}})(?:st|nd|rd|th)?"
    r",?)?(?:\s+of)?,?\s+(\d{4})\b",
    re.I,
)
_YEAR = re.compile(r"(?<![\d$€£.,-])\b(1\d{3}|20\d\d)\b(?![%\d]|[.,]\d|-\d)")
_AT_A_YEAR = word_set("in since by until till before after during from to of year around early late mid and or between")
_DURATION = re.compile(
    rf"\b{NUMBER}(?:\s*-\s*|\s+|(?=ms\b|s\b|h\b|min\b))(?:(?:full|calendar|business|working|consecutive)[\s-]+)?{DURATION_UNIT}\b",
    re.I,
)
_ADVERB = re.compile(r"\b(hourly|daily|nightly|weekly|fortnightly|monthly|quarterly|yearly|annually)\b", re.I)
_EVERY = re.compile(
    r"\b(?:every|each|once (?:a|every|per))\s+(second|minute|hour|day|night|week|month|quarter|year)\b", re.I
)
_ADVERBS = {
    "hourly": (1, "hour"), "daily": (1, "day"), "nightly": (1, "day"), "weekly": (1, "week"),
    "fortnightly": (2, "week"), "monthly": (1, "month"), "quarterly": (3, "month"), "yearly": (1, "year"),
    "annually": (1, "year"),
}  # fmt: skip
_PERCENT = re.compile(rf"\b{NUMBER}\s*(?:%|percent\b|per cent\b)", re.I)
_MONEY = re.compile(
    r"([$€£])\s?(\d[\d,]*(?:\.\d+)?)\s?(k|thousand|m|million|bn|billion)?\b|\b"
    rf"{NUMBER}\s(dollars|euros|pounds)\b",
    re.I,
)
_SCALE = {"": 1.0, "k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9}
_SIGN = {"dollars": "$", "euros": "€", "pounds": "£"}
_MEASURE = re.compile(rf"(?<![\w.]){NUMBER}\s*-?\s*({MEASURES})(?!\w)", re.I)
_COUNT = re.compile(rf"\b{NUMBER}\b", re.I)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in a text."""

    kind: str
    """date | seconds | months | every seconds | every months | percent | money $ | length | mass | … | count <stem>"""
    low: float
    high: float
    """On the scale of its kind; above `low` only for a date that is a year or a month (yyyymmdd)."""
    text: str
    """How it is written in an answer."""
    start: int
    end: int
    """Where it stands."""

    @property
    def key(self) -> tuple[str, float, float]:
        """Equal for equal figures."""
        return self.kind, round(self.low, 9), round(self.high, 9)

    def within(self, other: "Figure") -> bool:
        """Whether it is the other, or a finer form of it."""
        kind, low, high = other.key
        return self.kind == kind and low <= self.key[1] and self.key[2] <= high


@lru_cache(maxsize=KEPT)
def find(asked: str, text: str, noun: str = "") -> tuple[Figure, ...]:
    """The figures in a text that answer a question for one of a sort.

    Parameters
    ----------
    asked
        duration, frequency, percent, money, year, date, count, or a key of DIMENSIONS.
    noun
        What is counted.
    """
    match asked:
        case "duration":
            return tuple(_durations(text))
        case "frequency":
            return tuple(_frequencies(text))
        case "percent":
            return tuple(_percents(text))
        case "money":
            return tuple(_money(m) for m in _MONEY.finditer(text))
        case "year":
            return tuple(_year(d) for d in _dates(text))
        case "date":
            return tuple(_dates(text))
        case "count":
            return tuple(_counts(noun, text))
    kinds = DIMENSIONS[asked]
    found = [f for kind in kinds for f in (_durations(text) if kind == "duration" else _measures(kind, text))]
    return tuple(f for f in found if dimension(f, text) in ("", asked))


@lru_cache(maxsize=KEPT)
def stated(text: str) -> tuple[Figure, ...]:
    """Every figure in a text; none twice."""
    found: list[Figure] = []
    readers: tuple[Callable[[str], Iterable[Figure]], ...] = (
               _dates, partial(find, "money"), _percents, _frequencies, _durations,
               *(partial(_measures, k) for k in UNITS), _counted)  # fmt: skip
    for read in readers:
        found += [f for f in read(text) if not any(f.start < g.end and g.start < f.end for g in found)]
    return tuple(sorted(found, key=lambda f: f.start))


def alone(answer: str) -> Figure | None:
    """The figure that an answer is, if it is one and nothing else."""
    for f in stated(answer):
        around = {stem(w) for w in words(answer[: f.start] + " " + answer[f.end :])} - {f.kind.removeprefix("count ")}
        if around <= _AT_A_YEAR | {"on", "about", "the", "every", "approximately", "for", "exactly", "long"}:
            return f
    plain = re.fullmatch(rf"\W*{NUMBER}\W*", answer, re.I)
    n = number(plain[1]) if plain else 0.0
    return Figure("count", n, n, answer.strip(), 0, len(answer)) if plain else None


def compatible(one: str, other: str) -> bool:
    """Whether two answers can both be right: the same text, equal figures, or dates of which one contains the other."""
    if same(one, other):
        return True
    a, b = alone(one), alone(other)
    return a is not None and b is not None and (a.within(b) or b.within(a))


def finer(one: str, other: str) -> bool:
    """Whether an answer is the other, said more exactly."""
    a, b = alone(one), alone(other)
    return a is not None and b is not None and a.key != b.key and a.within(b)


def dimension(f: Figure, text: str) -> str:
    """What a word beside a figure says that it measures: a key of DIMENSIONS, or nothing."""
    after = words(text[f.end : f.end + 30])[:3]
    for i, word in enumerate(after):
        if word in _BEHIND and (i == 0 or after[0] in ("in", "or")):
            return _BEHIND[word]
        if i == 1 and after[0] == "in" and (named := _named((word,))):
            return named
    return _named(words(re.split(r"[,;]", text[max(0, f.start - 40) : f.start])[-1])[-4:][::-1])


def _named(near: Iterable[str]) -> str:
    return next((d for w in near for d, cues in CUES.items() if w in cues and w not in ("from", "above")), "")


def _dates(text: str) -> list[Figure]:
    found = [_date(m) for m in _DATE.finditer(text)]
    taken = [(f.start, f.end) for f in found]
    for m in _YEAR.finditer(text):
        if any(s <= m.start() < e for s, e in taken):
            continue
        before, after = words(text[: m.start()])[-1:], words(text[m.end() : m.end() + 30])[:1]
        follows = after[0] if after and not re.match(r"\s*[.,;:)?!]", text[m.end() :]) else ""
        if (before and before[0] in _AT_A_YEAR) or not (singular(follows) != follows or follows in _UNIT_WORDS):
            n = int(m[1])
            found.append(Figure("date", n * 10_000, n * 10_000 + 9_999, m[1], m.start(), m.end()))
    return sorted(found, key=lambda f: f.start)


_UNIT_WORDS = frozenset(u for units in UNITS.values() for u in units)


def _date(m: re.Match[str]) -> Figure:
    if m[1]:
        year, month, day = int(m[1]), min(12, max(1, int(m[2]))), int(m[3])
    else:
        year, day = int(m[7]), int(m[4] or m[6] or 0)
        month = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(m[5].lower().rstrip(".")[:3]))
    low = year * 10_000 + month * 100 + day
    text = f"{day or ''} {_MONTHS[month - 1].capitalize()} {year}".strip()
    return Figure("date", low, low if day else low + 99, text, m.start(), m.end())


def _year(f: Figure) -> Figure:
    year = int(f.low // 10_000)
    return Figure("date", year * 10_000, year * 10_000 + 9_999, str(year), f.start, f.end)


def _durations(text: str) -> list[Figure]:
    return [_lasting(number(m[1]), m[2], m.start(), m.end()) for m in _DURATION.finditer(text)]


def _lasting(n: float, unit: str, start: int, end: int, every: bool = False) -> Figure:
    kind, value, written = duration(n, unit)
    if every:
        kind, written = f"every {kind}", "Every " + (written[2:] if written.startswith("1 ") else written)
    return Figure(kind, value, value, written, start, end)


def _frequencies(text: str) -> list[Figure]:
    found = [
        _lasting(number(m[1]), m[2], m.start(), m.end(), every=True)
        for m in _DURATION.finditer(text)
        if re.search(r"\b(?:every|each|once in)\s*$", text[: m.start()], re.I)
    ]
    found += [_lasting(1.0, m[1], m.start(), m.end(), every=True) for m in _EVERY.finditer(text)]
    for m in _ADVERB.finditer(text):
        n, unit = _ADVERBS[m[1].lower()]
        found.append(_lasting(n, unit, m.start(), m.end(), every=True))
    return found


def _money(m: re.Match[str]) -> Figure:
    if m[4]:
        amount, sign = number(m[4]), _SIGN[m[5].lower()]
    else:
        amount, sign = number(m[2]) * _SCALE[(m[3] or "").lower()], m[1]
    return Figure(f"money {sign}", amount, amount, f"{sign}{shown(amount)}", m.start(), m.end())


def _measures(kind: str, text: str) -> list[Figure]:
    found = []
    for m in _MEASURE.finditer(text):
        unit = UNITS[kind].get(m[2].lower())
        if unit is not None:
            size, written = unit
            n = number(m[1])
            value = (n - 32) / 1.8 if written == "°F" else n * size
            name = f"{shown(n)} {written}" if written[0] == "°" or "/" in written else counted(n, written)
            found.append(Figure(kind, value, value, name, m.start(), m.end()))
    return found


def _percents(text: str) -> list[Figure]:
    return [
        Figure("percent", n, n, f"{n:g} %", m.start(), m.end())
        for m in _PERCENT.finditer(text)
        for n in (number(m[1]),)
    ]


def _counts(noun: str, text: str) -> list[Figure]:
    if not noun:
        return []
    found = []
    wanted = stem(noun)
    dates = _dates(text)
    for m in _COUNT.finditer(text):
        if any(d.start <= m.start() < d.end for d in dates):
            continue
        after = words(re.split(r"[,;:]|\band\b|\d", text[m.end() : m.end() + 60])[0])[:4]
        before = words(text[max(0, m.start() - 50) : m.start()])[-4:]
        if _is_no_count(text, m):
            continue
        if any(stem(w) == wanted for w in after) or (
            any(stem(w) == wanted for w in before) and not _DURATION.match(text, m.start())
        ):
            n = number(m[1])
            found.append(Figure(f"count {wanted}", n, n, f"{shown(n)} {noun}", m.start(), m.end()))
    return found


def _counted(text: str) -> list[Figure]:
    """Each number before a noun, as a count of it."""
    found = []
    for m in _COUNT.finditer(text):
        after = words(text[m.end() : m.end() + 40])[:1]
        if after and after[0].isalpha() and singular(after[0]) != after[0] and not _is_no_count(text, m):
            n = number(m[1])
            found.append(Figure(f"count {stem(after[0])}", n, n, f"{shown(n)} {after[0]}", m.start(), m.end()))
    return found


def _is_no_count(text: str, m: re.Match[str]) -> bool:
    gap = text[m.end() : m.end() + 2]
    return gap.startswith("%") or (gap[:1] in ".:" and gap[1:2].isdigit())
