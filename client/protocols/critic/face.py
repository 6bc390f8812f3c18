"""How a session of the critic protocol is shown."""

from client.protocols.critic.setup import SETUP
from client.protocols.face import Face

FACE = Face(setup=SETUP)
