"""Figures and names in a sentence, each under a key that is the same however it is written: 14 days is two weeks."""

import re

from agents.llm.extractive_question import Question
from agents.retrieval.corpus import STOP, Sentence, stem, word_set, words

_NUMBER_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90, "hundred": 100,
}  # fmt: skip
_N = r"(\d[\d,]*(?:\.\d+)?|" + "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True)) + r")"
_SECONDS = {
    "millisecond": 0.001, "ms": 0.001, "second": 1, "sec": 1, "s": 1, "minute": 60, "min": 60, "hour": 3600, "h": 3600,
    "day": 86_400, "night": 86_400, "week": 604_800,
}  # fmt: skip
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_DURATION = re.compile(
    rf"\b{_N}(?:\s*-\s*|\s+|(?=ms\b|s\b|h\b|min\b))(?:(?:full|calendar|business|working|consecutive)[\s-]+)?"
    r"(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|hours?|h|days?|nights?|weeks?|months?|quarters?|years?)\b",
    re.I,
)
_ADVERB = re.compile(r"\b(hourly|daily|nightly|weekly|fortnightly|monthly|quarterly|yearly|annually)\b", re.I)
_EVERY = {
    "hourly": 3600.0, "daily": 86_400.0, "nightly": 86_400.0, "weekly": 604_800.0, "fortnightly": 1_209_600.0,
}  # fmt: skip
_EVERY_MONTHS = {"monthly": 1.0, "quarterly": 3.0, "yearly": 12.0, "annually": 12.0}
_PERCENT = re.compile(rf"\b{_N}\s*(?:%|percent\b|per cent\b)", re.I)
_MONEY = re.compile(
    r"([$€£])\s?(\d[\d,]*(?:\.\d+)?)\s?(k|thousand|m|million|bn|billion)?\b|\b(\d[\d,]*(?:\.\d+)?)\s(dollars|euros|pounds)\b",
    re.I,
)
_SCALE = {"": 1.0, "k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9}
_SIGN = {"dollars": "$", "euros": "€", "pounds": "£"}
_YEAR = re.compile(r"\b(1[0-9]\d\d|20\d\d)\b")
_MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DATE = re.compile(
    r"\b(\d{4}-\d\d-\d\d)\b|\b(?:(\d{1,2})(?:st|nd|rd|th)? )?("
    + "|".join(_MONTH_NAMES)
    + r")(?: (\d{1,2}),?)? (\d{4})\b"
)
_NAME = re.compile(r"[A-Z][\w'’-]*(?:\s+(?:(?:of|de|van|von|da|al)\s+)?[A-Z][\w'’-]*)*")

_AFTER_A_NAME = word_set(
    """is was has had became serves served approves approved owns owned signs signed wrote founded invented leads led
    decides decided runs ran remains holds held and"""
)

Found = tuple[str, str]
"""(key, how it is written in an answer)"""


def find(question: Question, sentence: Sentence) -> list[Found]:
    """What a sentence offers as an answer to a question for a figure or a name."""
    text = sentence.text
    if question.kind == "name":
        return _names(question, text)
    kind = question.figure
    if kind == "duration":
        return _durations(text)
    if kind == "frequency":
        return _frequencies(text)
    if kind == "percent":
        return [(f"%{n:g}", f"{n:g} %") for n in (_number(m[1]) for m in _PERCENT.finditer(text))]
    if kind == "money":
        return [_money(m) for m in _MONEY.finditer(text)]
    if kind == "year":
        return [(m[1], m[1]) for m in _YEAR.finditer(text)]
    if kind == "date":
        return [_date(m) for m in _DATE.finditer(text)] or [(m[1], m[1]) for m in _YEAR.finditer(text)]
    return _counts(question.noun, text)


def _number(text: str) -> float:
    low = text.lower()
    return float(_NUMBER_WORDS[low]) if low in _NUMBER_WORDS else float(text.replace(",", ""))


def _shown(n: float) -> str:
    return f"{n:,.0f}" if n == int(n) else f"{n:,g}"


def _counted(n: float, unit: str) -> str:
    return f"{_shown(n)} {unit}" + ("" if n == 1 else "s")


def duration(number: float, unit: str) -> Found:
    """(key, text) of a length of time, the same for 14 days and two weeks, 24 hours and a day, 12 months and a year."""
    unit = unit.lower()
    unit = unit if unit in ("s", "ms") else unit.rstrip("s")
    if unit in _MONTHS:
        months = number * _MONTHS[unit]
        years = months / 12
        return f"M{months:g}", _counted(years, "year") if months and years == int(years) else _counted(months, "month")
    seconds = number * _SECONDS[unit]
    for name, size in (("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)):
        n = seconds / size
        if n and n == int(n) and not (name == "week" and n > 8):
            return f"S{seconds:g}", _counted(n, name)
    return f"S{seconds:g}", _counted(seconds * 1000, "millisecond") if seconds < 1 else _counted(seconds, "second")


def _durations(text: str) -> list[Found]:
    return [duration(_number(m[1]), m[2]) for m in _DURATION.finditer(text)]


def _frequencies(text: str) -> list[Found]:
    found = []
    for m in _DURATION.finditer(text):
        if re.search(r"\b(?:every|each|once in)\s*$", text[: m.start()], re.I):
            key, shown = duration(_number(m[1]), m[2])
            found.append((key, _every(shown)))
    for m in re.finditer(
        r"\b(?:every|each|once a|once per)\s+(second|minute|hour|day|night|week|month|quarter|year)\b", text, re.I
    ):
        key, shown = duration(1.0, m[1])
        found.append((key, _every(shown)))
    for m in _ADVERB.finditer(text):
        low = m[1].lower()
        key, shown = duration(_EVERY[low], "second") if low in _EVERY else duration(_EVERY_MONTHS[low], "month")
        found.append((key, _every(shown)))
    return found


def _every(shown: str) -> str:
    return "Every " + (shown[2:] if shown.startswith("1 ") else shown)


def _money(m: re.Match[str]) -> Found:
    if m[4]:
        amount, sign = _number(m[4]), _SIGN[m[5].lower()]
    else:
        amount, sign = _number(m[2]) * _SCALE[(m[3] or "").lower()], m[1]
    return f"{sign}{amount:g}", f"{sign}{_shown(amount)}"


def _date(m: re.Match[str]) -> Found:
    if m[1]:
        year, month, day = m[1].split("-")
        name = _MONTH_NAMES[(int(month) - 1) % 12]
        return m[1], f"{int(day)} {name} {year}"
    day = m[2] or m[4] or ""
    shown = f"{day} {m[3]} {m[5]}".strip()
    month_number = _MONTH_NAMES.index(m[3]) + 1
    return (f"{m[5]}-{month_number:02d}-{int(day):02d}" if day else f"{m[5]}-{month_number:02d}"), shown


def _counts(noun: str, text: str) -> list[Found]:
    if not noun:
        return []
    found = []
    wanted = stem(noun)
    for m in re.finditer(rf"\b{_N}\b", text, re.I):
        after = words(text[m.end() : m.end() + 60])[:4]
        before = words(text[max(0, m.start() - 50) : m.start()])[-4:]
        gap = text[m.end() : m.end() + 2]
        if gap.startswith("%") or (gap[:1] in ".:" and gap[1:2].isdigit()):
            continue
        if any(stem(w) == wanted for w in after) or (
            any(stem(w) == wanted for w in before) and not _DURATION.match(text, m.start())
        ):
            n = _number(m[1])
            found.append((f"#{n:g}", f"{_shown(n)} {noun}"))
    return found


def _names(question: Question, text: str) -> list[Found]:
    asked = {stem(w) for w in words(question.text)}
    found = []
    for m in _NAME.finditer(text):
        parts = m[0].split()
        if m.start() == 0 or text[: m.start()].rstrip()[-1:] in '.!?"“(':
            while parts and (parts[0].lower() in STOP or (len(parts) == 1 and not _goes_on_as_name(text, m.end()))):
                parts.pop(0)
        while parts and parts[0].lower() in STOP:
            parts.pop(0)
        name = " ".join(parts)
        if name and not all(stem(w) in asked for w in words(name)):
            found.append((name.casefold(), name))
    return found


def _goes_on_as_name(text: str, end: int) -> bool:
    """Whether a capital at the beginning of a sentence is a name's: a verb follows it, or a comma with one behind."""
    follows = words(text[end : end + 40])[:1]
    return bool(follows) and follows[0] in _AFTER_A_NAME
