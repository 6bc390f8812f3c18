"""A task's folder under git: the branch that an approved change goes to, and what the folder is called in notes."""
