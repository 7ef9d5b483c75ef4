"""PDF files, through a library of the extra ``files``."""

import io
import logging
from collections.abc import Iterator
from typing import Final

from indexer.errors import InvalidDocument
from indexer.sources.documents import checked_id, checked_metadata, checked_size, checked_text
from indexer.sources.records import Found, Reading
from models.types import Document, JsonValue, Part

_INSTALL: Final = "reading it needs a library that is not installed; run: pip install 'spanseek[files]'"


def read_pdf(reading: Reading) -> Iterator[Found]:
    """A PDF is one document, a part a page that holds text, with ``page`` from 1 as the part's metadata."""
    yield 1, lambda: _pdf(reading)


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


def _document(reading: Reading, parts: tuple[Part, ...], title: str) -> Document:
    metadata: dict[str, JsonValue] = {"title": _storable(title)} if title else {}
    return checked_size(Document(checked_id(reading.document_id), parts, checked_metadata(metadata)))


def _storable(text: str) -> str:
    """The text without what no file can hold: NUL, and lone surrogates, which fonts without a map of signs give."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
