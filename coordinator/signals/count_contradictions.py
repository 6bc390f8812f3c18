"""What a text says that was counted, against what was counted: who won, with which figures, who was best, whether all
were of one mind.

The count stands before every text that a model writes, so this need not find everything. Only what is said plainly
counts: a sentence that denies, supposes, reports or is about a part of a debate claims nothing. The usual words of
English, German and French are known.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

import msgspec

DRAW = "draw"


class Contender(msgspec.Struct, frozen=True, kw_only=True):
    """One that may win."""

    names: tuple[str, ...]
    """What a text may call it; the first is what we call it."""
    figures: tuple[float, ...] = ()
    """What may be told of it."""


class CountedResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted."""

    sides: Mapping[str, Contender]
    winner: str = ""
    """A side, `draw`, or empty: nobody."""
    figures: tuple[float, ...] = ()
    """What may be told beside what is of a side: the margin."""
    best: tuple[str, ...] = ()
    """The best seats."""
    voters: tuple[str, ...] = ()
    """Who decided, as a text may call them: begins of words."""
    unanimous: bool | None = None
    """Whether they were of one mind; None: nothing was counted."""


_QUOTED = re.compile(r"“[^”]*”|„[^“”]*[“”]|«[^»]*»|\"[^\"]*\"")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_HEDGES = re.compile(
    r"\b(?:would|could|might|may|should|if|unless|without|whether|before|almost|nearly|perhaps|probably|deserved? to|"
    r"wanted|tried|hoped|arguing|argued?|claim(?:s|ed)|says|said|held|believed?|thought|expected|wäre|hätten?|würden?|"
    r"wenn|falls|ohne|ob|fast|sagte?|aurait|serait|sans|presque|si)\b"
)
_DENIES = re.compile(
    r"\b(?:not|never|nobody|neither|nor|no|none|cannot|nicht|nie|niemand|keine?|weder|ne|pas|jamais|aucune?)\b|n't\b"
)
_PART = re.compile(
    r"\b(?:clash|exchanges?|questions?|rounds?|stages?|cross-?examinations?|free debate|arguments?|issues?|parts?|toss|"
    r"openings?|closings?|speech(?:es)?|costs?|evidence|style|runde|frage|manche|overtime)\b"
)
_ARTICLES = r"(?:(?:the|die|der|den|la|le|l'|les|team|side|clearly|a)\s*)*"
_VERBS = (
    r"(?:won|wins|prevail(?:s|ed)|carried the day|victorious|(?:took|takes) first place|"
    r"(?:is|was) (?:the |der |le )?(?:winners?|sieger|vainqueur)|beats?|(?<!been )(?<!was )defeat(?:s|ed)|"
    r"finish(?:es|ed) ahead|gewinnt|gewann|gewonnen|siegt|siegte|gagné|gagne|l'emporte|emporte|remporte|remporté|"
    r"battu)\b"
)
_WON = re.compile(rf"(?: team| side)?(?:,[^,]{{1,60}},)?(?:[ ,]+[\w']+){{0,3}}?[ ,]+{_VERBS}")
"""A side, a few words, and a word that says that it won."""
_OTHER_OBJECT = re.compile(
    r"\s+(?:over|back|our|it|every|both|some|more|little|nothing|points|support|hearts?|by repeating|marks?|"
    r"the (?!(?:whole )?(?:debate|day|match)))\b"
)
_LOST = re.compile(
    r"(?:[ ,]+[\w']+){0,2}?[ ,]+(?:lost|loses|verlor|verloren|perdu|(?:was|been) (?:clearly )?(?:beaten|defeated))\b"
    r"(?=\s*(?:$|[.!,;]|by a|(?:the|this) debate|to |against |gegen ))"
)
_PRIZE = (
    r"(?:(?:winner|winning (?:team|side)|sieger|gewinner|vainqueur)(?:\s*(?:is|was|ist|est|:))*|"
    r"(?:victory|win|sieg|victoire|debate|this one)\s+(?:goes|went|belongs|geht|gehört|revient)\s+(?:to|an|à)|"
    r"(?:won|gewonnen|remporté) (?:by|von|par)|(?:verdict|decision) is(?: for)?|rules for|gewonnen hat)"
)
_DRAWN = re.compile(
    r"(?:\b(?:end(?:s|ed)? in|is|was|endete|it's|c'est)\b\s*(?:clearly )?(?:a draw|a tie|drawn|tied|unentschieden|"
    r"match nul))|^match nul"
)
_NO_WINNER = re.compile(r"\b(?:nobody|no one|neither (?:side|team)|niemand) (?:has |hat )?(?:won|gewonnen)\b")
_NUMBER = r"\d{1,4}(?:[.,]\d{1,4})?"
_POINTS = r"(?:points?|punkten?|votes?|stimmen|voix)"
_PAIR = re.compile(rf"(?<![\w.,])({_NUMBER})\s*(?:to|zu|à|:|–|-)\s*({_NUMBER})(?![\w]|[.,]\d)(\s+{_POINTS}\b)?")
_RESULT = re.compile(rf"\b(?:scores?|scored|totals?|ended|final|result|ergebnis)\b|\b{_VERBS}")
_BY = re.compile(rf"\b(?:by|um|mit|avec)\s+(?:only |nur )?({_NUMBER})\s+{_POINTS}\b")
_HOLDS = r"(?:\s*(?:[:=(–-]|with|has|had|got|at|on|is|ahead|scored|received|ended|won|leads|finishes|hat|mit|avec))*\s*"
_OTHER_UNIT = re.compile(r"\b(?:words?|seconds|minutes?|marks?|percent|wörtern?|about|around|some|etwa)\b|%")
_SEAT = re.compile(r"\b[a-z]+_\d+\b")
_BEST = re.compile(r"(?<!'s )\bbest (?:debater|speaker)\b")
_ONE_MIND = re.compile(
    r"\bunanim\w*|\b(?:all|everyone|everybody|both|alle|tous) (?:\w+ ){0,3}?(?:agreed?|agrees|approved?|voted|einig|"
    r"stimmten zu|zugestimmt|d'accord)\b|\b(?:approved|accepted) by (?:all|both)\b|\b(?:no|without) (?:any )?dissent\b|"
    r"\b(?:nobody|no one) (?:dissented|objected|disagreed)\b|\beinstimmig\w*"
)
_NOT_ONE_MIND = re.compile(
    r"\b(?:not|never|nicht|pas|almost|nearly|fast)\b[^.;]{0,20}?\b(?:unanim\w*|all|every\w*|both|alle|tous)\b|n't\b"
)
_APPROVED = re.compile(r"\b(?:approv|agree|stimm|zugestimmt|approuv)")
_THEIR_WORDS = re.compile(r"\b(?:finding|comment|remark|suggestion|request|change|issue|objection)s?\b")
"""What those who decide may say: that all of it was accepted is not that all accepted."""
_NEAR = 40
"""Characters before a pair of figures in which a word says that it is the result."""


