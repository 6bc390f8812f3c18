"""What a protocol brings to the agents: the types of its KIT, and what kinds of turns share."""
