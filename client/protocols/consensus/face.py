"""How a session of the consensus protocol is shown."""

from client.protocols.consensus.setup import SETUP
from client.protocols.face import Face

FACE = Face(setup=SETUP)
