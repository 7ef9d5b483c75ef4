"""The formats that Spanseek reads, by the endings of files' names.

Plug-ins add readers by entry points, whose names are endings without the dot: of ``spanseek.documents`` for files that
are one document each, and of ``spanseek.sources`` for other files. A reader is loaded when it reads its first file.
"""

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Final

from indexer.sources.json_files import read_array, read_lines
from indexer.sources.parquet import read_parquet
from indexer.sources.plain import read_text
from indexer.sources.records import Reader, refuse, unpacked
from indexer.sources.subtitles import read_subtitles
from indexer.sources.tables import read_table
from indexer.sources.web_pages import read_page
from models.entry_points import entry_points_of


def _plugged(group: str) -> dict[str, Reader]:
    """The readers of a group of entry points, which are not loaded yet."""

    def reader(point: EntryPoint) -> Reader:
        return lambda reading: point.load()(reading)

    return {f".{ending}": reader(point) for ending, point in entry_points_of(group).items()}


# A file of these is one document, whose metadata may lie in a sidecar.
DOCUMENTS: Final[dict[str, Reader]] = {
    ".htm": read_page,
    ".html": read_page,
    ".log": read_text,
    ".md": read_text,
    ".srt": read_subtitles,
    ".txt": read_text,
    ".vtt": read_subtitles,
    ".xhtml": read_page,
    **_plugged("spanseek.documents"),
}
READERS: Final[dict[str, Reader]] = {
    ".csv": read_table,
    ".json": read_array,
    ".jsonl": read_lines,
    ".ndjson": read_lines,
    ".parquet": read_parquet,
    ".tsv": read_table,
    **_plugged("spanseek.sources"),
    **DOCUMENTS,
}
# The formats that the extra files reads.
_OF_EXTRA: Final = {
    "E-mails": (".eml", ".mbox", ".msg"),
    "Books": (".epub",),
    "OpenDocument files": (".odp", ".ods", ".odt"),
    "PDF files": (".pdf",),
    "Rich text files": (".rtf",),
    "Slides": (".ppsm", ".ppsx", ".pptm", ".pptx"),
    "Word files": (".docm", ".docx", ".dotm", ".dotx"),
    "Workbooks": (".xlsm", ".xlsx"),
}
# Formats that hold text and have no reader, and what to do with them: their files are reported as lost.
_CONVERT: Final = "convert it with LibreOffice: soffice --headless --convert-to "
_FFMPEG: Final = "convert it with FFmpeg: ffmpeg -i FILE FILE.srt"
_CALIBRE: Final = "convert it with Calibre: ebook-convert FILE FILE.epub"
REFUSED: Final[dict[str, str]] = {
    **dict.fromkeys((".doc", ".dot", ".wpd", ".wps"), f"{_CONVERT}docx"),
    **dict.fromkeys((".fodt", ".ott", ".sxw"), f"{_CONVERT}odt"),
    **dict.fromkeys((".fodp", ".odg", ".otp", ".sxi"), f"{_CONVERT}pdf"),
    **dict.fromkeys((".fods", ".ots", ".sxc"), f"{_CONVERT}ods"),
    **dict.fromkeys((".dbf", ".xls", ".xlsb", ".xlt", ".xltm", ".xltx"), f"{_CONVERT}xlsx"),
    **dict.fromkeys((".pot", ".potm", ".potx", ".pps", ".ppt"), f"{_CONVERT}pptx"),
    **dict.fromkeys((".7z", ".bz2", ".rar", ".tar", ".tbz2", ".tgz", ".txz", ".xz", ".zip", ".zst"), "unpack it first"),
    **dict.fromkeys((".azw", ".azw3", ".fb2", ".lit", ".mobi"), _CALIBRE),
    **dict.fromkeys((".ass", ".sbv", ".smi", ".ssa", ".sub", ".ttml"), _FFMPEG),
    **dict.fromkeys((".mht", ".mhtml"), "rename it to end in .eml"),
    **dict.fromkeys((".adoc", ".markdown", ".org", ".rst", ".tex", ".text"), "rename it to end in .txt"),
    **dict.fromkeys((".arrow", ".avro", ".feather", ".orc"), "save it as Parquet"),
    **dict.fromkeys((".djvu", ".oxps", ".ps", ".xps"), "convert it to PDF"),
    ".emlx": "export it from Mail as .mbox",
    ".key": "export it from Keynote as .pptx",
    ".numbers": "export it from Numbers as .xlsx",
    ".one": "export it from OneNote as .docx",
    ".ost": "export its messages from Outlook",
    ".pages": "export it from Pages as .docx",
    ".pst": "export its messages with readpst, as .mbox",
}
HINT: Final = (
    f"Spanseek reads files that end in {', '.join(sorted(READERS))} (each also with .gz), and folders of them."
)


def unread(kind: str) -> str:
    """Why files of an ending are not read, and what to do; empty for those that are read and for unknown ones.

    >>> unread(".txt"), unread(".pages")
    ('', '.pages has no reader: export it from Pages as .docx')
    """
    if kind in READERS:
        return ""
    for what, endings in _OF_EXTRA.items():
        if kind in endings:
            return f"{what} need `pip install 'spanseek[files]'`"
    return f"{kind} has no reader: {REFUSED[kind]}" if kind in REFUSED else ""


def kind_of(path: Path) -> str:
    """The ending of a file's name, in lower case and without ``.gz``."""
    return Path(unpacked(path.name)).suffix.lower()


def reader_of(path: Path) -> Reader | None:
    """The reader of a file by its name, one that refuses it where its format has none, and None for other files."""
    kind = kind_of(path)
    if reason := unread(kind):
        return lambda reading: iter([(1, lambda: refuse(reason))])
    return READERS.get(kind)
