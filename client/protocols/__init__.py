"""How each protocol is set up and shown, a package each: FACES by the protocol's name."""

from collections.abc import Iterable

from client.protocols.face import Face
from client.protocols.setup import Setup
from schemas.post import Post
from schemas.rooms import Rooms

__all__ = ["FACES", "Face", "Setup", "face_of", "face_of_posts"]

FACES: Rooms[Face] = Rooms("client.protocols", "face:FACE", "parley.faces")


def face_of(protocol: str) -> Face:
    """The protocol's face; one with defaults alone where it brings none, or is not known here."""
    return FACES.get(protocol) or Face(Setup(protocol))


def face_of_posts(posts: Iterable[Post]) -> Face | None:
    """The face that knows the first of these posts that any knows; None: none does. For sessions whose protocol nobody
    has said."""
    return next((face for post in posts for face in FACES.values() if face.knows(post)), None)
