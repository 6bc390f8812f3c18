"""What agents do in the maci protocol: its kinds of turns, prompts, and answers without a language model."""
