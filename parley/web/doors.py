"""The doors that the gateway opens, in the order in which their routes are tried."""

from pathlib import Path

import msgspec

from parley.web.app import Door
from parley.web.offers import Offers
from parley.web.openai.background import TaskModel
from parley.web.openai.door import OpenAI
from parley.web.openai.running import OnDisconnect
from parley.web.page.door import web


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decides of the doors."""

    offers: Offers = msgspec.field(default_factory=Offers)
    """What programs may ask for by name."""
    roots: tuple[Path, ...] = ()
    """Folders that programs may have read as a project."""
    on_disconnect: OnDisconnect = "cancel"
    """Whether a program that goes away while it waits cancels its session."""
    task_model: TaskModel | None = None
    """To which jobs of chat front ends go; None: they are refused."""
    secret: bytes | None = None
    """Seals what clients carry between two requests: the same for all copies."""


def doors(options: Options | None = None) -> tuple[Door, ...]:
    """All of them."""
    from parley.web.mcp.door import mcp_door  # the library takes a second to import

    options = options or Options()
    return (
        web(options.offers),
        OpenAI(options.offers, options.on_disconnect, options.task_model).door(),
        mcp_door(options.offers, options.roots, secret=options.secret),
    )
