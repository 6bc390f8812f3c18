"""How a session of the critic protocol is set up."""

from client.protocols.setup import Setup

SETUP = Setup(
    name="critic",
    opening_only=("stream",),
)
