"""Uploads: a body is indexed in batches, and each line has one result.

A batch is published, its results are written, and then the checkpoint moves past it. A run that is killed goes on after
the last checkpoint: documents of its batch that were published already are unchanged then. Batches take about two
seconds each, so that other writers of the collection wait no longer.
"""

import gzip
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias, cast

from app.collections.documents import DocumentService, WrittenDocument
from app.tasks.context import TaskContext
from app.tasks.spool import Ending, ResultWriter
from indexer.errors import InvalidDocument
from indexer.indexing.pipeline import Outcome
from indexer.ndjson import InvalidLine, bounded_lines, read_ndjson
from indexer.sources import MAX_RECORD, BadRecord, ReadOptions, Source
from indexer.sources.documents import document_from_json, refused_id, weight
from models.types import Document, JsonValue

# A line and its document, or the answer to an invalid one.
Line: TypeAlias = tuple[int, Document | WrittenDocument]

_FIRST_CHARACTERS: Final = 2**16
_MOST_CHARACTERS: Final = 2**22
_MOST_DOCUMENTS: Final = 4096
# Merging after every batch would copy more. Windows are built once, at the end.
_BATCHES_A_TIDYING: Final = 16
_FAST_S: Final = 1.0
_SLOW_S: Final = 4.0
# Between batches, for other writers of the collection.
_PAUSE_S: Final = 0.05
_ERRORS: Final = 100


@dataclass(slots=True)
class _Progress:
    """The position of an upload: lines and bytes of results that are final, counts by result, and the first errors."""

    lines: int = 0
    results: int = 0
    counts: dict[str, int] = field(default_factory=lambda: {"indexed": 0, "unchanged": 0, "failed": 0})
    errors: list[dict[str, JsonValue]] = field(default_factory=list)

    @classmethod
    def of(cls, checkpoint: Mapping[str, JsonValue]) -> "_Progress":
        return cls(**checkpoint) if checkpoint else cls()  # type: ignore[arg-type]

    def checkpoint(self) -> dict[str, JsonValue]:
        return {"lines": self.lines, "results": self.results, "counts": self.counts, "errors": self.errors}

    def add(self, result: Mapping[str, JsonValue]) -> None:
        self.lines += 1
        self.counts[str(result["status"])] += 1
        if "error" in result and len(self.errors) < _ERRORS:
            error = cast("dict[str, JsonValue]", result["error"])
            self.errors.append({"line": result["line"], "id": result["id"], **error})


def index_upload(context: TaskContext) -> dict[str, JsonValue]:
    """Index an upload from its checkpoint on."""
    # Before the body is read up to the checkpoint, perhaps in vain.
    context.services.get(DocumentService).require_writable(context.collection, context.patience())
    lines = UploadLines(
        context.spool.body(context.options["format"], packed=context.options["packed"]),
        context.options["format"],
        context.claim.task.total or 0,
        packed=context.options["packed"],
        table=table_options(context.options.get("table") or {}),
        name=context.options.get("name") or "",
    )
    progress, characters = _Progress.of(context.checkpoint), _FIRST_CHARACTERS
    results = ResultWriter(context.spool, progress.results)
    try:
        rest = islice(lines, progress.lines, None)
        for number in count(1):
            batch = _batch(rest, characters)
            if not batch or number % _BATCHES_A_TIDYING == 0:
                documents = context.services.get(DocumentService)
                documents.tidy(context.collection, context.stop, busy=context.patience(), windows=not batch)
            context.check()
            if not batch:
                break
            started = time.perf_counter()
            _index(context, batch, results, progress)
            context.progress(lines.read_bytes, lines.total_bytes, progress.checkpoint())
            characters = _next_size(characters, time.perf_counter() - started)
            context.sleep(_PAUSE_S)
    finally:
        results.close()
    context.progress(lines.total_bytes, lines.total_bytes, progress.checkpoint())
    generation = context.services.store.catalog.generation(context.collection)
    return {"lines": progress.lines, **progress.counts, **lines.report(), "generation": generation}


