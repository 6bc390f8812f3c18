"""What the analyst does in a session of several parts: it splits a question, and puts answers together."""
