"""Aggregation: hits as one list, collapsed, limited by document, sorted and counted."""
