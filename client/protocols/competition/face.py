"""How a session of the competition protocol is shown."""

from client.protocols.competition.setup import SETUP
from client.protocols.face import Face

FACE = Face(setup=SETUP)
