"""Token counts where nobody counted: an estimate from the length, on the high side so that caps hold.

A token is taken as three bytes of UTF-8. English comes to about 4.2 bytes a token with today's vocabularies, so the
estimate is some 40 % high there; Chinese to about three; digits and code come close to it.
"""

BYTES_PER_TOKEN = 3


def estimate(text: str) -> int:
    """Tokens of a text, at least 1 for one that is not empty."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def first_tokens(text: str, tokens: int) -> str:
    """The start of a text, of at most so many estimated tokens, and never half a character."""
    return text.encode("utf-8", "replace")[: max(0, tokens) * BYTES_PER_TOKEN].decode("utf-8", "ignore")
