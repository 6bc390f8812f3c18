"""A task's folder as it travels: its archive, and what paths in it may be."""
