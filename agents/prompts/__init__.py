"""Prompts: what a turn shows, in words for a language model."""
