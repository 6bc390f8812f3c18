"""Inputs made of good ones: bytes, words and parts of them changed, each by its own seed."""

import random
import re
from collections.abc import Sequence

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
WORDS = (
    b"null", b"true", b"NaN", b"1e999", b"-1", b"0", b"-0.0", b"9" * 30, b"9" * 5_000, b"1e-400", b"[]", b"{}", b'""',
    b'"', b"\\", b"\\ud800", b"\\udc00\\ud800", b"\\u0000", b"\\x", b"\xff", b"\xed\xa0\x80", b"\xc3", b"\x00",
    b"\x1b[31m", b"\r\n", b"\xe2\x80\xae", b"\xef\xbb\xbf", b",", b":", b"}", b"]", b"{", b"[", b"[" * 300, b"]" * 300,
    b'{"a":' * 60,
)  # fmt: skip
DEEP = (b"[" * 2_000, b"]" * 1_000, b'[{"a":' * 900, b'{"a":' * 801)


def mutated(rng: random.Random, seeds: Sequence[bytes], words: Sequence[bytes] = WORDS) -> bytes:
    """One of the seeds with one to six changes."""
    found = bytearray(rng.choice(seeds))
    for _ in range(rng.randint(1, 6)):
        _change(rng, found, seeds, words)
    return bytes(found)


def _change(rng: random.Random, found: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    at = rng.randrange(len(found) + 1)
    to = min(len(found), at + rng.choice((1, 2, 8, 40, 200)))
    match rng.randrange(10):
        case 0 if at < len(found):
            found[at] = rng.randrange(256)
        case 1:
            found[at:at] = rng.choice(words)
        case 2:
            found[at:to] = rng.choice(words)
        case 3:
            del found[at:to]
        case 4:
            found[at:at] = found[at:to] * rng.choice((1, 2, 30))
        case 5:
            other = rng.choice(seeds)
            start = rng.randrange(len(other) + 1)
            found[at:to] = other[start : start + rng.choice((5, 50, 500))]
        case 6:
            number = NUMBER.search(found, at)
            if number is not None:
                found[number.start() : number.end()] = rng.choice(words)
        case 7:
            quote = found.find(b'"', at)
            if quote >= 0:
                found[quote + 1 : quote + 1] = rng.choice(words)
        case 8 if rng.random() < 0.1:
            found[at:at] = rng.choice(DEEP)
        case 9 if rng.random() < 0.2:
            del found[at:]
        case _:
            found[at:at] = rng.randbytes(rng.choice((1, 3)))
