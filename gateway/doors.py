"""The doors that the gateway opens, in the order in which their routes are tried."""

from pathlib import Path

import msgspec

from gateway.app import Door
from gateway.offers import Offers


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decides of the doors."""

    offers: Offers = msgspec.field(default_factory=Offers)
    """What programs may ask for by name."""
    roots: tuple[Path, ...] = ()
    """Folders that programs may have read as a project."""
    secret: bytes | None = None
    """Seals what clients carry between two requests: the same for all copies."""


def doors(options: Options | None = None) -> tuple[Door, ...]:
    """All of them."""
    from gateway.mcp.door import mcp_door  # the library takes a second to import

    options = options or Options()
    return (mcp_door(options.offers, options.roots, secret=options.secret),)
