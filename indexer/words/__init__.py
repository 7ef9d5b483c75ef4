"""Words in segments: their folding, their files, and the search for them."""
