"""The formats that Spanseek reads, by the endings of files' names."""

from pathlib import Path
from typing import Final

from indexer.sources.json_files import read_array, read_lines
from indexer.sources.parquet import read_parquet
from indexer.sources.pdf import read_pdf
from indexer.sources.plain import read_text
from indexer.sources.records import Reader, unpacked
from indexer.sources.subtitles import read_subtitles
from indexer.sources.tables import read_table
from indexer.sources.web_pages import read_page
from indexer.sources.word import read_word

# A file of these is one document, whose metadata may lie in a sidecar.
DOCUMENTS: Final[dict[str, Reader]] = {
    ".docm": read_word,
    ".docx": read_word,
    ".htm": read_page,
    ".html": read_page,
    ".md": read_text,
    ".pdf": read_pdf,
    ".srt": read_subtitles,
    ".txt": read_text,
    ".vtt": read_subtitles,
}
READERS: Final[dict[str, Reader]] = {
    ".csv": read_table,
    ".json": read_array,
    ".jsonl": read_lines,
    ".ndjson": read_lines,
    ".parquet": read_parquet,
    ".tsv": read_table,
    **DOCUMENTS,
}
HINT: Final = (
    f"Spanseek reads files that end in {', '.join(sorted(READERS))} (each also with .gz), and folders of them."
)


def kind_of(path: Path) -> str:
    """The ending of a file's name, in lower case and without ``.gz``."""
    return Path(unpacked(path.name)).suffix.lower()
