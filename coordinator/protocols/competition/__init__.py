"""The state machine of the competition protocol."""
