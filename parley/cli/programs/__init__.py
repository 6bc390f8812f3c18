"""Commands that serve browsers and other programs."""
