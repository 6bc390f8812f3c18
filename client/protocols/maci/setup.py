"""How a session of the maci protocol is set up."""

from client.protocols.setup import Setup

SETUP = Setup(
    name="maci",
    opening_only=("debaters", "judges", "cross_family"),
)
