"""How a consensus session is set up and shown."""
