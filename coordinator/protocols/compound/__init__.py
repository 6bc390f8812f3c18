"""compound: a question of several parts, each with a panel of its own, at once."""
