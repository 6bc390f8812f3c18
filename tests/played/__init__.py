"""Sessions that somebody played by hand, as a model would: the endpoint for it (bridge), and the sessions."""
