"""A collection without texts beside one with them: bytes on disk, and the time to restore sentences.

Sentences are held-out ones of Wikipedia, or turns of a set such as ``sgd``, which has 1,976. Vectors of units are those
of the hashing encoder, as long as those of the encoder that ships. Both collections hold the same sentences, a document
each, and no words. Times are those of processors, which other load changes little.

    python -m research.benchmarks.text_free --data DATA
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from indexer.indexing.pipeline import IndexJob
from indexer.restorable.files import NAME, stored_restorable
from indexer.restorable.models import load_restorer_of
from indexer.restorable.pieces import pieces
from indexer.restorable.representation import restorable_details
from indexer.segments import layout
from indexer.store import Store
from indexer.types import Recipe
from models.encoders.hashing import HashingEncoder
from models.encoders.passes import Maker, UnitPass
from models.encoders.restorable.base import Restorer
from models.types import Document, Part
from research.benchmarks.http_latency import print_figures
from research.evaluation.searching import scratch_store
from research.training.restorable_data import held_out_texts

_DIM = 384
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Figures:
    """Bytes on disk, and milliseconds of processors; restoring is greedy."""

    sentences: int
    characters: int
    text_bytes: int
    with_text_bytes: int
    without_text_bytes: int
    restorable_bytes_per_sentence: float
    index_ms_per_sentence: float
    restore_alone_mean_ms: float
    restore_in_batches_ms: float
    exact: float


def measure(texts: Sequence[str], restorer: Restorer, restored: int) -> Figures:
    """Index the sentences with their texts and without, and restore some of them."""
    documents = [Document(str(number), (Part(text),)) for number, text in enumerate(texts)]
    with scratch_store() as store:
        stored, _ = _indexed(store, "with", documents, None)
        free, took = _indexed(store, "without", documents, restorer)
        (view, *_) = store.snapshot("without").views
        rows = stored_restorable(view.segment)
        memories = [rows.memory(row) for row in range(min(restored, len(rows)))]
        restorer.restore(memories[:1])
        alone = []
        for memory in memories:
            started = time.process_time()
            restorer.restore([memory])
            alone.append(1000 * (time.process_time() - started))
        started = time.process_time()
        back = [
            each.text
            for first in range(0, len(memories), _BATCH)
            for each in restorer.restore(memories[first : first + _BATCH])
        ]
        batched = 1000 * (time.process_time() - started) / len(memories)
        # A text may be several sentences to the product's splitter.
        sentences = [span.of(text) for text in texts for span in pieces(text, restorer)]
        return Figures(
            sentences=len(rows),
            characters=sum(map(len, texts)),
            text_bytes=stored[layout.TEXT],
            with_text_bytes=sum(stored.values()),
            without_text_bytes=sum(free.values()),
            restorable_bytes_per_sentence=round(
                sum(size for name, size in free.items() if name.startswith("restorable")) / len(rows), 1
            ),
            index_ms_per_sentence=round(1000 * took / len(texts), 2),
            restore_alone_mean_ms=round(fmean(alone), 1),
            restore_in_batches_ms=round(batched, 1),
            exact=round(sum(a == b for a, b in zip(back, sentences, strict=False)) / len(back), 4),
        )


def _indexed(
    store: Store, name: str, documents: Sequence[Document], restorer: Restorer | None
) -> tuple[dict[str, int], float]:
    """The sizes of a collection's files by name, and the processor's seconds that indexing took."""
    encoder = HashingEncoder(dim=_DIM)
    makers = {}
    if restorer is not None:
        makers[NAME] = Maker(restorable_details(restorer, store_text=False), restorer)
    forward = UnitPass(encoder, makers)
    recipe = Recipe("hashing", encoder.fingerprint, _DIM, details=forward.details)
    collection = store.catalog.create_collection(name, recipe)
    started = time.process_time()
    IndexJob(store, encoder, collection, forward=forward).run(documents)
    seconds = time.process_time() - started
    sizes: dict[str, int] = {}
    for view in store.snapshot(name).views:
        for path in view.segment.folder.iterdir():
            sizes[path.name] = sizes.get(path.name, 0) + path.stat().st_size
    return sizes, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the known sets")
    parser.add_argument("--source", default="wikipedia", help="sgd, multiwoz, taskmaster, multidogo or wikipedia")
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--restored", type=int, default=256, help="sentences to restore")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    texts = held_out_texts(arguments.data, arguments.source, "test", 1, arguments.sentences)
    restorer = load_restorer_of()
    texts = [text for text, fits in zip(texts, restorer.fits(texts), strict=True) if fits]
    print_figures(measure(texts, restorer, arguments.restored), as_json=arguments.json)


if __name__ == "__main__":
    main()
