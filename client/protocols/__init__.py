"""How each protocol is set up and shown, a package each."""