def _index(context: TaskContext, batch: Sequence[Line], results: ResultWriter, progress: _Progress) -> None:
    documents = [item for _, item in batch if isinstance(item, Document)]
    outcomes: Mapping[str, Outcome] = {}
    if documents:
        outcomes = (
            context.services.get(DocumentService)
            .upsert(context.collection, documents, busy=context.patience())
            .outcomes
        )
    answers = [
        (line, WrittenDocument.of(outcomes[item.id]) if isinstance(item, Document) else item) for line, item in batch
    ]
    written = [_result(line, answer) for line, answer in answers]
    results.append(iter(written))
    progress.results = results.bytes
    for result in written:
        progress.add(result)


def _result(line: int, answer: WrittenDocument) -> dict[str, JsonValue]:
    result: dict[str, JsonValue] = {"line": line, "id": answer.id, "status": answer.status}
    if answer.error is not None:
        result["error"] = {"code": answer.error.code, "detail": answer.error.detail}
    return result


def _batch(lines: Iterator[Line], characters: int) -> list[Line]:
    batch: list[Line] = []
    for line, item in lines:
        batch.append((line, item))
        characters -= weight(item) if isinstance(item, Document) else 1
        if characters <= 0 or len(batch) >= _MOST_DOCUMENTS:
            break
    return batch


def _next_size(characters: int, seconds: float) -> int:
    """The size of the next batch: that which takes about two seconds."""
    if seconds < _FAST_S:
        return min(2 * characters, _MOST_CHARACTERS)
    return max(characters // 2, 1) if seconds > _SLOW_S else characters


class UploadLines:
    """The lines of a body, or the records of a file that has a ``name``.

    Iterate once; ``read_bytes`` of ``total_bytes`` says how far. An error of the operating system is raised: the body
    is the server's own, and is kept.
    """

    def __init__(
        self,
        path: Path,
        format: Ending,
        total_bytes: int,
        *,
        packed: bool,
        table: ReadOptions | None = None,
        name: str = "",
    ) -> None:
        self._path, self._packed = path, packed
        are_lines = format == "ndjson" and not name
        self._source = None if are_lines else Source(path, table, name=name or "The table", is_sound=True)
        self._file: BinaryIO | None = None
        self.total_bytes = total_bytes

    @property
    def read_bytes(self) -> int:
        """The bytes of the lines that were read: of NDJSON bytes of its text, of CSV about the bytes of its file."""
        if self._source is not None:
            return self._source.read_bytes
        return self._file.tell() if self._file is not None and not self._file.closed else self.total_bytes

    def report(self) -> dict[str, JsonValue]:
        """The conclusions about a file or a table, and the text that was left out; none for lines."""
        source = self._source
        if source is None:
            return {}
        return {
            "notice": "; ".join(source.notices.values()),
            "lost": [each for lost in source.lost.values() for each in lost],
            "unreadable": bool(source.unreadable),
            "replaced": source.replaced,
        }

    def __iter__(self) -> Iterator[Line]:
        if self._source is not None:
            for row, record in enumerate(self._source, 1):
                yield row, _refused(None, record.reason) if isinstance(record, BadRecord) else record
            return
        with cast("BinaryIO", gzip.open(self._path)) if self._packed else self._path.open("rb") as self._file:
            for number, value in read_ndjson(bounded_lines(self._file, MAX_RECORD)):
                yield number, _document(value)


def table_options(values: Mapping[str, JsonValue]) -> ReadOptions:
    """The reading options of a table, from the options of its task.

    >>> table_options({"metadata_columns": ["team"]}).metadata_columns
    ('team',)
    """
    columns = values.get("metadata_columns")
    chosen = tuple(map(str, columns)) if isinstance(columns, list) else None
    return ReadOptions(**{**values, "metadata_columns": chosen})  # type: ignore[arg-type]


def _document(value: object) -> Document | WrittenDocument:
    if isinstance(value, InvalidLine):
        return _refused(None, value.reason)
    try:
        return document_from_json(value)
    except InvalidDocument as error:
        return _refused(refused_id(value), str(error))


def _refused(id: str | None, reason: str) -> WrittenDocument:
    return WrittenDocument.refused(id, InvalidDocument(reason))
