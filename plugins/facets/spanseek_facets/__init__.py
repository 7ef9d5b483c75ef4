"""Facets in segments: K vectors of every sentence in a space of words."""
