"""How a session of the protocol `single` is set up and shown."""
