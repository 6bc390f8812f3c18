"""Hands of others: a coding agent that the operator names works on a task in an expert's place (docs/hands.md)."""
