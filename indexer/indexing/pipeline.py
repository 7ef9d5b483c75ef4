"""The indexing job: read | make segments | publish, as generators composed.

A job can be killed at any moment and run again: published documents are skipped by their content
hashes, and unpublished ones leave no trace.
"""

import re
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Literal

from indexer.catalog.leases import Lease, lease
from indexer.errors import RecipeMismatch
from indexer.indexing.maintenance import sweep, tidy
from indexer.indexing.matching import publish_matched
from indexer.indexing.new_segment import publishing
from indexer.indexing.segment_maker import PUBLISH_S, Encoded, LocalMaker, Made, Refused, SegmentMaker, Step
from indexer.patience import Busy
from indexer.representations.registry import representations
from indexer.sources import BadRecord, Record
from indexer.sources.documents import content_hash, weight
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
# Seconds after which what was read is looked up.
_BATCH_S = 2.0
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
        """Return all figures, with one figure for the rows of every known representation."""
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
    ``maker`` makes the segments instead of this process.
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
        publish_s: float = PUBLISH_S,
        merge: bool = True,
        maker: SegmentMaker | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        recipe, passing = collection.recipe, _checked_pass(collection.recipe, encoder, forward)
        self._maker = maker or LocalMaker(
            store.segments,
            collection.id,
            recipe,
            encoder,
            passing,
            segment_units=segment_units,
            publish_s=publish_s,
            clock=clock,
        )
        self._store = store
        self._collection = collection
        self._merge = merge
        self._clock = clock
        self._hooks = hooks or JobHooks()
        self._folder = store.folder(collection)
        # Content hashes of documents for the next segments, which are not in the catalog yet.
        self._under_way: dict[str, str] = {}
        self._started = self._clock()
        self.report = IndexReport(generation=collection.generation)

    def run(self, records: Iterable[Record]) -> IndexReport:
        """Index all records. When ``hooks.stop`` returns True, publish the records read so far and return."""
        self._started = self._clock()
        with lease(self._store.catalog, self._collection.name, again=self._hooks.busy) as held:
            make_folder(self._folder)
            sweep(self._store, held)
            self._make(records, held)
            kept = tidy(self._store, held, self._hooks.stop) if self._merge else None
            if kept is not None:
                self.report.generation = kept.generation
        self._tell()
        return self.report

    def _make(self, records: Iterable[Record], held: Lease) -> None:
        maker = self._maker
        steps = maker.steps(self._changed(self._read(records)))
        with publishing(self._store, held, lambda: maker.under_way), closing(steps):
            for step in steps:
                self._take(step, held)

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

    def _take(self, step: Step, held: Lease) -> None:
        match step:
            case Encoded():
                self._count(step)
                self._tell()
            case Refused():
                self._refuse(step)
            case Made():
                self._publish(step, held)

    def _count(self, done: Encoded) -> None:
        report = self.report
        report.documents += done.documents
        report.parts += done.parts
        report.units += done.units
        report.unknown_units += done.unknown_units
        report.encoded += done.encoded
        for name, rows in done.rows.items():
            report.rows[name] = report.rows.get(name, 0) + rows

    def _refuse(self, refused: Refused) -> None:
        self._arrived(refused.document_id, refused.content_hash)
        self.report.passed += refused.characters
        self._skip(BadRecord(f"document {refused.document_id}", refused.reason))
        self._hooks.settled(Outcome(refused.document_id, "failed", refused.reason))

    def _publish(self, made: Made, held: Lease) -> None:
        self.report.generation = publish_matched(self._store, held, made.info, made.rows)
        self.report.bytes_on_disk += made.info.bytes
        for row in made.rows:
            self._arrived(row.document_id, row.content_hash)
            self._hooks.settled(Outcome(row.document_id, "indexed"))
        if self._merge:
            tidy(self._store, held, self._hooks.stop, windows=False, under_way=self._maker.under_way)

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
        characters += weight(document)
        is_full = len(batch) >= _BATCH_DOCUMENTS or characters >= _BATCH_CHARACTERS
        if is_full or clock() - begun >= _BATCH_S:
            yield batch
            batch, characters, begun = [], 0, clock()
    if batch:
        yield batch
