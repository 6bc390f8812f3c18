"""What users need of a stack: as they say it, what it is made of, and who serves it."""
