"""How each protocol is set up and shown, a package each: SETUPS and SHOWS by the protocol's name."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from parley.client.setup.setup import Setup, in_order
from parley.schemas.registry import Rooms

if TYPE_CHECKING:
    from parley.client.show.show import Show
    from parley.schemas.post import Post

__all__ = [
    "SETUPS",
    "SHOWS",
    "Setup",
    "all_setups",
    "panel_setup",
    "setup_of",
    "show_of",
    "show_of_posts",
    "lone_setup",
    "task_setup",
]

SHOWS: "Rooms[type[Show]]" = Rooms("parley.client.protocols", "show:SHOW", "parley.shows")


class _Setups(Rooms[Setup]):
    """Those of the shows. One of Parley's own is imported without its show: the command line needs every setup, and
    shows sessions of one protocol at most."""

    def _of_package(self, name: str) -> Setup:
        return SHOWS[name].setup

    def __contains__(self, name: object) -> bool:
        return name in SHOWS

    def __iter__(self) -> Iterator[str]:
        return iter(SHOWS)


SETUPS: Rooms[Setup] = _Setups("parley.client.protocols", "setup:SETUP", "parley.shows")


def show_of(protocol: str) -> "type[Show]":
    """What shows sessions of a protocol; as any is shown where it brings nothing, or is not known here."""
    from parley.client.show.show import Show  # messages and cards, 30 ms: whoever lists options shows nothing

    return SHOWS.get(protocol) or Show


def setup_of(protocol: str) -> Setup:
    """The protocol's setup; one with defaults alone where it brings none, or is not known here."""
    return SETUPS.get(protocol) or Setup(protocol)


def all_setups() -> tuple[Setup, ...]:
    """Every protocol's that brings one, as their options are shown."""
    return in_order([SETUPS[name] for name in SETUPS])


def lone_setup() -> Setup:
    """The protocol in which one seat answers: the first that needs one queue alone."""
    return next(setup for setup in all_setups() if setup.several is None and len(setup.others or ()) == 1)


def panel_setup() -> Setup:
    """The protocol that is taken where any panel will do: the first that seats as many as one likes."""
    return next(setup for setup in all_setups() if setup.several)


def task_setup() -> Setup:
    """The protocol of a task: the first whose sessions begin with a folder."""
    return next(setup for setup in all_setups() if setup.changes_folder)


def show_of_posts(posts: "Iterable[Post]") -> "type[Show] | None":
    """What knows the first of these posts that any protocol knows; None: none does. For sessions whose protocol nobody
    has said."""
    return next((show for post in posts for show in SHOWS.values() if show.knows(post)), None)
