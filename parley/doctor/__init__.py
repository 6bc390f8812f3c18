"""`parley doctor`: what works and what is missing."""
