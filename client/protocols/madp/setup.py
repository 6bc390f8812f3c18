"""How a session of the madp protocol is set up."""

from client.protocols.setup import Setup

SETUP = Setup(name="madp")
