"""PDF files: words, lines and paragraphs as they stand on their pages."""
