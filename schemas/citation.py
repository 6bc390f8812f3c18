"""A quotation: a verbatim span of a document."""

from typing import Annotated

import msgspec

from parley.schemas.wire import at_most, chars


class Citation(msgspec.Struct, frozen=True, kw_only=True):
    """A verbatim span of a document."""

    document: str
    """The document's name."""
    quote: Annotated[str, chars(1_000)]

    def __post_init__(self) -> None:
        at_most("quote", self.quote, 1_000)
