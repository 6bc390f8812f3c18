"""The state machine of the breaker protocol."""
