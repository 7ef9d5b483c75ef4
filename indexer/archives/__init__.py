"""Snapshots: one file that holds a collection, its rows of the catalog and its segments."""
