"""What segments hold of documents, read back: rows, texts, metadata."""
