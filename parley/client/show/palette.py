"""The one table of colours and of names: page, pictures, terminal and exports take theirs from here."""

from typing import NamedTuple

from parley.schemas.packages import shortened


class Colour(NamedTuple):
    """One colour: on light and on dark paper, and on a terminal."""

    light: str
    dark: str
    terminal: str


SIDES = {
    "one": Colour("#1f5fa8", "#7fb4f0", "bright_blue"),
    "two": Colour("#b3261e", "#ff9d91", "bright_red"),
    "bench": Colour("#8a6d00", "#e3c44f", "yellow"),
}
"""Of those who are for something, those who are against it, and whoever judges both."""
SERIES = (
    Colour("#2a62c8", "#7aa7ff", "bright_blue"),
    Colour("#a84c17", "#f0a06a", "bright_red"),
    Colour("#1f7348", "#67c79a", "green"),
    Colour("#7d42b8", "#c39bf0", "magenta"),
    Colour("#0e7180", "#5cc4d4", "cyan"),
    Colour("#a8326b", "#f08ab9", "bright_magenta"),
    Colour("#6b6412", "#cfc464", "yellow"),
    Colour("#4f5b66", "#a9b4bf", "white"),
)
"""Of seats and of signals, by their place."""
STYLES = {
    "heading": "bold", "seat": "cyan", "score": "yellow", "quiet": "dim", "stop": "bold green", "answer": "bold",
    "warning": "bold magenta", **{side: f"bold {colour.terminal}" for side, colour in SIDES.items()},
}  # fmt: skip
"""Style of a line -> how a terminal shows it."""
ACRONYMS = frozenset({"ai", "api", "ci", "db", "it", "ml", "qa", "sre", "ui", "ux"})


def colour_of(side: str, place: int) -> Colour:
    """Of a side, or of what stands at this place where there is none."""
    return SIDES.get(side) or SERIES[place % len(SERIES)]


def css() -> str:
    """The colours as variables of a style sheet: `--one`, `--s1`, and so on."""
    named = {**SIDES, **{f"s{n}": colour for n, colour in enumerate(SERIES, 1)}}
    light = " ".join(f"--{name}: {colour.light};" for name, colour in named.items())
    dark = " ".join(f"--{name}: {colour.dark};" for name, colour in named.items())
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def seat_name(seat: str) -> str:
    """`panelist_2` -> `Panelist 2`, `security-architect` -> `Security Architect`, `qa-engineer` -> `QA Engineer`
    (parley/web/static/js/words.js has the same rule). Of a package's seat the package's name is left out."""
    seat = shortened(seat)
    expert = "-" in seat or seat in ACRONYMS
    words = seat.replace("_", " ").replace("-", " ").split()
    if not expert:
        return " ".join(words)[:1].upper() + " ".join(words)[1:]
    return " ".join(w.upper() if w in ACRONYMS else w[:1].upper() + w[1:] for w in words)


def seat_names(seats: object) -> str:
    """`Panelist 1, Panelist 2`, of a list of seats."""
    return ", ".join(seat_name(str(seat)) for seat in seats) if isinstance(seats, list | tuple) else ""
