"""What agents do in the madp protocol: its kinds of turns, prompts, and what is computed."""
