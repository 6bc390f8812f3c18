"""A task's folder under git: the branch that an approved change goes to, and the history that the task may read."""
