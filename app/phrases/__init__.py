"""Saved phrases: create, change, import and list them, and read their matches."""
