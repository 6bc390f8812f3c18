"""The doors that the gateway opens, in the order in which their routes are tried.

Beside its own three it opens those that the operator names. A door is a function of what the operator decides and of
the door's own options, which gives a Door: routes behind the guard, or what is up while the gateway is. A few ship; an
installed package brings others by the entry points `parley.doors`. None of them is opened unless it is named.
"""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from parley.client.errors import BadInput
from parley.schemas import registry
from parley.web.app import Door
from parley.web.offered_models import Offers
from parley.web.openai.door import OpenAI
from parley.web.page.door import web

BROUGHT = "parley.doors"
"""Entry points of doors."""
SHIPPED = {"a2a": "a2a", "nats-agents": "nats_agents", "webhook": "webhook"}
"""Name -> module of this package. Each of them is an extra of the door's name, where it needs one."""


class DoorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decides of the doors."""

    offers: Offers = msgspec.field(default_factory=Offers)
    """What programs may ask for by name."""
    roots: tuple[Path, ...] = ()
    """Folders that programs may have read as a project."""
    secret: bytes | None = None
    """Seals what clients carry between two requests: the same for all copies."""
    state: Path | None = None
    """Folder in which a door may remember something; None: none."""
    opened: Mapping[str, Mapping[str, Any]] = {}
    """Further doors, by name, each with its own options."""


Opens = Callable[[DoorOptions, Mapping[str, Any]], Door]
"""What an entry point names. The mapping is of the door's own options."""


def doors(options: DoorOptions | None = None) -> tuple[Door, ...]:
    """All of them. Raises BadInput for a door that cannot be opened."""
    from parley.web.mcp.door import mcp_door  # the library takes a second to import

    options = options or DoorOptions()
    return (
        web(options.offers),
        OpenAI(options.offers).door(),
        mcp_door(options.offers, options.roots, secret=options.secret),
        *(_opened(name, options) for name in options.opened),
    )


def _opened(name: str, options: DoorOptions) -> Door:
    try:
        opens: Opens = registry.load(BROUGHT, name) if name not in SHIPPED else _shipped(name)
    except registry.NotUsable as error:
        raise BadInput(f"doors.{name}", str(error)) from error
    except KeyError:
        known = ", ".join((*SHIPPED, *registry.entries(BROUGHT)))
        raise BadInput(f"doors.{name}", f"there is no such door; known are {known}") from None
    door = opens(options, options.opened[name])
    if not isinstance(door, Door):
        raise BadInput(f"doors.{name}", f"it gave a {type(door).__name__}, expected a Door (parley.web.app)")
    return door


def _shipped(name: str) -> Opens:
    try:
        opens: Opens = importlib.import_module(f"{__package__}.{SHIPPED[name]}").door
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("parley"):
            raise
        why = f"it is an extra, and {error.name} is not installed: pip install 'parley[{name}]'"
        raise BadInput(f"doors.{name}", why) from error
    return opens


def own(name: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """A door's own options over those that it knows, each of the type of its default. Raises BadInput."""
    for key, value in given.items():
        if key not in known:
            raise BadInput(f"doors.{name}.{key}", f"there is no such option; known are {', '.join(known) or 'none'}")
        if not isinstance(value, type(known[key])):
            wanted = type(known[key]).__name__
            raise BadInput(f"doors.{name}.{key}", f"got {value!r}, expected a value of type {wanted}")
    return {**known, **given}
