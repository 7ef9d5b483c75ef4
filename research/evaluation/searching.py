"""Documents indexed into a scratch store and searched there, as any user would."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search.answers import Hit
from app.search.mode import load_modes
from app.search.service import SearchService
from indexer.catalog import schema
from indexer.catalog.collections import Catalog
from indexer.indexing.pipeline import IndexJob
from indexer.store import Store
from indexer.types import Recipe
from models.encoders.base import Encoder
from models.ops.span_score import COSINE, SpanScore
from models.types import Document, SpanBounds


@contextmanager
def scratch_store() -> Iterator[Store]:
    """An empty store in a temporary folder.

    >>> with scratch_store() as store:
    ...     store.catalog.collections()
    ()
    """
    with TemporaryDirectory(prefix="spanseek-") as folder:
        url = f"sqlite:///{folder}/catalog.sqlite3"
        schema.upgrade(url)
        with closing(Catalog(url)) as catalog:
            yield Store(Path(folder), catalog)


COLLECTION = "evaluation"
# Requests that share a pass over the memory and a forward pass; as many as a server's lanes serve together.
_BATCH = 32


def index_and_search(
    documents: Iterable[Document],
    encoder: Encoder,
    bounds: SpanBounds,
    requests: Sequence[SearchRequest],
    span_score: SpanScore = COSINE,
) -> list[tuple[Hit, ...]]:
    """The hits of every request to the collection ``COLLECTION``, which holds these documents.

    ``span_score`` is that of the encoder.

    >>> from models.encoders.hashing import HashingEncoder
    >>> from models.types import Part
    >>> documents = [Document("a", (Part("red car"),))]
    >>> requests = [SearchRequest(COLLECTION, text="car", top_k=1)]
    >>> [[hit.text for hit in hits] for hits in index_and_search(documents, HashingEncoder(), SpanBounds(), requests)]
    [['car']]
    """
    with scratch_store() as store:
        recipe = Recipe("evaluated", encoder.fingerprint, encoder.dim, bounds)
        IndexJob(store, encoder, store.catalog.create_collection(COLLECTION, recipe)).run(documents)
        service = SearchService(store, load_modes(Encoders.of({recipe.encoder: encoder}, span_score)))
        return list(search_in_batches(service, requests))


def search_in_batches(service: SearchService, requests: Sequence[SearchRequest]) -> Iterator[tuple[Hit, ...]]:
    """The hits of every request, in order, a batch at a time."""
    for begin in range(0, len(requests), _BATCH):
        yield from (answer.hits for answer in service.search(*requests[begin : begin + _BATCH]))
