"""Documents read back from segments: rows, texts, metadata."""
