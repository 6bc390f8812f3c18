"""How a MACI session is set up and shown."""
