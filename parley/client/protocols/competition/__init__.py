"""How a competition is set up and shown."""
