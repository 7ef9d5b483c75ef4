"""Makes segments on the actors of a cluster: documents are cut into blocks, and an actor makes a segment of each block.

The job that reads documents and publishes segments stays in one process. An actor takes about ten seconds per block, so
that many actors soon have work, and merging keeps up with the number of segments.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from indexer.errors import SegmentsUnavailable
from indexer.indexing.segment_maker import PUBLISH_S, Hashed, Made, Step
from indexer.segments.storage import Segments
from indexer.sources.documents import weight
from spanseek_ray.encoder_actors import Worker
from spanseek_ray.encoder_pool import Block, EncoderPool
from spanseek_ray.settings import ClusterOptions

# Characters of the first blocks, and the most of a unit: twice those of English.
_FIRST_CHARACTERS: Final = 2**14
_CHARACTERS_A_UNIT: Final = 10
# Seconds in which an actor is to encode a block.
_BLOCK_S: Final = 10.0


@dataclass(slots=True)
class Pace:
    """The characters of the next block: as many as an actor encodes in ten seconds, ``most`` at most.

    >>> pace = Pace(most=100_000)
    >>> pace.encoded(16_384, seconds=1.0)
    >>> pace.characters
    32768
    """

    most: int
    characters: int = field(init=False)

    def __post_init__(self) -> None:
        self.characters = min(_FIRST_CHARACTERS, self.most)

    def encoded(self, characters: int, seconds: float) -> None:
        """Learn from a block; the next one has at most twice as many characters."""
        wanted = round(characters * _BLOCK_S / max(seconds, 1e-9))
        self.characters = max(1, min(wanted, 2 * self.characters, self.most))


class ClusterMaker:
    """Makes the segments of a collection on a pool of actors, which start when there is something to encode.

    ``make`` creates the segment maker of an actor, in the actor's process. With ``by_gpu``, the actors use the GPUs of
    the cluster, if it has any. Actors must write segments where this process finds them: in a shared folder or a
    bucket.
    """

    def __init__(
        self,
        segments: Segments,
        collection_id: str,
        make: Callable[[], Worker],
        options: ClusterOptions,
        *,
        by_gpu: bool = True,
        segment_units: int = 500_000,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._segments, self._collection_id, self._clock = segments, collection_id, clock
        self._pool = EncoderPool(make, options, by_gpu=by_gpu)
        self._pace = Pace(segment_units * _CHARACTERS_A_UNIT)

    @property
    def under_way(self) -> Sequence[str]:
        """The names of segments that actors are making, or that are finished and may not be published yet."""
        return self._pool.under_way

    def steps(self, batches: Iterable[Sequence[Hashed]]) -> Generator[Step, None, None]:
        """The outcome of documents, in their order."""
        blocks = self._blocks(batches)
        first = next(blocks, None)
        if first is None:
            return
        with self._pool:
            for block in self._pool.answered(chain([first], blocks)):
                yield from self._steps(block)

    def _blocks(self, batches: Iterable[Sequence[Hashed]]) -> Iterator[Block]:
        """Group documents into blocks. A block waits at most about ``PUBLISH_S`` seconds for a slow source."""
        documents: list[Hashed] = []
        characters, begun = 0, self._clock()
        for batch in batches:
            for document, content_hash in batch:
                documents.append((document, content_hash))
                characters += weight(document)
                if characters >= self._pace.characters:
                    yield Block(documents, characters)
                    documents, characters, begun = [], 0, self._clock()
            if documents and self._clock() - begun >= PUBLISH_S:
                yield Block(documents, characters)
                documents, characters, begun = [], 0, self._clock()
        if documents:
            yield Block(documents, characters)

    def _steps(self, block: Block) -> Iterator[Step]:
        if block.answer is None:
            raise AssertionError("a block is done that has no answer")
        self._pace.encoded(block.characters, block.answer.seconds)
        for step in block.answer.steps:
            if isinstance(step, Made):
                self._require_found(step.info.name)
            yield step

    def _require_found(self, name: str) -> None:
        """Raise ``SegmentsUnavailable`` if this process cannot find a segment that an actor has written.

        The documents of such a segment would be lost if it were published.
        """
        if name not in self._segments.names(self._collection_id):
            raise SegmentsUnavailable(
                f"An actor has written the segment {name}, and it is not in {self._segments.root}.",
                hint="Mount the data folder at the same path on every node, or set SPANSEEK_SEGMENTS_URL.",
            )
