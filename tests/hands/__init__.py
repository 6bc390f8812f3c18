"""Agents of others, and what holds them."""
