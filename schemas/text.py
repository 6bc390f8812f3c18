"""Text compared: what counts as the same answer, and where a quotation stands: one rule on both sides of the bus."""

import re
import unicodedata
from functools import lru_cache

_ARTICLES = frozenset({"a", "an", "the"})
_UNITS = {
    "percent": "%", "per cent": "%", "milliseconds": "ms", "millisecond": "ms", "msec": "ms", "seconds": "s",
    "second": "s", "secs": "s", "sec": "s", "minutes": "min", "minute": "min", "mins": "min", "hours": "h", "hour": "h",
    "kilobytes": "kb", "kilobyte": "kb", "megabytes": "mb", "megabyte": "mb", "gigabytes": "gb", "gigabyte": "gb",
    "kilometres": "km", "kilometers": "km", "metres": "m", "meters": "m", "dollars": "$", "euros": "€",
}  # fmt: skip
_UNIT = re.compile(r"(?<=\d) ?(" + "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True)) + r")\b")
_GROUPED = re.compile(r"\b\d{1,3}(?:,\d{3})+\b")
_ZERO_DECIMALS = re.compile(r"(?<![\d.])(\d+)\.0+(?![\d.])")
_TOKEN = re.compile(r"[-+]?\d+(?:\.\d+)?|[^\W\d_]+|[%$€]")
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
"""Inside a word or a range: no minus sign."""
_SPACE = re.compile(r"\s+")


def squeeze(text: str) -> str:
    """White space runs to one blank, none at the ends: how a quotation is compared with its document."""
    return _SPACE.sub(" ", text).strip()


def tokens(text: str) -> tuple[str, ...]:
    """Words, numbers and units of a text, case folded, in order; articles and punctuation left out.

    Numbers lose group commas and decimals that are all zero (`1,500.0` is `1500`; `1.10` may be a version and stays),
    common units their long names (`20 percent` is `20 %`). Nothing is stemmed and no word of meaning dropped: `not`
    stays.
    """
    t = squeeze(unicodedata.normalize("NFKC", text).casefold().replace("−", "-"))
    t = _GROUPED.sub(lambda m: m[0].replace(",", ""), t)
    t = _ZERO_DECIMALS.sub(r"\1", t)
    t = _UNIT.sub(lambda m: " " + _UNITS[m[1]], t)
    return tuple(w for w in _TOKEN.findall(_HYPHEN.sub(" ", t)) if w not in _ARTICLES)


@lru_cache(maxsize=1024)
def normalise(answer: str) -> str:
    """The key under which answers are compared, counted and adopted: equal keys, same answer. Empty for an empty
    one."""
    return " ".join(tokens(answer)) or squeeze(answer).casefold()


def same(first: str, second: str) -> bool:
    """Whether two answers are the same answer."""
    return normalise(first) == normalise(second)


def stands_in(quote: str, text: str) -> bool:
    """Whether a quotation stands in a text word for word, white space aside. An empty one stands nowhere."""
    wanted = squeeze(quote)
    return bool(wanted) and (wanted in text or wanted in squeeze(text))
