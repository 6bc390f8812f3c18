"""How each protocol is set up and shown, a package each: SETUPS and FACES by the protocol's name."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from parley.client.faces.setup import Setup, in_order
from parley.schemas.rooms import Rooms

if TYPE_CHECKING:
    from parley.client.faces.face import Face
    from parley.schemas.post import Post

__all__ = [
    "FACES", "SETUPS", "Setup", "all_setups", "face_of", "face_of_posts", "panel_setup", "setup_of",
    "task_setup",
]  # fmt: skip

FACES: "Rooms[Face]" = Rooms("parley.client.protocols", "face:FACE", "parley.faces")


class _Setups(Rooms[Setup]):
    """Those of the faces. One of Parley's own is imported without its face: the command line needs every setup, and
    shows sessions of one protocol at most."""

    def _loader(self, name: str) -> Callable[[], Setup]:
        if name in self._names():
            return super()._loader(name)
        face = FACES[name]
        return lambda: face.setup

    def __contains__(self, name: object) -> bool:
        return name in FACES

    def __iter__(self) -> Iterator[str]:
        return iter(FACES)


SETUPS: Rooms[Setup] = _Setups("parley.client.protocols", "setup:SETUP", "parley.faces")


def face_of(protocol: str) -> "Face":
    """The protocol's face; one with defaults alone where it brings none, or is not known here."""
    from parley.client.faces.face import Face  # messages and presenters, 30 ms: whoever lists options shows nothing

    return FACES.get(protocol) or Face(Setup(protocol))


def setup_of(protocol: str) -> Setup:
    """The protocol's setup; one with defaults alone where it brings none, or is not known here."""
    return SETUPS.get(protocol) or Setup(protocol)


def all_setups() -> tuple[Setup, ...]:
    """Every protocol's that brings one, as their options are shown."""
    return in_order([SETUPS[name] for name in SETUPS])


def panel_setup() -> Setup:
    """The protocol that is taken where any panel will do: the first that seats as many as one likes."""
    return next(setup for setup in all_setups() if setup.several)


def task_setup() -> Setup:
    """The protocol of a task: the first whose sessions begin with a folder."""
    return next(setup for setup in all_setups() if setup.changes_folder)


def face_of_posts(posts: "Iterable[Post]") -> "Face | None":
    """The face that knows the first of these posts that any knows; None: none does. For sessions whose protocol nobody
    has said."""
    return next((face for post in posts for face in FACES.values() if face.knows(post)), None)
