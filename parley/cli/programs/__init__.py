"""Commands that open doors for browsers and for other programs."""
