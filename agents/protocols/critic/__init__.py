"""What agents do in the critic protocol: its kinds of turns, prompts, and answers without a language model."""
