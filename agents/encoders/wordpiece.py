"""Texts to the token ids of a BERT vocabulary, lower case: what the embedded encoder reads.

Sixty lines of ours and not the `tokenizers` wheel, which is 12 MB, brings a client of a model hub along, and does in
parallel what takes a helper microseconds. A test holds the ids to those of the original. One thing differs on purpose:
`[SEP]` and the like in a text are words, never control tokens.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

LONGEST_WORD = 100
"""Characters; a longer word is unknown."""
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """The tokenizer of one vocabulary: tokens in the order of their ids, with [UNK], [CLS] and [SEP] among them."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {token: i for i, token in enumerate(vocabulary)}
        self._unknown, self._first, self._last = (self._ids[t] for t in ("[UNK]", "[CLS]", "[SEP]"))
        self._word = lru_cache(maxsize=20_000)(self._pieces)

    def ids(self, text: str, longest: int) -> list[int]:
        """Ids of a text, with those of its beginning and its end; at most `longest`, cut at the text's end."""
        ids = [self._first]
        for word in words(text):
            ids += self._word(word)
            if len(ids) >= longest:
                break
        return [*ids[: longest - 1], self._last]

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The longest tokens that a word falls into, from the left; unknown if it does not."""
        pieces: list[int] = []
        start = 0
        while start < len(word) <= LONGEST_WORD:
            for end in range(len(word), start, -1):
                piece = self._ids.get(("##" if start else "") + word[start:end])
                if piece is not None:
                    break
            else:
                return (self._unknown,)
            pieces.append(piece)
            start = end
        return tuple(pieces) or (self._unknown,)


def words(text: str) -> list[str]:
    """Words, signs of punctuation and ideographs, in lower case and without accents."""
    shown = "".join(_normal_character(c) for c in text)
    plain = "".join(c.lower() for c in unicodedata.normalize("NFD", shown) if unicodedata.category(c) != "Mn")
    return "".join(f" {c} " if _is_punctuation(c) else c for c in plain).split()


@lru_cache(maxsize=4_000)
def _normal_character(c: str) -> str:
    """A character as it counts: white space is a blank, what cannot be seen is nothing, an ideograph is a word."""
    if c in "\t\n\r":
        return " "
    if c == "\ufffd" or unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if c.isspace():
        return " "
    return f" {c} " if any(low <= ord(c) <= high for low, high in _CJK) else c


@lru_cache(maxsize=4_000)
def _is_punctuation(c: str) -> bool:
    return (c.isascii() and c.isprintable() and not c.isalnum() and c != " ") or unicodedata.category(c)[0] == "P"
