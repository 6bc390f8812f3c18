"""How a session of the madp protocol is shown."""

from client.protocols.face import Face
from client.protocols.madp.setup import SETUP

FACE = Face(setup=SETUP)