def contradiction(text: str, count: CountedResult) -> str:
    """The first thing that a text says otherwise than it was counted, in words; empty: nothing that is plain."""
    for sentence in _sentences(text):
        if _HEDGES.search(sentence):
            continue
        for told in (_told_winner, _told_figure, _told_best):
            if said := told(sentence, count):
                return said
    if count.unanimous is False and all_of_one_mind(text, count.voters):
        return f"it says that all {'of those who decided ' if count.voters else ''}were of one mind"
    return ""


def all_of_one_mind(text: str, voters: Iterable[str] = ()) -> bool:
    """Whether a text says plainly that all agreed. `voters`: begins of words of which its sentence must have one, as it
    is about other people elsewhere; none: any sentence counts."""
    begins = "|".join(map(re.escape, voters))
    return any(
        _ONE_MIND.search(s)
        and not _NOT_ONE_MIND.search(s)
        and not _HEDGES.search(_ONE_MIND.sub("", s))
        and (not begins or (re.search(rf"\b(?:{begins})", s) and not _THEIR_WORDS.search(s)))
        for s in _sentences(text)
    )


def share_told(text: str, voters: Iterable[str]) -> tuple[int, int] | None:
    """How many of how many a text says approved: the first that it tells. `voters`: begins of what they are called."""
    of = re.compile(rf"\b(\d{{1,3}}) (?:out of|of|von|sur) (?:the )?(\d{{1,3}}) (?:{'|'.join(map(re.escape, voters))})")
    for s in _sentences(text):
        m = of.search(s)
        if m and _APPROVED.search(s) and not any(x.search(s) for x in (_HEDGES, _DENIES, _THEIR_WORDS)):
            return int(m[1]), int(m[2])
    return None


