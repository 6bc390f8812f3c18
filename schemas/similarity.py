"""How like texts are: what a helper reports, and by what it compared."""

import msgspec


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
