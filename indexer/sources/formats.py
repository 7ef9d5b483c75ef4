"""The formats that Spanseek reads, by the endings of files' names."""

from pathlib import Path
from typing import Final

from indexer.sources.books import read_book
from indexer.sources.json_files import read_array, read_lines
from indexer.sources.mail import read_mailbox, read_message, read_outlook
from indexer.sources.open_documents import read_open_document
from indexer.sources.parquet import read_parquet
from indexer.sources.pdf import read_pdf
from indexer.sources.plain import read_text
from indexer.sources.records import Reader, refuse, unpacked
from indexer.sources.rich_text import read_rich_text
from indexer.sources.slides import read_slides
from indexer.sources.subtitles import read_subtitles
from indexer.sources.tables import read_table
from indexer.sources.web_pages import read_page
from indexer.sources.word import read_word
from indexer.sources.workbooks import read_workbook

# A file of these is one document, whose metadata may lie in a sidecar.
DOCUMENTS: Final[dict[str, Reader]] = {
    ".docm": read_word,
    ".docx": read_word,
    ".eml": read_message,
    ".epub": read_book,
    ".htm": read_page,
    ".html": read_page,
    ".md": read_text,
    ".msg": read_outlook,
    ".odp": read_open_document,
    ".ods": read_open_document,
    ".odt": read_open_document,
    ".pdf": read_pdf,
    ".pptm": read_slides,
    ".pptx": read_slides,
    ".rtf": read_rich_text,
    ".srt": read_subtitles,
    ".txt": read_text,
    ".vtt": read_subtitles,
}
READERS: Final[dict[str, Reader]] = {
    ".csv": read_table,
    ".json": read_array,
    ".jsonl": read_lines,
    ".mbox": read_mailbox,
    ".ndjson": read_lines,
    ".parquet": read_parquet,
    ".tsv": read_table,
    ".xlsm": read_workbook,
    ".xlsx": read_workbook,
    **DOCUMENTS,
}
# Formats that hold text and have no reader, and what to do with them: their files are reported as lost.
_CONVERT: Final = "convert it with LibreOffice: soffice --headless --convert-to "
REFUSED: Final[dict[str, str]] = {
    ".doc": f"{_CONVERT}docx",
    ".dot": f"{_CONVERT}docx",
    ".key": "export it from Keynote as .pptx",
    ".mobi": "convert it with Calibre: ebook-convert FILE.mobi FILE.epub",
    ".azw3": "convert it with Calibre: ebook-convert FILE.azw3 FILE.epub",
    ".numbers": "export it from Numbers as .xlsx",
    ".pages": "export it from Pages as .docx",
    ".ppt": f"{_CONVERT}pptx",
    ".pst": "export its messages with readpst, as .mbox",
    ".wpd": f"{_CONVERT}docx",
    ".xls": f"{_CONVERT}xlsx",
    ".xlsb": f"{_CONVERT}xlsx",
    ".7z": "unpack it first",
    ".rar": "unpack it first",
    ".zip": "unpack it first",
}
HINT: Final = (
    f"Spanseek reads files that end in {', '.join(sorted(READERS))} (each also with .gz), and folders of them."
)


def kind_of(path: Path) -> str:
    """The ending of a file's name, in lower case and without ``.gz``."""
    return Path(unpacked(path.name)).suffix.lower()


def reader_of(path: Path) -> Reader | None:
    """The reader of a file by its name, one that refuses it where its format has none, and None for other files."""
    kind = kind_of(path)
    if kind in REFUSED:
        reason = f"{kind} has no reader: {REFUSED[kind]}"
        return lambda reading: iter([(1, lambda: refuse(reason))])
    return READERS.get(kind)
