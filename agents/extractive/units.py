"""Numbers as they are written, and the units that the extractive model can convert."""

_SMALL = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_SCALES = {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_SCALE = "|".join(_SCALES)
_ONES = "|".join(sorted(_SMALL, key=len, reverse=True))
NUMBER = (
    rf"((?:\d[\d,]*(?:\.\d+)?|(?:{'|'.join(_TENS)})(?:[\s-](?:{_ONES}))?|{_ONES}|(?=(?:{_SCALE})\b))"
    rf"(?:\s?(?:{_SCALE})\b)?)"
)
"""One group; for `number`."""

_SECONDS = {
    "millisecond": 0.001, "ms": 0.001, "second": 1, "sec": 1, "s": 1, "minute": 60, "min": 60, "hour": 3600, "h": 3600,
    "day": 86_400, "night": 86_400, "week": 604_800,
}  # fmt: skip
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "centurie": 1200}
DURATION_UNIT = (
    r"(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|hours?|h|days?|nights?|weeks?|months?|quarters?|years?|decades?|"
    r"century|centuries)"
)


def _unit(size: float, name: str, *written: str) -> dict[str, tuple[float, str]]:
    return {w: (size, name) for w in (name, name + "s", *written)}


UNITS: dict[str, dict[str, tuple[float, str]]] = {
    "length": {
        **_unit(1000, "kilometre", "km", "kilometer", "kilometers"), **_unit(1, "metre", "m", "meter", "meters"),
        **_unit(0.01, "centimetre", "cm", "centimeter", "centimeters"),
        **_unit(0.001, "millimetre", "mm", "millimeter", "millimeters"),
        **_unit(1609.344, "mile", "mi"), **_unit(1852, "nautical mile"), **_unit(0.3048, "foot", "feet", "ft"),
        **_unit(0.9144, "yard"), **_unit(0.0254, "inch", "inches"),
    },
    "mass": {
        **_unit(1000, "tonne", "ton", "tons"), **_unit(1, "kilogram", "kg", "kilo", "kilos"),
        **_unit(0.001, "gram", "g"), **_unit(0.45359237, "pound", "lb", "lbs"),
    },
    "speed": {
        **_unit(1 / 3.6, "km/h", "kph", "kilometres per hour", "kilometers per hour", "kilometres an hour"),
        **_unit(0.44704, "mph", "miles per hour", "miles an hour"),
        **_unit(1.0, "m/s", "metres per second", "meters per second"), **_unit(1852 / 3600, "knot"),
    },
    "temperature": {
        **_unit(1.0, "°C", "°c", "degrees celsius", "degrees"), **_unit(1.0, "°F", "°f", "degrees fahrenheit"),
    },
}  # fmt: skip
"""Kind -> unit as written -> (how many base units, its name)."""
MEASURES = "|".join(sorted((u.replace(" ", r"\s") for units in UNITS.values() for u in units), key=len, reverse=True))


def number(text: str) -> float:
    """The value of what NUMBER matches: 1,500; twenty-five; 3.2 million; hundred."""
    total = 1.0
    low = text.lower().strip()
    for name, size in _SCALES.items():
        if low.endswith(name):
            low, total = low[: -len(name)].strip(), size
            break
    if not low:
        return total
    if low[0].isdigit():
        return total * float(low.replace(",", ""))
    return total * sum(_SMALL.get(w, 0) + _TENS.get(w, 0) for w in low.replace("-", " ").split())


def shown(n: float) -> str:
    """A number as an answer writes it."""
    return f"{n:,.0f}" if n == int(n) else f"{n:,.10g}"


def counted(n: float, unit: str) -> str:
    """`1 foot`, `3 feet`, `2 days`."""
    many = {"foot": "feet", "inch": "inches"}.get(unit, unit + "s")
    return f"{shown(n)} {unit if n == 1 else many}"


def singular(word: str) -> str:
    """A noun without its plural ending, as far as the ending tells."""
    irregular = {"people": "person", "men": "man", "women": "woman", "children": "child", "feet": "foot"}
    if word in irregular:
        return irregular[word]
    plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if plural else word


def duration(n: float, unit: str) -> tuple[str, float, str]:
    """(kind, value, text) of a length of time, the same for 14 days and two weeks, 12 months and a year."""
    unit = unit.lower()
    unit = unit if unit in ("s", "ms") else unit.rstrip("s")
    if unit in _MONTHS:
        months = n * _MONTHS[unit]
        years = months / 12
        text = counted(years, "year") if months and years == int(years) else counted(months, "month")
        return "months", months, text
    seconds = n * _SECONDS[unit]
    for name, size in (("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count = seconds / size
        if count and count == int(count) and not (name == "week" and count > 8):
            return "seconds", seconds, counted(count, name)
    return "seconds", seconds, counted(seconds * 1000, "millisecond") if seconds < 1 else counted(seconds, "second")
