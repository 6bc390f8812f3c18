"""A whole session in words: as a transcript, an explanation, a page, or a result that prints itself."""
