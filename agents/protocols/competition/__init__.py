"""What agents do in the competition protocol: its kinds of turns, prompts, and answers without a language model."""
