"""`parley reliability`, and what a session is opened with of what was learned."""
