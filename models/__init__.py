"""What the vectors mean: units, encoders and the mathematics on them. No index files, no HTTP, no SQL."""
