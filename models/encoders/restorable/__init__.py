"""Restorable embeddings: vectors of texts that can be decoded to the texts again (RE)."""
