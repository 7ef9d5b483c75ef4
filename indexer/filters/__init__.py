"""Filters: what may be asked of metadata, as a tree, as JSON, as a string, and as masks over the rows of a segment."""
