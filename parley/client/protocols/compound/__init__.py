"""How a question of several parts is set up and shown."""
