"""What the agent does that answers alone."""
