"""Text compared: which answers are the same by their words, and where a quotation stands: one rule on both sides of the
bus.

Two answers are the same by words only if nothing is lost in saying so. Whatever else is "the same" (other words,
another language, `20 percent` and `20 %`) is somebody's judgement, and is recorded as whose.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated

import msgspec

from parley.schemas.wire import Limited, chars

_SPACE = re.compile(r"\s+")
_LABEL = re.compile(r"(?:final\s+)?answer\s*:\s*(?=\S)", re.IGNORECASE)
_QUOTED = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "‚": "‘"}
_REFUSAL = re.compile(
    r"(?:i'm |i am )?(?:sorry|i apologi[sz]e)\b[^.]{0,40}\b(?:can't|cannot|unable|won't)\b|"
    r"i (?:can't|cannot|can not|won't|will not|am unable to|am not able to|'m unable to|must decline to) "
    r"(?:help|assist|answer|comply|provide|fulfil|do that|respond)\b|"
    r"(?:es tut mir leid, )?(?:aber )?ich kann (?:dabei|damit|darauf|das) nicht\b|"
    r"(?:je suis désolée?, mais )?je ne peux pas (?:vous aider|répondre|aider)\b"
)
_WHO = r"(?:model|member|panelist|post|seat|position|answer)s?(?: number| no\.?)?[ _#]*(?:\d+|[a-z])?"
_OTHERS = rf"(?:the )?{_WHO}|the others?|everybody|everyone|all|them|that|this|the above"
_POINTER = re.compile(
    rf"(?:the )?(?:same|as|see) (?:as )?(?:above|before|{_WHO})|as (?:above|before|stated|said)(?: above| before)?|"
    rf"(?:i )?(?:fully |entirely )?(?:agree|concur)(?: (?:with|to) (?:{_OTHERS}))?|"
    rf"ditto|idem|siehe oben|wie oben|voir ci-dessus|(?:what|like) {_WHO} said"
)
"""An answer as a whole that only points at another."""
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_ACKNOWLEDGING = frozenset(
    _FIRST_WORD.findall(
        """a acknowledged accepted add agree agreed agreement all also am an and answer argument arguments as be because
    before belief believe but can change changed changes comment correct did disagree do does done fail fails fair fine
    for good has have here hold holds i idem in is it its me mine moved moves my n no none not noted nothing of ok okay
    on one point post read really right s same say see seen since so stand stands stay stays still sure t thank thanks
    that the then there therefore these they think this those to too true unchanged understood unmoved valid view was
    we well what why with wrong yep yes you
    akzeptiert alles antwort bleibe bleibt danke das dem der dies es falsch gelesen genommen gut ich in ja kenntnis kein
    nein nicht nichts richtig so stimmt und unverändert verstanden einverstanden zur
    accord bien c ce cela compris d e est je l le lu merci ne noté non oui pas rien suis vrai vu
    acuerdo bien de entendido está estoy gracias leído no sí vale visto
    好 好的 是 是的 同意 不同意 明白 收到 はい いいえ 了解 同意します"""
    )
)
"""Words of which an acknowledgement is made, and nothing else."""
_TWO_WAYS = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:\.\d{3}|,\d{3})(?![.,]?\d)")
_ARTICLES = frozenset({"a", "an", "the"})
_WORD = re.compile(r"[-+]?\d+(?:\.\d+)?|[^\W\d_]+|[%$€]")
_DASHES = "-‐‑‒–—―−"
_SIGNS = ("'’‘‚‛′´`", '"“”„‟«»″')
"""Signs that stand for one another in quotations."""
_GAP = re.compile(r"\s*[\[(]?(?:…|\.\s?\.\s?\.)[\])]?\s*")
_MOST_LEFT_OUT = 400
"""Characters of a text that an ellipsis may stand for."""
_LEAST_BESIDE_GAP = 8
_TRIES = 50


def squeeze(text: str) -> str:
    """White space runs to one blank, none at the ends: how a quotation is compared with its document."""
    return _SPACE.sub(" ", text).strip()


def plain(answer: str) -> str:
    """An answer on one line, without a label before it ("Answer: X", "Final answer: X")."""
    return _LABEL.sub("", squeeze(answer), count=1) if _LABEL.match(squeeze(answer)) else squeeze(answer)


@lru_cache(maxsize=4096)
def answer_key(answer: str) -> str:
    """The key under which answers are compared, counted and adopted: equal keys, same answer.

    Unicode NFC; white space folded; a label, one pair of enclosing quotation marks and one final full stop removed; the
    case of the first character ignored if it begins a word of three letters or more whose others are small (`Yes` and
    `No` by name). Nothing else is dropped: signs, articles, combining marks, units, case, order and separators count.
    """
    text = plain(unicodedata.normalize("NFC", answer))
    bare = text.removesuffix(".")
    inner = bare[1:-1].strip()
    if len(bare) > 2 and _QUOTED.get(bare[0]) == bare[-1] and not {bare[0], bare[-1]} & set(inner):
        bare = inner if bare != text else inner.removesuffix(".")
    word = _FIRST_WORD.match(bare)
    if word and (word[0] in ("Yes", "No") or (len(word[0]) > 2 and word[0][1:].islower())):
        if bare[word.end() : word.end() + 1] and unicodedata.category(bare[word.end()]).startswith(("M", "N")):
            return bare  # the word goes on in a mark or a digit
        return bare[0].lower() + bare[1:]
    return bare


def same(first: str, second: str) -> bool:
    """Whether two answers are the same answer by their words."""
    return answer_key(first) == answer_key(second)


class ClosedList:
    """Names of which one is looked up: the same by its words, else the only one that differs in nothing but case."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names: dict[str, str] = {}
        self._folded: dict[str, list[str]] = {}
        for name in names:
            if self._names.setdefault(answer_key(name), name) is name:
                self._folded.setdefault(answer_key(name).casefold(), []).append(name)

    def find(self, name: str) -> str | None:
        """The name of the list that is meant; None: there is none, or case alone tells several apart.

        Examples
        --------
        >>> ClosedList(["5 mW", "5 MW"]).find("5 MW"), ClosedList(["5 mW", "5 MW"]).find("5 mw")
        ('5 MW', None)
        >>> ClosedList(["Zika"]).find("ZIKA")
        'Zika'
        """
        if (exact := self._names.get(answer_key(name))) is not None:
            return exact
        alike = self._folded.get(answer_key(name).casefold(), [])
        return alike[0] if len(alike) == 1 else None


