"""The processes of a stack on this machine: described, started, shared and ended."""
