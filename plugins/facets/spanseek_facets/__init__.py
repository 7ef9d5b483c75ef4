"""Facet vectors: K vectors in a space of words that summarise the words likely to stand near a text."""
