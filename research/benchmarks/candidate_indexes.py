"""FAISS indexes that select the blocks to scan: the engine's, of windows, and one of single units (ADR 8)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import faiss
import numpy as np
from jaxtyping import Float32, Int

from indexer.ann.inverted_lists import SEED, TRAINED_ON, empty_index, lists_for
from indexer.ann.windows import directions, window_spans, windows_of
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment
from models.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Setting:
    """Search effort: how many inverted lists to visit, and how many windows to take."""

    lists: int
    windows: int


class BlockIndex:
    """An index over one segment. ``nbytes`` is its size when stored."""

    def __init__(self, spans: "Spans", segment: Segment) -> None:
        windows = spans(segment)
        lists = lists_for(len(windows))
        self._index = empty_index(segment.recipe.dim, lists)
        sample = np.random.default_rng(SEED).permutation(len(windows))[: TRAINED_ON * lists]
        vectors = [batch for _, batch in directions(segment.vectors, segment.scales, windows[sample])]
        self._index.train(np.concatenate(vectors))
        for starts, batch in directions(segment.vectors, segment.scales, windows):
            self._index.add_with_ids(batch, starts)
        self.nbytes = len(faiss.serialize_index(self._index))

    def blocks(self, query: Float32[np.ndarray, " dim"], setting: Setting) -> Int[np.ndarray, " blocks"]:
        """Return the blocks in which the nearest windows start, each once."""
        faiss.ParameterSpace().set_index_parameter(self._index, "nprobe", setting.lists)
        (starts,) = self._index.search(query[None], setting.windows)[1]
        return np.unique(starts[starts >= 0] // BLOCK)


@dataclass(frozen=True, slots=True)
class CandidateIndex:
    """A kind of index by its name, with the settings at which it is measured."""

    name: str
    description: str
    settings: tuple[Setting, ...]
    build: Callable[[Segment], BlockIndex]


Spans = Callable[[Segment], Int[np.ndarray, "windows 2"]]


def _units(segment: Segment) -> Int[np.ndarray, "windows 2"]:
    return windows_of(segment.part_units, {1: 1})


def _windows(segment: Segment) -> Int[np.ndarray, "windows 2"]:
    return window_spans(segment.part_units, segment.recipe.bounds)


_SETTINGS = tuple(Setting(16 * times, 500 * times) for times in (1, 2, 4, 8, 16))
CANDIDATE_INDEXES = {
    index.name: index
    for index in (
        CandidateIndex("windows", "windows of the engine's two lengths", _SETTINGS, partial(BlockIndex, _windows)),
        CandidateIndex("units", "single units", _SETTINGS, partial(BlockIndex, _units)),
    )
}


def candidate_indexes(names: str) -> list[CandidateIndex]:
    """Return the indexes of these names, separated by commas, or ``all``. Raises ``InvalidInput`` for an unknown one.

    >>> [index.name for index in candidate_indexes("units,windows")]
    ['units', 'windows']
    """
    selected = list(CANDIDATE_INDEXES) if names == "all" else names.split(",")
    unknown = [name for name in selected if name not in CANDIDATE_INDEXES]
    if unknown:
        raise InvalidInput(
            f"There is no candidate index {', '.join(map(repr, unknown))}.",
            hint=f"Candidate indexes are: {', '.join(CANDIDATE_INDEXES)}.",
            field="indexes",
        )
    return [CANDIDATE_INDEXES[name] for name in selected]
