"""Nuggets: vectors for segments of a window, selected by a trained scorer (Qin and Van Durme, 2023)."""
