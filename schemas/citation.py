"""A quotation: a verbatim span of a document."""

import msgspec

from schemas.wire import at_most


class Citation(msgspec.Struct, frozen=True, kw_only=True):
    """A verbatim span of a document."""

    document: str
    """The document's name."""
    quote: str

    def __post_init__(self) -> None:
        at_most("quote", self.quote, 1_000)
