"""Strategies: how a member of a panel works on a question, beside what it is asked.

A strategy is a short Markdown file, and its name in the house is that of the file without the ending:

    # base rates

    Begins with how such things usually turn out.

    ## Styles

    collaborative

    ## Blind round

    Instructions for the round in which everybody answers alone.

    ## Later rounds

    Instructions for the rounds in which everybody has read the others.

`Styles` may be missing: then only the mixed style deals it. The files beside this module ship.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, get_args

import msgspec

from parley.schemas.wire import InvalidValue, chars, few, items, one_line

Style = Literal["adversarial", "collaborative"]
STYLES: tuple[Style, ...] = get_args(Style)
MAX_FILE = 4_000
"""Bytes of a file."""
MIXED, NONE = "mixed", "none"
"""The styles of all strategies, and of none."""
MAX_OWN = 20
"""Strategies of a session beside those that ship."""
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_NAME, _ABOUT, _TEXT = 40, 160, 600
"""Characters of a name, of the sentence, and of the instructions for one kind of round."""
_SECTIONS = {"styles": "styles", "blind round": "blind", "later rounds": "later"}
_HEADING = re.compile(r"^## +(.*?)\s*$", re.M)


class Strategy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a seat works."""

    id: Annotated[str, chars(40, least=1)]
    """`base-rates`: what it is asked for by."""
    name: Annotated[str, chars(_NAME, least=1)]
    """`base rates`: what a result calls it."""
    about: Annotated[str, chars(_ABOUT, least=1)]
    """One sentence for people."""
    blind: Annotated[str, chars(_TEXT, least=1)]
    """What the seat is told in the blind round."""
    later: Annotated[str, chars(_TEXT, least=1)]
    """What it is told from then on."""
    styles: Annotated[tuple[Style, ...], items(len(STYLES))] = ()
    """The styles beside the mixed one that deal it."""

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise InvalidValue("strategy", self.id, "a name has small letters, digits and -, at most 40")
        if self.id in (*STYLES, MIXED, NONE):
            raise InvalidValue("strategy", self.id, "a style has this name")
        few(f"strategy {self.id}: styles", self.styles, len(STYLES))
        one_line(f"strategy {self.id}: name", self.name, _NAME)
        one_line(f"strategy {self.id}: sentence", self.about, _ABOUT)
        one_line(f"strategy {self.id}: blind round", self.blind, _TEXT)
        one_line(f"strategy {self.id}: later rounds", self.later, _TEXT)


def parse(name: str, text: str) -> Strategy:
    """The strategy that a file of this name, without its ending, holds. Raises InvalidValue: names the strategy, and
    the part that is missing, unknown or too long."""
    head, *rest = _HEADING.split(text.strip())
    title, _, about = head.strip().partition("\n")
    if not title.startswith("# "):
        raise InvalidValue(f"strategy {name}", title, "it must begin with a heading, # and its name")
    parts = {"styles": "", "blind": "", "later": ""}
    for heading, body in zip(rest[::2], rest[1::2], strict=True):
        part = _SECTIONS.get(heading.lower())
        if part is None:
            raise InvalidValue(f"strategy {name}", heading, f"sections are {', '.join(_SECTIONS)}")
        if parts[part]:
            raise InvalidValue(f"strategy {name}", heading, "the section stands there twice")
        parts[part] = " ".join(body.split())
    styles = tuple(dict.fromkeys(re.split(r"[\s,]+", parts["styles"]))) if parts["styles"] else ()
    for style in styles:
        if style not in STYLES:
            raise InvalidValue(f"strategy {name}: styles", style, f"styles are {', '.join(STYLES)}")
    return Strategy(
        id=name,
        name=title.removeprefix("#").strip(),
        about=" ".join(about.split()),
        styles=tuple(s for s in STYLES if s in styles),
        blind=parts["blind"],
        later=parts["later"],
    )


@lru_cache(maxsize=1)
def shipped() -> dict[str, Strategy]:
    """Those that ship, by id, in the order of their ids."""
    files = sorted(Path(__file__).parent.glob("*.md"))
    return {path.stem: parse(path.stem, path.read_text(encoding="utf-8")) for path in files}
