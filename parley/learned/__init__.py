"""`parley reliability`, and what new sessions get of what was learned."""
