"""Metadata from outside a document: a sidecar beside its file, or a table by document id."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from indexer.disk import shortage
from indexer.errors import InvalidDocument, SourceUnreadable
from indexer.sources.documents import checked_metadata
from indexer.sources.layout import Layout, detect_layout
from indexer.sources.options import ReadOptions
from indexer.sources.records import Reading, unpacked
from models.types import Document, Metadata


def sidecar_of(path: Path) -> Path:
    """The file that may hold the metadata of another: ``letter.pdf.json`` beside ``letter.pdf``."""
    return path.with_name(unpacked(path.name) + ".json")


def with_sidecar(document: Document, path: Path) -> Document:
    """A document with the metadata of its file's sidecar, if there is one. Raises ``InvalidDocument``."""
    sidecar = sidecar_of(path)
    if not sidecar.is_file():
        return document
    try:
        value = json.loads(sidecar.read_text("utf-8-sig"))
        return replace(document, metadata={**document.metadata, **checked_metadata(value)})
    except (ValueError, InvalidDocument) as error:
        raise InvalidDocument(f"its metadata in {sidecar.name} cannot be read: {error}") from error


class MetadataTable:
    """Metadata of documents by their ids, from a table whose column ``id`` or ``file`` holds them.

    It is held in memory. ``unmatched`` are the ids for which no document came.
    """

    def __init__(self, path: Path) -> None:
        self._rows = dict(_rows(path))
        self._unmatched = dict.fromkeys(self._rows)

    @property
    def unmatched(self) -> tuple[str, ...]:
        """The ids of the table that no document had so far, in the order of the table."""
        return tuple(self._unmatched)

    def annotate(self, document: Document) -> Document:
        """The document with its metadata of the table added."""
        row = self._rows.get(document.id)
        if row is None:
            return document
        self._unmatched.pop(document.id, None)
        return replace(document, metadata={**document.metadata, **row})


def _rows(path: Path) -> Iterator[tuple[str, Metadata]]:
    try:
        yield from _read(path)
    except (OSError, SourceUnreadable) as error:
        if named := shortage(error):
            raise named from error
        raise SourceUnreadable(
            f"The table of metadata {path.name} cannot be read: {error}", hint="Check --metadata.", field="metadata"
        ) from error


def _read(path: Path) -> Iterator[tuple[str, Metadata]]:
    with path.open("rb") as file:
        layout = _layout(file, path)
        for line, row in layout.rows(file):
            if not any(row):
                continue
            problem = row if isinstance(row, str) else layout.problem(row)
            if problem is not None or isinstance(row, str):
                raise SourceUnreadable(f"line {line}: {problem}")
            yield row[layout.texts[0]], checked_metadata(layout.values(row, layout.metadata))


def _layout(file: BinaryIO, path: Path) -> Layout:
    """The layout of a table whose column ``file``, or else ``id``, is read as text: its own ids are those of rows."""

    def of(column: str) -> Layout:
        options = ReadOptions(text_column=column, row_ids=True)
        return detect_layout(Reading(file, path.name, path, options, lambda: path.open("rb")))

    try:
        return of("file")
    except SourceUnreadable:
        return of("id")
