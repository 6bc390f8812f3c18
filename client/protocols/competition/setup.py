"""How a session of the competition protocol is set up."""

from client.protocols.setup import Setup

SETUP = Setup(
    name="competition",
    opening_only=("stances", "personalities", "styles", "context_posts", "stream"),
)
