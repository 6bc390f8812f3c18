"""Messages of MADP."""
