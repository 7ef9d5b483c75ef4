"""Verification: a cross-encoder that reads a phrase with the sentence of a hit, and says whether it says it."""
