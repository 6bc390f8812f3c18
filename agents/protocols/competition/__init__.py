"""What agents do in the competition protocol: its kinds of turns, prompts, and personalities."""
