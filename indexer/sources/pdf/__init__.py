"""PDF files: words, lines and paragraphs as they stand on their pages."""

from indexer.sources.pdf.reader import read_pdf

__all__ = ["read_pdf"]
