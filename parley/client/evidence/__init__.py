"""Evidence: files, folders, patterns and standard input, each as text, as the documents of a session."""

from parley.client.evidence.sources import Sources, read_documents

__all__ = ["Sources", "read_documents"]
