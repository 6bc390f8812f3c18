"""What agents do in the consensus protocol: its kinds of turns, prompts, and answers without a language model."""
