"""The state machine of the madp protocol."""
