"""Sessions that somebody played by hand, as a model would: the endpoint for them, and the sessions."""
