"""A session in words, as JSON values and as a page, whatever its protocol."""
