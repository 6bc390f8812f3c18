"""Model `extractive`: answers by quoting documents, without a language model."""
