"""Messages of MACI."""
