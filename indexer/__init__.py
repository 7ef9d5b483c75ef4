"""How vectors become searchable files, and how these files are searched."""
