"""The state machine of the critic protocol."""