def _sentences(text: str) -> Iterator[str]:
    """In small letters, without what is quoted at length."""
    flat = unicodedata.normalize("NFKC", text).replace("’", "'").lower()
    flat = _QUOTED.sub(lambda m: m[0][1:-1] if len(m[0].split()) <= 2 else "…", re.sub(r"[*`#]+|__+", "", flat))
    return (" ".join(s.split()) for s in _SENTENCE.split(flat) if s.strip())


def _names(count: CountedResult) -> tuple[str, dict[str, str]]:
    """A pattern of all names, and whose each is."""
    whose = {" ".join(name.lower().split()): key for key, side in count.sides.items() for name in side.names}
    longest_first = sorted(whose, key=len, reverse=True)
    return rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b", whose


def _told_winner(sentence: str, count: CountedResult) -> str:
    """Another winner than the one that was counted, or one where there is none."""
    if _PART.search(sentence):
        return ""
    if count.winner in count.sides and _NO_WINNER.search(sentence):
        return "it says that nobody won"
    if _DENIES.search(sentence):
        return ""
    if count.winner != DRAW and _DRAWN.search(sentence):
        return "it says that it was a draw"
    other = next((key for key in _winners(sentence, count) if key != count.winner), "")
    return f"it says that {count.sides[other].names[0]} won" if other else ""


def _winners(sentence: str, count: CountedResult) -> Iterator[str]:
    """Each side of which a sentence says that it won."""
    names, whose = _names(count)
    for m in re.finditer(rf"\b{_PRIZE}\s*{_ARTICLES}({names})", sentence):
        yield whose[m[1]]
    for m in re.finditer(names, sentence):
        rest = sentence[m.end() :]
        other = re.search(names, rest)  # what stands behind another side is said of that one
        here = rest[: other.start()] if other else rest
        if (won := _WON.match(here)) and not _OTHER_OBJECT.match(here[won.end() :]):
            yield whose[m[0]]
        elif _LOST.match(here):
            yield from (key for key in count.sides if key != whose[m[0]])


def _told_figure(sentence: str, count: CountedResult) -> str:
    """A result that was not counted: of a pair of figures, of a side, or the margin."""
    if any(word.search(sentence) for word in (_PART, _OTHER_UNIT, _DENIES)):
        return ""
    every = (*count.figures, *(x for side in count.sides.values() for x in side.figures))
    if not every:
        return ""
    for m in _PAIR.finditer(sentence):
        is_result = m[3] or _RESULT.search(sentence[max(0, m.start() - _NEAR) : m.start()])
        if is_result and not all(_is_one_of(x, every) for x in (m[1], m[2])):
            return f"it gives the result as {m[1]} to {m[2]}"
    for m in _BY.finditer(sentence):
        if not _is_one_of(m[1], every):
            return f"it says {m[0]}"
    names, whose = _names(count)
    for m in re.finditer(rf"({names}){_HOLDS}({_NUMBER})(?![\w]|[.,]\d)(\s+{_POINTS}\b)?", sentence):
        plainly = m[3] or re.search(r"\b(?:scores?|totals?|result)\b", sentence)
        if plainly and not _is_one_of(m[2], (*count.sides[whose[m[1]]].figures, *count.figures)):
            return f"it gives {count.sides[whose[m[1]]].names[0]} {m[2]}"
    return ""


def _is_one_of(told: str, figures: Iterable[float]) -> bool:
    """Whether a number is one of some figures, rounded or cut off to as many places as it has."""
    _, _, places = told.replace(",", ".").partition(".")
    number, step = float(told.replace(",", ".")), 10.0 ** -len(places)
    return any(abs(number - abs(figure)) < step - 1e-9 for figure in figures)


def _told_best(sentence: str, count: CountedResult) -> str:
    """Another best debater."""
    if not count.best or not _BEST.search(sentence) or _DENIES.search(sentence):
        return ""
    named = _SEAT.findall(sentence)
    return f"it says that {named[0]} was best" if named and not set(named) & set(count.best) else ""
