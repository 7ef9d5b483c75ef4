"""A store in a folder, the hashing encoder, and the shortest way from documents to hits."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from itertools import count
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from app.calibration.service import ThresholdService
from app.collections.reading import DocumentReader
from app.collections.recipes import CollectionOptions, with_representations
from app.encoders.encoders import Encoders
from app.phrases.service import PhraseService
from app.requests import SearchRequest
from app.search.answers import Hit
from app.search.mode import load_modes
from app.search.service import SearchService
from indexer.catalog.collections import Catalog
from indexer.catalog.schema import upgrade
from indexer.engine.executor import Executor
from indexer.indexing.pipeline import IndexJob, IndexReport, JobHooks
from indexer.indexing.segment_maker import SegmentMaker
from indexer.representations.registry import representations
from indexer.restorable.models import Restoring
from indexer.segments.storage import Segments
from indexer.sources import Record
from indexer.store import Store
from indexer.types import Collection, Recipe
from models.encoders.base import Encoder
from models.encoders.hashing import HashingEncoder
from models.encoders.restorable.base import Restorer
from models.ops.span_score import COSINE, SpanScore
from models.types import Document, Part, SpanBounds
from tests.byte_restorer import ByteRestorer

# Whatever a segment can store, with the default options.
ALL_REPRESENTATIONS = {name: {} for name in representations()}


def document(id: str, *texts: str, **metadata: Any) -> Document:
    return Document(id, tuple(map(Part, texts)), metadata)


def records(pairs: Iterable[tuple[str, str]]) -> list[Record]:
    return [document(id, text) for id, text in pairs]


def encoders_of(encoder: Encoder, restorer: Restorer | None = None, span_score: SpanScore = COSINE) -> Encoders:
    """The models of a server whose one encoder is named hashing."""
    encoders = Encoders.of({"hashing": encoder}, span_score)
    encoders.share(Restoring, Restoring(encoders, lambda: restorer or ByteRestorer()))
    return encoders


def migrated(path: Path) -> Path:
    """The file of a catalog with all tables: one that is there, or a copy of an empty one, quickly made."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_empty_catalog())
    return path


@cache
def _empty_catalog() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.sqlite3"
        upgrade(f"sqlite:///{path}")
        return path.read_bytes()


class Workspace(AbstractContextManager["Workspace"]):
    """One collection, ``c``, unless another is named; with ``representations`` beside those of other arguments."""

    def __init__(
        self,
        folder: Path,
        encoder: Encoder | None = None,
        executor: Executor | None = None,
        grace_s: float = 0.0,
        *,
        nugget_ratio: float | None = None,
        words: bool = False,
        representations: Mapping[str, Any] | None = None,
        restorer: Restorer | None = None,
        store_text: bool = True,
        span_score: SpanScore = COSINE,
        segments: Segments | None = None,
        catalog_url: str = "",
    ) -> None:
        self.encoder = encoder or HashingEncoder()
        self.options = CollectionOptions(
            nugget_ratio=nugget_ratio,
            words=words,
            representations=dict(representations or {}),
            restorable=restorer is not None or None,
            store_text=store_text,
        )
        if catalog_url:
            upgrade(catalog_url)
        url = catalog_url or f"sqlite:///{migrated(folder / 'catalog.sqlite3')}"
        self.catalog = Catalog(url)
        # A clock that leaps makes every look at the store a fresh one.
        encoders = self.encoders = encoders_of(self.encoder, restorer, span_score)
        self.store = Store(
            folder,
            self.catalog,
            grace_s=grace_s,
            span_scores=encoders.span_score,
            executor=lambda: executor or Executor(),
            segments=segments,
            clock=count().__next__,
        )
        self.store.texts = encoders.texts
        self.service = SearchService(self.store, load_modes(encoders))
        self.reader = DocumentReader(self.store, encoders)
        self.phrases = PhraseService(self.store, encoders)
        self.thresholds = ThresholdService(self.store, self.service, encoders)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.catalog.close()

    def collection(self, name: str = "c", bounds: SpanBounds | None = None) -> Collection:
        recipe = Recipe("hashing", self.encoder.fingerprint, self.encoder.dim, bounds or SpanBounds())
        return self.catalog.create_collection(name, with_representations(recipe, self.encoders, self.options, None))

    def job(
        self,
        *,
        name: str = "c",
        bounds: SpanBounds | None = None,
        encoder: Encoder | None = None,
        segment_units: int = 500_000,
        publish_s: float = inf,
        merge: bool = True,
        maker: Callable[[Collection], SegmentMaker] | None = None,
        clock: Callable[[], float] = time.perf_counter,
        **hooks: Any,
    ) -> IndexJob:
        collection = self.collection(name, bounds)
        return IndexJob(
            self.store,
            encoder or self.encoder,
            collection,
            JobHooks(**hooks),
            forward=self.encoders.forward_pass(collection.recipe),
            segment_units=segment_units,
            publish_s=publish_s,
            merge=merge,
            maker=maker and maker(collection),
            clock=clock,
        )

    def index(self, records: Iterable[Record], **options: Any) -> IndexReport:
        return self.job(**options).run(records)

    def search(self, text: str | None = None, collection: str = "c", **options: Any) -> tuple[Hit, ...]:
        (answer,) = self.service.search(SearchRequest(collection, text=text, **options))
        return answer.hits

    def folders(self, name: str = "c") -> set[str]:
        """What lies on disk for a collection."""
        return {path.name for path in self.store.folder(self.catalog.collection(name)).iterdir()}

    def live(self, name: str = "c") -> set[str]:
        """The segments of the present generation."""
        return {item.info.name for item in self.catalog.live_generation(name).segments}

    def found(self, text: str, **options: Any) -> set[tuple[str, str]]:
        """Documents and texts of the hits that say exactly this."""
        hits = self.search(text, top_k=1000, threshold=0.999, **options)
        return {(hit.document_id, hit.text) for hit in hits}
