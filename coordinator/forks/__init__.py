"""Sessions that carry the record of another one on."""
