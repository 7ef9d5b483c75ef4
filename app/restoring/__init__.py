"""Texts back from vectors: given ones, and those of collections that do not store their texts."""
