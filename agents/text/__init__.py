"""What is read in a text without a model: its language, its sentences, its words, and how many tokens it has."""
