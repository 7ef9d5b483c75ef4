"""Rich text (``.rtf``), by the specification 1.9.1 of Microsoft."""

from indexer.sources.rich_text.reader import read_rich_text

__all__ = ["read_rich_text"]
