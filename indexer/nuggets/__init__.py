"""Nuggets in segments: their files, how they are searched, and their FAISS index. The representation of mode maxsim."""
