"""Ways to find candidates: each says, for a query, in which blocks of a segment to look for its best spans.

FAISS indexes differ in what stands in them (units, or windows of some lengths) and in how a vector is coded. The sketch
is no index: it reads a little of every unit.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import faiss
import numpy as np
from jaxtyping import Float32, Int

from indexer.ann.inverted_lists import SEED, TRAINED_ON, empty_index, lists_for
from indexer.ann.windows import directions, window_spans, windows_of
from indexer.kernels.common import RUNS
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment
from models.errors import InvalidInput
from research.benchmarks.sketch import make_sketch

# Links of a vector in a graph, on every level but the lowest, and candidates while it is built.
_LINKS, _BREADTH = 16, 40


@dataclass(frozen=True, slots=True)
class Setting:
    """How hard to look: lists of an index to visit, or candidates to keep in a graph; and how many to take.

    A way that visits everything has 0 for the first. What the sketch takes are runs of units.
    """

    visited: int
    taken: int


class Finder(ABC):
    """A way on one segment, built. ``nbytes`` is its size as it would be stored."""

    nbytes: int

    @abstractmethod
    def blocks(self, query: Float32[np.ndarray, " dim"], setting: Setting) -> Int[np.ndarray, " blocks"]:
        """The blocks of units in which to look, each once."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way by its name, with the settings at which it is measured."""

    name: str
    what: str
    settings: tuple[Setting, ...]
    build: Callable[[Segment], Finder]


class Sketched(Finder):
    """The runs of units that look best in two bits a direction."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._sketch = make_sketch(segment)
        self.nbytes = self._sketch.nbytes

    def blocks(self, query: Float32[np.ndarray, " dim"], setting: Setting) -> Int[np.ndarray, " blocks"]:
        """The blocks of the best runs."""
        best = self._sketch.best_of_runs(self._segment, query)
        taken = min(setting.taken, len(best))
        return np.unique(np.argpartition(best, len(best) - taken)[len(best) - taken :] // RUNS)


class Indexed(Finder):
    """The blocks in which the windows start that a FAISS index says are nearest."""

    effort = "nprobe"

    def __init__(self, spans: "Spans", empty: "Empty", segment: Segment) -> None:
        windows = spans(segment)
        self._index = empty(segment.recipe.dim, lists_for(len(windows)))
        sample = np.random.default_rng(SEED).permutation(len(windows))[: TRAINED_ON * lists_for(len(windows))]
        learnt = [of_some for _, of_some in directions(segment.vectors, segment.scales, windows[sample])]
        self._index.train(np.concatenate(learnt))
        for starts, of_some in directions(segment.vectors, segment.scales, windows):
            if len(starts):  # RaBitQ's fast scan refuses to add nothing
                self._index.add_with_ids(of_some, starts)
        self.nbytes = len(faiss.serialize_index(self._index))

    def blocks(self, query: Float32[np.ndarray, " dim"], setting: Setting) -> Int[np.ndarray, " blocks"]:
        """The blocks of the nearest windows."""
        faiss.ParameterSpace().set_index_parameter(self._index, self.effort, setting.visited)
        (starts,) = self._index.search(query[None], setting.taken)[1]
        return np.unique(starts[starts >= 0] // BLOCK)


class Linked(Indexed):
    """The same by a graph."""

    effort = "efSearch"


Spans = Callable[[Segment], Int[np.ndarray, "windows 2"]]
Empty = Callable[[int, int], faiss.Index]


def _of_strides(strides: Mapping[int, int], segment: Segment) -> Int[np.ndarray, "windows 2"]:
    return windows_of(segment.part_units, strides)


def _engines_own(segment: Segment) -> Int[np.ndarray, "windows 2"]:
    return window_spans(segment.part_units, segment.recipe.bounds)


def _products(dim: int, lists: int) -> faiss.Index:
    """The engine's own index."""
    return empty_index(dim, lists)


def _one_bit(suffix: str, dim: int, lists: int) -> faiss.Index:
    """RaBitQ wants vectors that have been rotated at random, which the first step does."""
    index = faiss.index_factory(dim, f"RR{dim},IVF{lists},RaBitQ{suffix}", faiss.METRIC_INNER_PRODUCT)
    faiss.extract_index_ivf(index).cp.seed = SEED
    return index


def _graph(dim: int, lists: int) -> faiss.Index:
    """A graph has no lists. Its vectors have four bits a dimension."""
    index = faiss.index_factory(dim, f"HNSW{_LINKS},SQ4", faiss.METRIC_INNER_PRODUCT)
    faiss.ParameterSpace().set_index_parameter(index, "efConstruction", _BREADTH)
    return faiss.IndexIDMap(index)


_SPANS: dict[str, tuple[Spans, str]] = {
    "units": (partial(_of_strides, {1: 1}), "units"),
    "windows5": (partial(_of_strides, {1: 1, 2: 1, 4: 2, 8: 4, 16: 8}), "windows of 1, 2, 4, 8 and 16 units"),
    "windows2": (_engines_own, "windows of the engine's two lengths"),
}
_CODES: dict[str, tuple[Empty, str]] = {
    "pq": (_products, "product quantization, 4 bits, fast scan"),
    "rabitq": (partial(_one_bit, ""), "RaBitQ, 1 bit"),
    "rabitq_fs": (partial(_one_bit, "fs"), "RaBitQ, 1 bit, fast scan"),
}
_LISTS = tuple(Setting(16 * times, 500 * times) for times in (1, 2, 4, 8, 16))


def _in_lists() -> list[Way]:
    return [
        Way(f"{spans_name}_{code_name}", f"{spans_what}; {what}", _LISTS, partial(Indexed, spans, empty))
        for spans_name, (spans, spans_what) in _SPANS.items()
        for code_name, (empty, what) in _CODES.items()
    ]


_GRAPH = Way(
    "windows2_hnsw",
    f"{_SPANS['windows2'][1]}; graph of {_LINKS} links, 4 bits a dimension",
    (Setting(500, 500), Setting(1_000, 1_000), Setting(2_000, 2_000)),
    partial(Linked, _engines_own, _graph),
)
_SKETCH = Way(
    "sketch",
    "every unit in 2 bits of 256 directions, all read",
    (Setting(0, 50), Setting(0, 200), Setting(0, 800)),
    Sketched,
)
WAYS = {way.name: way for way in [*_in_lists(), _GRAPH, _SKETCH]}


def ways(names: str) -> list[Way]:
    """The ways of these names, separated by commas, or ``all``. Raises ``InvalidInput`` for an unknown one.

    >>> [way.name for way in ways("sketch,units_pq")]
    ['sketch', 'units_pq']
    """
    wanted = list(WAYS) if names == "all" else names.split(",")
    unknown = [name for name in wanted if name not in WAYS]
    if unknown:
        raise InvalidInput(
            f"There is no way {', '.join(map(repr, unknown))}.", hint=f"Ways are: {', '.join(WAYS)}.", field="ways"
        )
    return [WAYS[name] for name in wanted]
