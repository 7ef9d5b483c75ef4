"""PDF and Word files, through the libraries of the extra ``files``."""

import io
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from indexer.errors import InvalidDocument
from indexer.sources.documents import checked_id, checked_metadata, checked_size, checked_text
from indexer.sources.records import Found, Reading
from models.types import Document, JsonValue, Part

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_INSTALL: Final = "reading it needs a library that is not installed; run: pip install 'spanseek[files]'"


def read_pdf(reading: Reading) -> Iterator[Found]:
    """A PDF is one document, a part a page that holds text, with ``page`` from 1 as the part's metadata."""
    yield 1, lambda: _pdf(reading)


def read_docx(reading: Reading) -> Iterator[Found]:
    """A Word file is one document: a line a paragraph, and a line a row of a table."""
    yield 1, lambda: _docx(reading)


def _pdf(reading: Reading) -> Document:
    try:
        from pypdf import PdfReader
    except ImportError:
        raise InvalidDocument(_INSTALL) from None
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = PdfReader(io.BytesIO(reading.whole()))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InvalidDocument("the file is encrypted: save it without a password")
        texts = [page.extract_text() for page in reader.pages]
        title = str(reader.metadata.title or "").strip() if reader.metadata else ""
    except InvalidDocument:
        raise
    except Exception as error:  # a parser of untrusted files raises whatever its parts raise
        raise InvalidDocument(f"not a PDF that can be read: {error}") from error
    parts = tuple(
        Part(checked_text(_storable(text)), {"page": number}) for number, text in enumerate(texts, 1) if text.strip()
    )
    if not parts:
        raise InvalidDocument(f"none of its {len(texts)} pages holds text: they may be scans, which need OCR first")
    if len(parts) < len(texts):
        reading.notice = f"{len(texts) - len(parts)} of {len(texts)} pages hold no text and are left out"
    return _document(reading, parts, title)


def _docx(reading: Reading) -> Document:
    try:
        import docx
    except ImportError:
        raise InvalidDocument(_INSTALL) from None
    try:
        word = docx.Document(io.BytesIO(reading.whole()))
        lines = [*_lines(word)]
        title = str(word.core_properties.title or "").strip()
    except InvalidDocument:
        raise
    except Exception as error:  # a parser of untrusted files raises whatever its parts raise
        raise InvalidDocument(f"not a Word file that can be read: {error}") from error
    if not lines:
        raise InvalidDocument("the file holds no text")
    return _document(reading, (Part(checked_text("\n".join(lines))),), title)


def _lines(word: "WordDocument") -> Iterator[str]:
    from docx.table import Table

    for block in word.iter_inner_content():
        if isinstance(block, Table):
            rows = ("\t".join(cell.text.strip() for cell in row.cells) for row in block.rows)
            yield from (row for row in rows if row.strip())
        elif block.text.strip():
            yield block.text


def _document(reading: Reading, parts: tuple[Part, ...], title: str) -> Document:
    metadata: dict[str, JsonValue] = {"title": _storable(title)} if title else {}
    return checked_size(Document(checked_id(reading.document_id), parts, checked_metadata(metadata)))


def _storable(text: str) -> str:
    """The text without what no file can hold: NUL, and lone surrogates, which fonts without a map of signs give."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
