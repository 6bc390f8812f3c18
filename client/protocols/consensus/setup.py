"""How a session of the consensus protocol is set up."""

from client.protocols.setup import Setup

SETUP = Setup(
    name="consensus",
    opening_only=("panel", "expertise_weight", "stream"),
)