def says_something(answer: str) -> bool:
    """Whether an answer has a letter or a digit."""
    return any(c.isalnum() for c in answer)


def gives_reason(text: str) -> bool:
    """Whether a text says more than that its writer has read something and does or does not agree.

    Examples
    --------
    >>> gives_reason("OK, I agree: noted."), gives_reason("It fails, and my belief stands.")
    (False, False)
    >>> gives_reason("The count was taken before the fever.")
    True
    """
    words = {word.casefold() for word in _FIRST_WORD.findall(text)}
    return bool(words - _ACKNOWLEDGING) and not names_none(text)


def names_none(answer: str) -> bool:
    """Whether an answer names none: signs alone, a refusal, or a word that it is somebody else's."""
    text = plain(answer).strip(" .!\"'“”*_").replace("’", "'").casefold()
    return not says_something(text) or bool(_REFUSAL.match(text) or _POINTER.fullmatch(text))


def two_ways(answer: str) -> tuple[str, ...]:
    """Numbers in an answer that some read with a decimal sign and others with a group sign: `1.000` is 1 or 1000."""
    return tuple(dict.fromkeys(_TWO_WAYS.findall(answer)))


def tokens(text: str) -> tuple[str, ...]:
    """Words, numbers and units of a text, case folded, in order; articles and signs left out.

    For search and for how *near* two texts are. It loses what makes two answers different, so it never says that they
    are the same (`answer_key` does).
    """
    folded = unicodedata.normalize("NFKC", text).casefold().replace("−", "-")
    return tuple(w for w in _WORD.findall(re.sub(r"(?<=\w)-(?=\w)", " ", folded)) if w not in _ARTICLES)


