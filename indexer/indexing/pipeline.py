"""The indexing job: read | split | encode | write | publish, as generators composed.

A job can be killed at any moment and run again: published documents are skipped by their content
hashes, and unpublished ones leave no trace.
"""

import re
import resource
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Literal

from indexer.catalog.leases import Lease, lease
from indexer.errors import RecipeMismatch
from indexer.indexing.encode import EncodedDocuments, SplitDocument, encode, split
from indexer.indexing.maintenance import sweep, tidy
from indexer.indexing.matching import publish_matched
from indexer.indexing.new_segment import new_segment
from indexer.patience import Busy
from indexer.representations.registry import representations
from indexer.segments.writer import SegmentWriter
from indexer.sources import BadRecord, Record
from indexer.sources.documents import content_hash
from indexer.store import Store
from indexer.types import Collection, Recipe
from indexer.words.recipe import DETAILS, has_words
from indexer.words.recipe import NAME as WORDS
from models.atomic import make_folder
from models.encoders.base import Encoder
from models.encoders.passes import ForwardPass, Maker, UnitPass
from models.types import Document, JsonValue

# Documents are looked up and tokenized in batches.
_BATCH_DOCUMENTS = 256
_BATCH_CHARACTERS = 1_000_000
# The memory of a part beside its text, in characters.
_PART_CHARACTERS = 64
# Seconds after which what was read is looked up, and after which work is published: what a killed job loses.
_BATCH_S = 2.0
_PUBLISH_S = 5.0
# The reasons that a report names, and those that are told apart: they may quote records.
_REASONS, _KINDS_OF_REASONS = 20, 1_000
_DIGITS = re.compile(r"\d[\d,.]*")


