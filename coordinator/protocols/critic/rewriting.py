"""critic: what a rewritten question has lost of the one that was asked: words of content, names, numbers, denials,
limits, and what stands on which side of a comparison.

Words that ask, join or press towards an answer count nothing. Words are compared by their first letters, so that
`backup` and `backups`, `fill` and `filled` are one; a name, a limit (`only`, `at least`, `before`) and a number with
its sign are compared whole. Scripts that set no spaces between words are compared by their numbers alone: their words
cannot be told apart here.
"""

import re

import msgspec

PREFIX = 5
"""Letters of a word that count."""
_ENDING = 3
"""Letters by which a short word and another that begins with it may differ."""
MOST = 20
"""Words that are named."""
_COMPARED = 5
"""Comparisons of a question that are looked at."""
_NUMBER = re.compile(r"(?:(?<![\w)\]])[-−–+])?\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NAME = re.compile(r"(?<![.?!:])(?<=\s)[A-ZÀ-ÖØ-Þ][\w#+]*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]")
_TAG = re.compile(r"\b\w+n['’]t (?:it|you|they|we|that)\b", re.I)
"""`isn't it`, `don't you`: they press, and deny nothing."""
_DENIES = frozenset(
    _WORD.findall(
        """no not never none nobody nothing neither nor without cannot nicht kein keine keinen nie niemals ohne
        pas jamais sans aucun aucune nunca sin ningún nessuno mai senza"""
    )
)
_COMPARES = frozenset(
    _WORD.findall("than before after under over above below versus vs als vor nach über unter que avant après antes")
)
"""What stands on which side of these counts."""
_LIMITS = _COMPARES - {"than", "versus", "vs", "als", "vor", "nach", "über", "unter", "que"} | frozenset(
    _WORD.findall(
        """only all every each always both least most more less fewer exactly unless except within
        nur alle jede jeder jedes immer mindestens höchstens mehr weniger genau außer
        seulement tous toutes toujours moins sauf sólo solo todos todas siempre menos más"""
    )
)
_EMPTY = frozenset(
    _WORD.findall(
        """which what who whom whose when where why how whether is are was were be been being am do does did has have
        had should would could can may might must will shall the an of to in on at for with by from as than that this
        these those it its there their them they he she we you your our my me us and or but if so such then about into
        any some very much many just also out up
        was wer wie wo wann warum wieso welche welcher welches welchen ist sind war der die das den dem des ein eine und
        oder soll sollte kann für mit von zu im auf
        que quel quelle quels quelles quoi qui comment pourquoi où quand est sont le la les un une des du de et ou
        qué cuál cuáles quién cómo dónde cuándo es son el los las
        surely obvious obviously evident evidently clearly course honestly really simply please frankly undoubtedly
        certainly everybody everyone anybody knows know agrees agree think believe true"""
    )
)


class QuestionDiff(msgspec.Struct, frozen=True):
    """What differs between a question as it was asked and as it was rewritten."""

    left_out: tuple[str, ...]
    added: tuple[str, ...]
    another: bool
    """Whether nothing of what it is about is left."""


def compare_rewriting(asked: str, rewritten: str) -> QuestionDiff:
    """What a rewriting left out, and the numbers, denials and limits that it added."""
    before, after = _content(asked), _content(rewritten)
    figures, new_figures = (_NUMBER.findall(re.sub("[−–]", "-", text)) for text in (asked, rewritten))
    limits, new_limits = _limits(asked), _limits(rewritten)
    names = {n.casefold() for n in _NAME.findall(_TAG.sub("", asked))}
    words_after = {w.casefold() for w in re.findall(r"[\w#+]+", rewritten)}
    lost = [
        word
        for key, word in before.items()
        if (word.casefold() not in words_after if word.casefold() in names else not _is_in(key, word, after))
    ]
    lost += [f for f in dict.fromkeys((*figures, *limits)) if f not in (*new_figures, *new_limits)]
    lost += _turned(asked, rewritten, before, after)
    denied, denies = _denials(asked), _denials(rewritten)
    if denied and not denies:
        lost.append(denied[0])
    added = [f for f in dict.fromkeys((*new_figures, *new_limits)) if f not in (*figures, *limits)]
    if denies and not denied:
        added.append(denies[0])
    shared = any(_is_in(key, word, after) for key, word in before.items()) or set(figures) & set(new_figures)
    return QuestionDiff(tuple(lost[:MOST]), tuple(added[:MOST]), bool(before or figures) and not shared)


def _is_in(key: str, word: str, words: dict[str, str]) -> bool:
    """Whether a word, or another form of it, is among the words of content."""
    if key in words:
        return True
    forms = (sorted((word.casefold(), other.casefold()), key=len) for other in words.values())
    return any(len(a) >= _ENDING and b.startswith(a) and len(b) - len(a) <= _ENDING for a, b in forms)


def _content(text: str) -> dict[str, str]:
    """The first letters of each word of content -> the word."""
    found: dict[str, str] = {}
    for match in _WORD.finditer(_TAG.sub("", text)):
        word = match[0]
        low = word.casefold()
        if (
            low in _EMPTY
            or low in _DENIES
            or low in _LIMITS
            or low in _COMPARES
            or low.endswith(("n't", "n’t"))
            or _UNSPACED.search(word)
        ):
            continue
        if len(word) > 1 or word.isupper():
            found.setdefault(low[:PREFIX], word)
    return found


def _denials(text: str) -> list[str]:
    found = (match[0].casefold() for match in _WORD.finditer(_TAG.sub("", text)))
    return [w for w in found if w in _DENIES or w.endswith(("n't", "n’t"))]


def _limits(text: str) -> list[str]:
    return [w for match in _WORD.finditer(text) if (w := match[0].casefold()) in _LIMITS]


def _turned(asked: str, rewritten: str, before: dict[str, str], after: dict[str, str]) -> list[str]:
    """`the order of A and B`, where two names stand the other way round, or two words on the other sides of what
    compares them."""
    named = {n.casefold()[:PREFIX] for n in _NAME.findall(asked)}
    order, new_order = ([key for key in words if key in named & {*before} & {*after}] for words in (before, after))
    turned = next(((a, b) for a, b in zip(order, new_order, strict=True) if a != b), None)
    for left, right in _sides(asked):
        for new_left, new_right in _sides(rewritten):
            pair = (next((key for key in left if key in new_right), ""), next((k for k in right if k in new_left), ""))
            turned = turned or (pair if all(pair) else None)
    return [f"the order of {before[turned[0]]} and {before[turned[1]]}"] if turned else []


def _sides(text: str) -> list[tuple[list[str], list[str]]]:
    """The words of content that stand only before and only behind each word that compares, by their first letters."""
    found = [match[0].casefold() for match in _WORD.finditer(_TAG.sub("", text))]
    content = _content(text)
    keys = [w[:PREFIX] if w[:PREFIX] in content and w not in _LIMITS | _COMPARES | _EMPTY else "" for w in found]
    parted = [(set(keys[:at]), set(keys[at:])) for at, word in enumerate(found) if word in _COMPARES][:_COMPARED]
    return [([k for k in content if k in a - b], [k for k in content if k in b - a]) for a, b in parted]
