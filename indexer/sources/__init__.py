"""Documents from files and folders: tables, JSON, texts, subtitles, web pages, PDF and Word, each also gzipped.

A source yields documents and, in place of what could not be read, a ``BadRecord`` that names the line. Memory is that
of one record, of one row group of a Parquet file, or of one PDF, Word or HTML file.
"""

from indexer.sources.options import ReadOptions
from indexer.sources.records import MAX_RECORD, BadRecord, Record
from indexer.sources.source import Source

__all__ = ["MAX_RECORD", "BadRecord", "ReadOptions", "Record", "Source"]
