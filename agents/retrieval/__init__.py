"""Search in documents: their sentences and passages, where a passage stands, and which answer a query."""
