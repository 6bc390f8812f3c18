"""How the encoders of the matcher are made, by whoever maintains them; in an environment with torch."""
