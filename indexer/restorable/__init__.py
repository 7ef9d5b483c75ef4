"""Vectors in segments from which the sentences can be written again."""
