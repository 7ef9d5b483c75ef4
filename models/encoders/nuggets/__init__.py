"""Nuggets: vectors for stretches of a window, chosen by a trained scorer (Qin and Van Durme, 2023)."""
