"""Units, encoders and the mathematics on their vectors. No index files, no HTTP, no SQL."""
