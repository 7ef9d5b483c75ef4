"""Vectors to text."""
