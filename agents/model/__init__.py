"""What a model is: the interface of everything that answers turns, and what it must not obey."""
