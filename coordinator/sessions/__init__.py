"""Sessions as a moderator keeps them: their logs, stored and folded; effects, limits, forks, and stuck sessions."""
