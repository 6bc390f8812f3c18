"""The state machine of the protocol `single`."""
