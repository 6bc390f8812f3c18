"""How each protocol is set up and shown, a package each: FACES by the protocol's name."""

from client.protocols.face import Face
from client.protocols.setup import Setup
from schemas.rooms import Rooms

__all__ = ["FACES", "Face", "Setup", "face_of"]

FACES: Rooms[Face] = Rooms("client.protocols", "face:FACE", "parley.faces")


def face_of(protocol: str) -> Face:
    """The protocol's face; one with defaults alone where it brings none, or is not known here."""
    return FACES.get(protocol) or Face(Setup(protocol))
