"""Word files: what Word shows in its final view."""

from indexer.sources.word.reader import read_word

__all__ = ["read_word"]
