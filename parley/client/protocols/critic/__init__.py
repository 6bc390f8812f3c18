"""How a critic session is set up and shown."""
