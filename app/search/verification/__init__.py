"""Verification: the best hits of a search, read beside its phrase; likely matches come first."""
