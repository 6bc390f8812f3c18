"""How a MADP task is set up and shown."""
