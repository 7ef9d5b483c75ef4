"""Adding and deleting documents of a collection that is being served. No HTTP, no SQL."""
