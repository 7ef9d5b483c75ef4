"""Vectors into searchable files, and search in these files."""
