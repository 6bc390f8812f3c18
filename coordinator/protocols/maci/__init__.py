"""The state machine of the maci protocol."""
