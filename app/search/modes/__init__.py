"""Search modes: one file or package for each."""
