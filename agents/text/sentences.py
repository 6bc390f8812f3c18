"""Where the sentences of a text begin and end, in some 300 languages: the one splitter of the house.

sentencex (of Wikimedia) cuts; what it cuts within a sentence is joined again: before a small letter, and behind a
title, an initial, an ordinal number or an abbreviation that needs what follows it. What a log's replay decides by is
cut by the core itself (parley.coordinator): a library's next version must not change a finished session.
"""

import re

import sentencex

from parley.agents.text.languages import WORDS, language_of

_BEFORE = r"(?:^|[\s(„“«\"])"
_TITLES = (
    r"Drs?|Mrs?|Ms|Mme|Mlle|MM?|Sra?|Srta|Dra?|Do[ñn]a|Prof|St|Ste|Sto|Fr|Hrn?|Frl|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Gov|Sen|"
    r"Rep|Pres|Dipl|Ing|Mag|डॉ|प्रो|श्री|पं|रु"
)
_LEAD_ON = (
    r"[Nn]os?|[Nn]rn?|[Nn]úm|[Aa]rts?|Abb|Figs?|Abs|Kap|Sec|[Cc]hap|Ch|cap|[Pp]ág|[Pp]p|Bd|Ziff|Tab|Tel|al|[Vv]ol|Rm|[Rr]s|"
    r"bd|[Aa]v|Avda|[Cc]f|[Vv]gl|[Zz]zgl|[Ii]nkl|[Ee]xkl|[Gg]em|[Bb]zgl|[Cc]a|vs?|e\.g|i\.e|z\. ?B|d\. ?h|u\. ?a"
)
_NEEDS_MORE = re.compile(rf"{_BEFORE}(?:{_TITLES}|{_LEAD_ON})\.$")
_INITIALS = re.compile(
    rf"{_BEFORE}(?:(?:[A-ZÀ-ÞА-Я]\.-?)*[A-ZÀ-ÞА-Я]|(?:[ऀ-ॿ]{{1,3}}\. )*(?:आर|के|एस|एम|पी|वी|जे|बी|सी|डी))\.$"
)
_MONTH = re.compile(
    rf"{_BEFORE}(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|janv|févr|avr|juil|sept|oct|nov|déc)\.$"
)
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_ORDINAL = re.compile(r"\b(?:[ai]m|vom|zum|beim|d(?:er|ie|as|en|em|es)|seit|bis|ab|und|oder)\s\d{1,3}\.$", re.I)
"""German: a number that is counted with, behind an article or a preposition."""


def spans(text: str, language: str = "") -> list[tuple[int, int]]:
    """(begin, end) of each sentence, without white space at its ends. A line that is empty ends a sentence.

    Parameters
    ----------
    language
        A code of two letters; empty: as the text's words tell.

    Examples
    --------
    >>> spans("He met Dr. Lee.  They left.")
    [(0, 15), (17, 27)]
    """
    language = language or language_of(text)
    found: list[tuple[int, int]] = []
    capitals = not text.lstrip()[:1].islower()  # who begins small writes without capitals
    end = 0
    goes_on = False
    for piece in sentencex.segment(language, text):
        begin, end = end, end + len(piece)
        bare = piece.strip()
        if not bare:
            goes_on = False
            continue
        begin += len(piece) - len(piece.lstrip())
        last = begin + len(bare)
        if (
            found
            and goes_on
            and ((capitals and bare[0].islower()) or _unfinished(text[found[-1][0] : last], bare, language))
        ):
            found[-1] = (found[-1][0], last)
        else:
            found.append((begin, last))
        goes_on = True
    return found


def sentences(text: str, language: str = "") -> list[str]:
    """The sentences of a text, as they stand there."""
    return [text[begin:end] for begin, end in spans(text, language)]


def _unfinished(both: str, after: str, language: str) -> bool:
    """Whether the full stop before `after`, of the two together, ends no sentence."""
    before = both[: len(both) - len(after)].rstrip()[-40:]
    if not before.endswith("."):
        return False
    if _INITIALS.search(before):
        word = _FIRST_WORD.match(after)
        return word is None or word[0].lower() not in WORDS.get(language, ())
    if after[0].isdigit() and _MONTH.search(before):
        return True
    return bool(_NEEDS_MORE.search(before)) or (language == "de" and bool(_ORDINAL.search(before)))
