"""How a session of the maci protocol is shown."""

from client.protocols.face import Face
from client.protocols.maci.setup import SETUP

FACE = Face(setup=SETUP)
