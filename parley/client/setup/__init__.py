"""What a protocol brings so that its sessions can be set up and shown: the types of a SETUP."""
