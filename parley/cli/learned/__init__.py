"""Commands of what is learned from past sessions."""