def stands_in(quote: str, text: str) -> bool:
    """Whether a quotation stands in a text word for word, white space aside. An empty one stands nowhere."""
    wanted = squeeze(quote)
    return bool(wanted) and (wanted in text or wanted in squeeze(text))


def standing(quote: str, text: str) -> str:
    """The words of a text that a quotation means, as they stand there; empty: it stands nowhere in it.

    Typography is folded: quotation marks, dashes, white space, the case of the first letter, marks around the whole, a
    full stop at its end. An ellipsis stands for up to 400 characters. No word may differ. What is given back has all of
    the text's words between the first and the last, so it never says less than the text does.
    """
    if stands_in(quote, text):
        return quote
    bare = re.sub(r"\A\[(\w)\]", r"\1", squeeze(quote))
    enclosed = "".join(_SIGNS) + " "
    inner = bare.strip(enclosed)
    for wanted in dict.fromkeys((bare, inner, inner.rstrip(enclosed + ".,;:"))):
        pieces = [piece for piece in _GAP.split(wanted) if piece]
        if not says_something(wanted) or (
            len(pieces) > 1 and min(sum(map(str.isalnum, piece)) for piece in pieces) < _LEAST_BESIDE_GAP
        ):
            continue
        patterns = [_folded(piece, n == 0, n == len(pieces) - 1) for n, piece in enumerate(pieces)]
        for tries, start in enumerate(patterns[0].finditer(text)):
            end = _followed(patterns[1:], text, start.end())
            if end is not None:
                return text[start.start() : end]
            if tries >= _TRIES:
                break
    return ""


def _followed(patterns: list[re.Pattern[str]], text: str, end: int) -> int | None:
    """Where the last of the pieces ends, each of which begins soon after the one before; None: one does not."""
    for pattern in patterns:
        found = pattern.search(text, end, end + _MOST_LEFT_OUT + len(pattern.pattern))
        if found is None or found.start() - end > _MOST_LEFT_OUT:
            return None
        end = found.end()
    return end


def _folded(piece: str, first: bool, last: bool) -> re.Pattern[str]:
    """A pattern of the piece's words in any typography; the quotation begins and ends with whole words and numbers."""
    parts: list[str] = []
    for token in re.findall(rf"\s*[{_DASHES}]{{1,3}}\s+|\s+[{_DASHES}]{{1,3}}|[{_DASHES}]{{1,3}}|\s+|.", piece):
        if token.strip() and token.strip(_DASHES + " ") == "":
            blank = r"\s*" if token != "-" else ""
            parts.append(f"{blank if parts else ''}[{_DASHES}]{{1,3}}{blank}")
        elif token.isspace():
            parts.append(r"\s+")
        else:
            same_signs = next((signs for signs in _SIGNS if token in signs), "")
            parts.append(f"[{re.escape(same_signs)}]" if same_signs else re.escape(token))
    before = r"(?<!\w)(?<!\d[.,])" if first and piece[0].isalnum() else ""
    after = r"(?!\w)(?![.,]\d)" if last and piece[-1].isalnum() else r"(?!\d)" if last else ""
    if first and piece[0].isalpha() and len(piece[0].upper()) == len(piece[0].lower()) == 1:
        parts[0] = f"[{piece[0].lower()}{piece[0].upper()}]"
    return re.compile(before + "".join(parts) + after)


# ---------------------------------------------------------------- quotations


class Citation(Limited, frozen=True, kw_only=True):
    """A verbatim span of a document."""

    document: str
    """The document's name."""
    quote: Annotated[str, chars(1_000)]


# ---------------------------------------------------------------- similarity


class Similar(msgspec.Struct, frozen=True, kw_only=True):
    """Similarities of n texts, computed by the helper from unit embeddings (eq. 1)."""

    gram: tuple[float, ...] = ()
    """Cosines of texts i and j, j >= i, row by row: n (n + 1) / 2 figures, -1 to 1."""
    dots: tuple[float, ...] = ()
    """Cosine of each with the prototype, n figures, -1 to 1."""


BY_ENCODER, BY_WORDS = "encoder", "words"
"""Flags of the helper's reply to `compare`: what its similarities are by, if not a model's judgement."""


WHY = "no encoder: "
"""How the flag begins that says why they are by words where an encoder was wanted."""
