"""What the engine is held against: the same debate as a bare loop over requests, and as bare events of JetStream."""
