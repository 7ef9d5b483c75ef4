"""Texts that come with a request: their best spans, comparison, summaries and restoration."""
