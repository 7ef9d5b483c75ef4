"""One collection: documents in, spans out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from time import sleep
from typing import Any, TypeVar

from spanseek.errors import TaskFailed
from spanseek.errors_by_code import CollectionNotFound
from spanseek.hits import Hits
from spanseek.models import (
    CollectionDescription,
    DeletedDocuments,
    Event,
    Hit,
    ListedDocument,
    PhraseDescription,
    SearchAnswer,
    StoredDocument,
    TaskDescription,
)
from spanseek.problems import failed_query
from spanseek.progress import Watch, watcher
from spanseek.requests import (
    Added,
    FilterLike,
    FoundThreshold,
    Mined,
    MinedCount,
    Threshold,
    filter_body,
    filter_text,
    found_threshold,
    labels_of,
    listed,
    threshold_fields,
)
from spanseek.synchronous.api import Api
from spanseek.tables import Columns, documents_of
from spanseek.uploads import PIECE, file_type, lines_of, pieces_of

Item = TypeVar("Item")
# Seconds between two looks at a task: while it waits the server answers as soon as it ends.
_LOOK_S = 1.0


class Collection:
    """A collection by its name or an alias."""

    def __init__(self, api: Api, name: str) -> None:
        self._api, self.name = api, name

    def __repr__(self) -> str:
        return f"<collection {self.name}>"

    def describe(self) -> CollectionDescription:
        """Its recipe and its size. Raises ``CollectionNotFound``."""
        return self._api.get_collection(self.name)

    def create(self, **recipe: Any) -> CollectionDescription:  # noqa: ANN401
        """Make the collection, unless it is there with this recipe. ``recipe`` is that of ``PUT /collections``."""
        return self._api.create_collection(self.name, **recipe)

    def drop(self) -> None:
        """Delete the collection with all it holds."""
        self._api.delete_collection(self.name)

    def add(
        self,
        data: Any,  # noqa: ANN401  a frame, a table, a path or texts
        *,
        text: str | None = None,
        id: str | None = None,
        part: str | None = None,
        metadata: Sequence[str] | None = None,
        progress: bool | Watch | None = None,
    ) -> Added:
        """Index documents, replacing those with the same ids; unchanged ones are skipped.

        ``data`` is a frame or a series of pandas or polars, an Arrow table, stream or array, a list of texts or of
        objects, one object, or the ``Path`` of a file of CSV or NDJSON; ``SpanseekError`` is raised for anything else.
        It is sent as it is read, in bounded memory. ``text``, ``id`` and ``part`` name columns; rows with one id are
        the parts of one document if ``part`` orders them. ``metadata`` names the columns of metadata: all others
        without it. Makes the collection if it is not there. ``progress`` draws a bar.
        """
        watch = watcher(progress)
        if isinstance(data, Path):
            columns = {"text_column": text, "id_column": id, "part_column": part, "metadata_columns": metadata}
            return self._add_table(data, columns, watch)
        pieces = lines_of(documents_of(data, Columns(text or "text", id, part, metadata)))
        stores_text = (self._described_or_made()).store_text
        first = next(pieces, b"")
        if not first:
            return Added()
        second = next(pieces, None)
        if stores_text and (second is not None or len(first) > 2 * PIECE):
            whole = chain([first], [] if second is None else [second], pieces)
            return self._followed(self._api.import_documents(self.name, _sent(whole)), watch)
        added = Added()
        for piece in chain([first], [] if second is None else [second], pieces):
            written = self._api.put_documents(self.name, piece)
            if isinstance(written, TaskDescription):
                added += self._followed(written, watch)
            else:
                added += Added.of_answer(written)
        return added

    def add_file(
        self,
        path: str | PathLike[str],
        *,
        name: str | None = None,
        progress: bool | Watch | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Added:
        """Index a file of any format that `spanseek index` reads, such as PDF, Office and e-mail, as it is.

        ``name``, the file's own without it, says what it is, and is the id of a file that is one document. ``options``
        are those of ``POST /collections/{collection}/files``. ``lost`` and ``notice`` of the answer say what of its
        text is not in the index, and what is doubtful. Makes the collection if it is not there.
        """
        file = Path(path)
        self._described_or_made()
        task = self._api.add_file(self.name, _sent(pieces_of(file)), name=name or file.name, **options)
        return self._followed(task, watcher(progress))

    def _add_table(self, path: Path, columns: Mapping[str, Any], watch: Watch) -> Added:
        kind = file_type(path)
        is_csv = kind.content_type == "text/csv"
        if not is_csv and any(each is not None for each in columns.values()):
            return self.add_file(path, progress=watch, **columns)
        self._described_or_made()
        task = self._api.import_documents(
            self.name,
            _sent(pieces_of(path)),
            content_type=kind.content_type,
            content_encoding=kind.content_encoding,
            **columns if is_csv else {},
        )
        return self._followed(task, watch)

    def _described_or_made(self) -> CollectionDescription:
        try:
            return self.describe()
        except CollectionNotFound:
            return self.create()

    def _followed(self, task: TaskDescription, watch: Watch) -> Added:
        return Added.of_task(self._ended(task, watch))

    def _ended(self, task: TaskDescription, watch: Watch) -> TaskDescription:
        """A task once it is done. Raises ``TaskFailed``."""
        while task.finished_at is None:
            watch(task)
            task = self._api.get_task(task.id, wait=_LOOK_S)
            if task.waiting is not None:
                sleep(_LOOK_S)
        watch(task)
        if task.status != "done":
            raise TaskFailed(task)
        return task

    def search(
        self,
        text: str | None = None,
        *,
        k: int = 10,
        filter: FilterLike | None = None,
        threshold: Threshold | None = None,
        context: int = 80,
        **options: Any,  # noqa: ANN401
    ) -> Hits:
        """The spans that mean the same as a text, best first. ``options`` are those of ``POST /search``."""
        fields = self._query(text, filter, threshold, context, options)
        answer = self._api.search(top_k=k, **fields)
        return Hits(answer.hits, answer)

    def search_each(
        self,
        texts: str | Iterable[str],
        *,
        k: int = 10,
        filter: FilterLike | None = None,
        threshold: Threshold | None = None,
        context: int = 80,
        **options: Any,  # noqa: ANN401
    ) -> list[Hits]:
        """The hits of several texts, in one request. Raises the error of the first text that has one."""
        fields = self._query(None, filter, threshold, context, options)
        given = {name: value for name, value in fields.items() if value is not None}
        queries = [given | {"text": text, "top_k": k} for text in listed(texts)]
        results = (self._api.search_batch(queries=queries)).results
        return [_hits(result or {}) for result in results]

    def search_all(
        self,
        text: str,
        *,
        filter: FilterLike | None = None,
        threshold: Threshold | None = None,
        limit: int = 100_000,
        **options: Any,  # noqa: ANN401
    ) -> Iterator[Hit]:
        """All hits of a text, as they arrive, best first."""
        fields = self._query(text, filter, threshold, 0, options)
        for line in self._api.export_hits(limit=limit, **fields):
            if "document_id" in line:
                yield Hit.model_validate(line)

    def mine(
        self,
        phrases: str | Mapping[str, object] | Iterable[str | Mapping[str, object]],
        *,
        filter: FilterLike | None = None,
        threshold: float | FoundThreshold | None = None,
        count_by: Sequence[str] = (),
        progress: bool | Watch | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Mined:
        """Find all hits of up to 10,000 phrases above a threshold, by a task, and count them.

        ``phrases`` are texts, or objects with ``text`` and ``name``; ``count_by`` names metadata, such as ``team`` and
        ``part.speaker``, by whose values hits are counted, too. ``options`` are those of ``POST /mine``. The hits
        themselves are the lines of ``db.api.get_mined(mined.id, "hits")``.
        """
        asked = [{"text": each} if isinstance(each, str) else each for each in listed(phrases)]
        fields = {"filter": filter_body(filter), "count_by": count_by, **threshold_fields(threshold), **options}
        task = self._api.mine(collection=self.name, phrases=asked, **fields)
        done = self._ended(task, watcher(progress))
        return Mined(done.id, [MinedCount(**row) for row in self._api.get_mined(done.id, "counts")])

    def _query(
        self,
        text: str | None,
        filter: FilterLike | None,
        threshold: Threshold | None,
        context: int,
        options: Mapping[str, Any],
    ) -> dict[str, Any]:
        asked = {"collection": self.name, "text": text, "filter": filter_body(filter), "context": context}
        return asked | threshold_fields(threshold) | dict(options)

    def threshold(
        self,
        phrase: str,
        *,
        precision: float = 0.9,
        labels: Any,  # noqa: ANN401  a frame, a table or a list
        activate: bool = False,
        **options: Any,  # noqa: ANN401
    ) -> FoundThreshold:
        """The lowest threshold whose hits have this precision, by labels of at least twenty texts or spans.

        ``labels`` are pairs of a text and whether it matches, or rows with ``text`` or ``span`` and ``match``. They fit
        a calibration, which is stored, and with ``activate`` in force. Raises ``LabelsRefused``, ``ThresholdNotFound``.
        """
        answer = self._api.calibrate(
            self.name, labels=labels_of(labels, phrase), precision=precision, activate=activate, **options
        )
        return found_threshold(answer, precision)

    def read(self, id: str) -> StoredDocument:
        """A document with its text and its parts. Raises ``DocumentNotFound``."""
        return self._api.get_document(self.name, id)

    def delete(self, ids: str | Iterable[str]) -> DeletedDocuments:
        """Delete documents; those that are not there do no harm."""
        return self._api.delete_documents(self.name, ids=listed(ids))

    def documents(self, filter: FilterLike | None = None) -> Iterator[ListedDocument]:
        """All documents by id, with their metadata and the beginnings of their texts, page by page."""
        cursor: str | None = None
        while True:
            page = self._api.list_documents(self.name, limit=1000, cursor=cursor, filter=filter_text(filter))
            for document in page.documents:
                yield document
            cursor = page.cursor
            if cursor is None:
                return

    def export(self, filter: FilterLike | None = None) -> Iterator[dict[str, Any]]:
        """All documents with their texts, in a form that ``add`` takes."""
        for document in self._api.export_documents(self.name, filter=filter_text(filter)):
            yield document

    def matches(self, phrases: Sequence[str] | None = None, cursor: str | None = None) -> Iterator[Event]:
        """The events of saved phrases' matches, from a cursor on up to the last one there is."""
        more = True
        while more:
            page = self._api.read_matches(self.name, cursor=cursor, limit=1000, phrase=phrases)
            for event in page.events:
                yield event
            cursor, more = page.cursor, page.more

    def phrases(self) -> Iterator[PhraseDescription]:
        """All saved phrases, page by page."""
        cursor: str | None = None
        while True:
            page = self._api.list_phrases(self.name, limit=1000, cursor=cursor)
            for phrase in page.phrases:
                yield phrase
            cursor = page.cursor
            if cursor is None:
                return


def _sent(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece


def _hits(result: Mapping[str, Any]) -> Hits:
    """The hits of one query of a batch, or the error that it got."""
    if "error" in result:
        raise failed_query(result["error"])
    answer = SearchAnswer.model_validate(result)
    return Hits(answer.hits, answer)
