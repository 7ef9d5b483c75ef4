"""Segments: immutable folders that hold text, metadata and vectors. ``layout`` documents every file."""
