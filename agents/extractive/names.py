"""Names in a sentence that may answer who or where; nothing rather than a guess.

Who did it stands before the word that the question asks about (or one of the same meaning), behind "by", or beside "is"
and "was"; where stands behind a preposition of place. A month is no person.
"""

import re
from dataclasses import dataclass

from agents.extractive.figures import CALENDAR
from agents.extractive.nearness import kin
from agents.retrieval.corpus import STOP, stem, word_set, words

_WORD = r"[A-Z][\w'’&.-]*\w|[A-Z]\.?"
_NAME = re.compile(rf"(?:{_WORD})(?:\s+(?:(?:of|de|del|van|von|der|da|al|bin|&)\s+)*(?:the\s+)?(?:{_WORD}))*")
_PLACE = word_set("in at near on outside inside beside between under behind")
_NO_AGENT = _PLACE | word_set(
    "to from through off across over around of for with than since until before after during against about as into like"
)
_IS = word_set("is was were are became remains being been named called")
_TIMES = word_set("end beginning start middle time year month week day summer winter spring autumn age way hundreds")
_PASSIVE = re.compile(r"\s+by\s+((?:the|a|an)\s+)((?:[a-z][\w-]*\s*){1,4})")
_NP_END = word_set(
    """in at on with from after before during between and or which that who whose when while as under using for to
    was were is are had has by into over near until since because but then"""
)
_AFTER_A_NAME = word_set(
    """is was has had became serves served approves approved owns owned signs signed wrote founded invented leads led
    decides decided runs ran remains holds held built designed opened discovered made won and"""
)
REACH = 8
"""Words between a name and the word asked about."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name, and where it stands."""

    text: str
    start: int
    end: int
    weight: float
    """0 to 1: how surely it plays the part that is asked for."""


def find(asks: str, key: str, asked: frozenset[str], text: str) -> list[Name]:
    """Names that may answer; `asks`: who, part, where or what; `key`: the stem of what was done; `asked`: all stems."""
    found = others(asked, text)
    if asks == "where":
        return [n for n in found if _before(text, n.start)[-1:] and _before(text, n.start)[-1] in _PLACE]
    if asks not in ("who", "part"):
        return found
    spots = [m for m in re.finditer(r"[^\W_]+", text) if kin(stem(m[0].lower())) == key]
    by_role = [
        Name(n.text, n.start, n.end, w)
        for n in found
        if (w := max((_role(asks, text, n, m) for m in spots), default=0.0))
    ]
    return by_role or [n for m in spots for n in _nameless(text, m, asked)]


def _role(asks: str, text: str, n: Name, key: re.Match[str]) -> float:
    """How surely a name is that of who did what `key` says."""
    if n.start < key.end():
        between = text[n.end : key.start()]
        if re.search(r"[;:]", between) or len(words(between)) > REACH:
            return 0.0
        last = _before(text, n.start)[-1:]
        if last and last[0] in _NO_AGENT:
            return 0.0
        passive = re.match(r"\W*(?:was|were|is|are|been|being)\W+(?:\w+ly\W+)?$", between)
        if passive and re.match(r"\W+by\b|\W+(?:in|on|at)\b|\W*[.;]?$", text[key.end() :]):
            return 0.0  # it was done to the name
        return 1.0 if len(words(between)) <= 3 or re.fullmatch(r"\s*,[^,]*,\s*", between) else 0.6
    between = text[key.end() : n.start]
    if asks == "part" and not between.strip():
        return 1.0  # the architect Ada Lovelace
    inside = words(between)
    if re.search(r"[;:]", between) or len(inside) > REACH:
        return 0.0
    if inside and inside[-1] == "by":
        return 1.0
    if inside and (inside[-1] in _IS or (len(inside) <= 3 and inside[-1] in ("the", "a") and inside[-2:-1] == ("by",))):
        return 1.0
    if "by" in inside and not set(inside[inside.index("by") :]) & _NO_AGENT and "and" not in inside:
        return 0.7
    if inside and inside[-1] in _NO_AGENT | {"the", "a", "an", "and"}:
        return 0.0
    return 0.7 if re.fullmatch(r"\s*[,:]\s*", between) else 0.0


def _nameless(text: str, key: re.Match[str], asked: frozenset[str]) -> list[Name]:
    """`by the city council`, behind the verb."""
    m = _PASSIVE.match(text, key.end())
    if m is None:
        return []
    taken: list[str] = []
    for word in m[2].split():
        if word in _NP_END:
            break
        taken.append(word)
    if taken[-1:] == ["of"]:
        taken.pop()
    if not taken or taken[0] in _TIMES or taken[-1] in _TIMES or all(stem(w) in asked for w in taken):
        return []
    return [Name(m[1].capitalize() + " ".join(taken), m.start(1), m.start(2) + len(" ".join(taken)), 0.8)]


def others(asked: frozenset[str], text: str) -> list[Name]:
    """Names in a text that are not made of words of the question."""
    found = []
    for m in _NAME.finditer(text):
        parts = m[0].split()
        begins = m.start() == 0 or text[: m.start()].rstrip()[-1:] in '.!?"“('
        if begins:
            while parts and (parts[0].lower() in STOP or (len(parts) == 1 and not _goes_on_as_name(text, m.end()))):
                parts.pop(0)
        while parts and (parts[0].lower() in STOP or parts[0].lower().strip(".") in CALENDAR):
            parts.pop(0)
        while parts and parts[-1].lower().strip(".") in CALENDAR:
            parts.pop()
        name = re.sub(r"['’]s$", "", " ".join(parts).strip(" .'’-"))
        if name and not all(stem(w) in asked for w in words(name)):
            start = text.index(name, m.start())
            found.append(Name(name, start, start + len(name), 1.0))
    return found


def _before(text: str, start: int) -> tuple[str, ...]:
    """The words before a place, an article left out, back to a comma."""
    found = words(re.split(r"[,;:(]", text[max(0, start - 40) : start])[-1])
    return tuple(w for w in found if w not in ("the", "a", "an"))


def _goes_on_as_name(text: str, end: int) -> bool:
    """Whether a capital at the beginning of a sentence is a name's: a verb follows it, or a comma with one behind."""
    follows = words(text[end : end + 40])[:1]
    return bool(follows) and (follows[0] in _AFTER_A_NAME or (len(follows[0]) > 4 and follows[0].endswith("ed")))
