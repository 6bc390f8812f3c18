"""Deciding by a rule: the rules, and what is cast and counted."""
