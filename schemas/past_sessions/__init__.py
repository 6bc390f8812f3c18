"""What may follow a session's end: what a person says of its result, and sessions that carry its record on."""
