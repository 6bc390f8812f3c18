"""madp: what the machine saw in a task, and what is claimed of it."""
