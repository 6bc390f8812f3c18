"""What moderators do about packages."""
