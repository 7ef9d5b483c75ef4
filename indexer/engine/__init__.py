"""Search over opened segments: query vectors in, scored spans out."""
