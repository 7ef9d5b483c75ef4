"""Jobs that write: indexing, merging, relabelling, deleting, verifying."""