@dataclass(slots=True)
class IndexReport:
    """The progress of a job. Units, bytes and seconds count the job, not the collection.

    ``rows`` counts the rows of every representation besides units, ``reasons`` the skipped records by their reasons, in
    which numbers are ``N``. Of the characters ``read``, ``encoded`` were encoded and ``passed`` needed no encoding.
    """

    documents: int = 0
    unchanged: int = 0
    parts: int = 0
    units: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    skipped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    unknown_units: int = 0
    bytes_on_disk: int = 0
    generation: int = 0
    seconds: float = 0.0
    units_per_second: float = 0.0
    peak_rss_mb: float = 0.0
    read: int = 0
    encoded: int = 0
    passed: int = 0

    def to_json(self) -> dict[str, JsonValue]:
        """Return all figures, with the rows of every known representation as ``units`` are."""
        figures = asdict(self)
        for name in ("read", "encoded", "passed"):
            del figures[name]
        reasons, rows = dict(Counter(figures.pop("reasons")).most_common(_REASONS)), figures.pop("rows")
        return figures | {"skipped_by_reason": reasons} | dict.fromkeys(representations(), 0) | rows


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one document: published, unchanged, or failed."""

    document_id: str
    status: Literal["indexed", "unchanged", "failed"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class JobHooks:
    """Callbacks of a job."""

    progress: Callable[[IndexReport], None] = lambda report: None
    bad_record: Callable[[BadRecord], None] = lambda record: None
    settled: Callable[[Outcome], None] = lambda outcome: None
    stop: Callable[[], bool] = lambda: False
    busy: Busy | None = None  # without it waits as the catalog says


class IndexJob:
    """Brings records into one collection: new documents are added, changed ones replaced, equal ones skipped.

    A segment is published after ``publish_s`` seconds of work, or ``segment_units`` units, together with the matches of
    saved phrases: a kill loses at most that much work. Segments that are due are merged, unless ``merge`` is false.
    """

    def __init__(
        self,
        store: Store,
        encoder: Encoder,
        collection: Collection,
        hooks: JobHooks | None = None,
        *,
        forward: ForwardPass | None = None,
        segment_units: int = 500_000,
        publish_s: float = _PUBLISH_S,
        merge: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._forward = _checked_pass(collection.recipe, encoder, forward)
        self._collection = collection
        self._segment_units = segment_units
        self._publish_s = publish_s
        self._merge = merge
        self._clock = clock
        self._hooks = hooks or JobHooks()
        self._folder = store.folder(collection)
        # Content hashes of documents for the next segments, which are not in the catalog yet.
        self._under_way: dict[str, str] = {}
        self._started = self._published = self._clock()
        self.report = IndexReport(generation=collection.generation)

    def run(self, records: Iterable[Record]) -> IndexReport:
        """Index all records. When ``hooks.stop`` returns True, publish the records read so far and return."""
        self._started = self._published = self._clock()
        with lease(self._store.catalog, self._collection.name, again=self._hooks.busy) as held:
            make_folder(self._folder)
            sweep(self._store, held)
            documents = self._split(self._changed(self._read(records)))
            pools = encode(self._encoder, documents, self._encoder.batch_tokens, self._forward, clock=self._clock)
            self._write(pools, held)
            kept = tidy(self._store, held, self._hooks.stop) if self._merge else None
            if kept is not None:
                self.report.generation = kept.generation
        self._tell()
        return self.report

    def _tell(self) -> None:
        self.report.seconds = round(self._clock() - self._started, 3)
        self.report.units_per_second = round(self.report.units / max(self.report.seconds, 1e-3), 1)
        self.report.peak_rss_mb = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
        self._hooks.progress(self.report)

    def _read(self, records: Iterable[Record]) -> Iterator[Document]:
        for record in records:
            if self._hooks.stop():
                return
            if isinstance(record, BadRecord):
                self._skip(record)
            else:
                self.report.read += len(record.text)
                yield record

    def _skip(self, record: BadRecord) -> None:
        self.report.skipped += 1
        reason, reasons = _DIGITS.sub("N", record.reason), self.report.reasons
        if len(reasons) >= _KINDS_OF_REASONS and reason not in reasons:
            reason = "other reasons"
        reasons[reason] = reasons.get(reason, 0) + 1
        self._hooks.bad_record(record)

    def _changed(self, documents: Iterable[Document]) -> Iterator[list[tuple[Document, str]]]:
        """Batches of new and changed documents, with their content hashes.

        Of an id that occurs twice the last document counts. Within a batch it is the only one.
        """
        for batch in _batches(documents, self._clock):
            last = {document.id: document for document in batch}
            stored = self._store.catalog.content_hashes(self._collection.name, last) | self._under_way
            hashed = {document.id: content_hash(document) for document in last.values()}
            changed = [(last[id], value) for id, value in hashed.items() if stored.get(id) != value]
            self._under_way |= {document.id: value for document, value in changed}
            self.report.unchanged += len(last) - len(changed)
            self.report.passed += sum(len(one.text) for one in batch) - sum(len(one.text) for one, _ in changed)
            for id in last.keys() - {document.id for document, _ in changed}:
                self._hooks.settled(Outcome(id, "unchanged"))
            yield changed

    def _split(self, batches: Iterable[list[tuple[Document, str]]]) -> Iterator[SplitDocument]:
        form = self._collection.recipe.text
        for item in chain.from_iterable(split(self._encoder, batch, form) for batch in batches):
            if item.longest_unit > self._encoder.window:
                reason = f"one unit has {item.longest_unit} tokens; the encoder reads {self._encoder.window} at once"
                self._arrived(item.document.id, item.content_hash)
                self.report.passed += len(item.document.text)
                self._skip(BadRecord(f"document {item.document.id}", reason))
                self._hooks.settled(Outcome(item.document.id, "failed", reason))
            else:
                yield item

    def _write(self, pools: Iterable[EncodedDocuments], held: Lease) -> None:
        """Write segments until the pools are exhausted."""
        left = iter(pools)
        for first in left:
            with new_segment(self._store, held) as folder, SegmentWriter(folder, self._collection.recipe) as writer:
                self._fill(writer, chain([first], left))
                if writer.rows:
                    self._publish(writer, held)
                else:
                    shutil.rmtree(writer.folder)
            if self._merge:
                tidy(self._store, held, self._hooks.stop, windows=False)
            self._published = self._clock()

    def _fill(self, writer: SegmentWriter, pools: Iterable[EncodedDocuments]) -> None:
        for pool in pools:
            self._append(writer, pool)
            self._tell()
            is_due = writer.units >= self._segment_units or self._clock() - self._published >= self._publish_s
            if writer.is_whole and is_due:
                return

    def _append(self, writer: SegmentWriter, pool: EncodedDocuments) -> None:
        for item in pool.documents:
            parts = item.part_units
            writer.add_document(item.document, item.content_hash, parts)
            self.report.documents += 1
            self.report.parts += len(parts)
            self.report.encoded += len(item.document.text)
            self.report.unknown_units += sum(part.unknown for part in parts)
        writer.add_vectors(pool.vectors, pool.rows)
        self.report.units += len(pool.vectors)
        for name, rows in pool.rows.items():
            self.report.rows[name] = self.report.rows.get(name, 0) + len(rows)

    def _publish(self, writer: SegmentWriter, held: Lease) -> None:
        info = writer.finish()
        info = replace(info, name=self._store.segments.settle(writer.folder))
        self.report.generation = publish_matched(self._store, held, info, writer.rows)
        self.report.bytes_on_disk += info.bytes
        for row in writer.rows:
            self._arrived(row.document_id, row.content_hash)
            self._hooks.settled(Outcome(row.document_id, "indexed"))

    def _arrived(self, document_id: str, content_hash: str) -> None:
        if self._under_way.get(document_id) == content_hash:
            del self._under_way[document_id]


def _checked_pass(recipe: Recipe, encoder: Encoder, forward: ForwardPass | None) -> ForwardPass:
    """The forward pass of a job. Raises ``RecipeMismatch`` if its outputs differ from the recipe."""
    if not recipe.details:
        return UnitPass(encoder)
    forward = forward or UnitPass(encoder, {WORDS: Maker(DETAILS)} if has_words(recipe) else {})
    for name in sorted({*recipe.details, *forward.details}):
        details = recipe.details.get(name, {"fingerprint": "none"})
        if forward.details.get(name) != details:
            has = forward.details.get(name, {}).get("fingerprint", f"no encoder of {name}")
            raise RecipeMismatch(
                f"The collection's {name} are of {details['fingerprint']}; here is {has}.",
                hint=f"Use the weights its {name} were indexed with, or index its documents into a new collection.",
                field="collection",
            )
    return forward


def _batches(documents: Iterable[Document], clock: Callable[[], float]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    characters, begun = 0, clock()
    for document in documents:
        batch.append(document)
        characters += len(document.text) + _PART_CHARACTERS * len(document.parts)
        is_full = len(batch) >= _BATCH_DOCUMENTS or characters >= _BATCH_CHARACTERS
        if is_full or clock() - begun >= _BATCH_S:
            yield batch
            batch, characters, begun = [], 0, clock()
    if batch:
        yield batch
