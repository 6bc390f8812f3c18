"""Evidence: files, folders, patterns and standard input, each as text, as the documents of a session."""

from client.evidence.sources import Sources, read

__all__ = ["Sources", "read"]
