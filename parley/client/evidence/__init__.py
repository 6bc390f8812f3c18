"""Evidence: files, folders, patterns, standard input and uploads, each as text, as the documents of a session.

One part reads for every door, so that a file is the same text whichever way it came. It stands in the client because
all doors build their opening there, and nothing below a door knows of files.
"""

from parley.client.evidence.sources import ReadEvidence, SentFile, Sources, list_of, read, telling

__all__ = ["ReadEvidence", "SentFile", "Sources", "list_of", "read", "telling"]
