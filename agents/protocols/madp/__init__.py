"""What agents do in the madp protocol: its kinds of turns, prompts, and answers without a language model."""
