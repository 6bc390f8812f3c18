"""Files of this machine: what somebody names, read without waiting."""
