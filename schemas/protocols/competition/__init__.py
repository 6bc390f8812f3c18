"""Messages of the competition."""
