"""The state machine of the consensus protocol."""
