"""Input of all engines: one corpus, its vectors, and the queries with their exact answers, in one folder.

Engines with packages of their own run in environments of their own: this module needs numpy and jaxtyping alone.

=========================  ===========================================================================================
``case.json``              how the case was made; the files of vectors; bounds of span lengths
``document_units.npy``     int64 [documents + 1]: the first unit of every document, and the number of units
``part_units.npy``         int64 [parts + 1]: the same for parts, which no span crosses
``passage_units.npy``      int64 [passages + 1]: the same for passages, the documents of multi-vector engines
``query_texts.json``       the queries
``query_vectors.npy``      float32 [queries, dim]: one vector a query, of length 1
``query_tokens.npy``       float32 [tokens, dim]: the token vectors of all queries, of length 1
``query_bounds.npy``       int64 [queries + 1]: the first token of every query, and the number of tokens
``exact_spans.npy``        int64 [queries, k, 2]: the best spans that do not overlap, best first, then -1
``exact_cosines.npy``      float64 [queries, k]: their cosines, then -inf
=========================  ===========================================================================================
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int

# How many answers engines are asked for, and recall is counted in.
TOP_K = 10


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """One file of int8 vectors and one of their scales; as many rows in both."""

    codes: str
    scales: str
    units: int


@dataclass(frozen=True, slots=True)
class CaseInfo:
    """Origin, size, span bounds and files of vectors of a case. Two cases with the same ``made_of`` are the same."""

    made_of: dict[str, str | int]
    units: int
    dim: int
    shortest: int
    longest: int
    vectors: tuple[StoredVectors, ...]


@dataclass(frozen=True, slots=True)
class Queries:
    """Some queries, as text, as one vector each, and as the vectors of their tokens."""

    texts: Sequence[str]
    vectors: Float32[np.ndarray, "queries dim"]
    tokens: Sequence[Float32[np.ndarray, "_tokens dim"]]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: slice) -> "Queries":
        return Queries(self.texts[rows], self.vectors[rows], self.tokens[rows])


class Case:
    """An opened case. Vectors are mapped from the files of the segments: there is no second copy of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.info = read_info(folder)
        self.document_units: Int[np.ndarray, " documents_and_one"] = np.load(folder / "document_units.npy")
        self.part_units: Int[np.ndarray, " parts_and_one"] = np.load(folder / "part_units.npy")
        self.passage_units: Int[np.ndarray, " passages_and_one"] = np.load(folder / "passage_units.npy")
        self._codes = [
            np.memmap(folder / file.codes, np.int8, "r", shape=(file.units, self.info.dim))
            for file in self.info.vectors
        ]
        self._scales = [np.memmap(folder / file.scales, "<f4", "r", shape=(file.units,)) for file in self.info.vectors]
        self._starts = np.cumsum([0, *(file.units for file in self.info.vectors)])

    @property
    def codes(self) -> list[np.ndarray]:
        """The int8 vectors, file by file."""
        return list(self._codes)

    @cached_property
    def queries(self) -> Queries:
        """All queries."""
        texts: list[str] = json.loads((self.folder / "query_texts.json").read_text("utf-8"))
        tokens, bounds = np.load(self.folder / "query_tokens.npy"), np.load(self.folder / "query_bounds.npy")
        return Queries(texts, np.load(self.folder / "query_vectors.npy"), np.split(tokens, bounds[1:-1]))

    @cached_property
    def exact_spans(self) -> Int[np.ndarray, "queries k 2"]:
        """The best spans of every query."""
        return np.load(self.folder / "exact_spans.npy")

    @cached_property
    def exact_cosines(self) -> Float[np.ndarray, "queries k"]:
        """Their cosines."""
        return np.load(self.folder / "exact_cosines.npy")

    def vectors(self, begin: int, end: int) -> Float32[np.ndarray, "units dim"]:
        """The vectors of units ``begin:end``, as floats."""
        pieces = [np.zeros((0, self.info.dim), np.float32)]
        for codes, scales, start in zip(self._codes, self._scales, self._starts[:-1].tolist(), strict=True):
            rows = slice(max(0, begin - start), max(0, end - start))
            pieces.append(codes[rows].astype(np.float32) * scales[rows, None])
        return np.concatenate(pieces)

    def passage_vectors(self, passage: int) -> Float32[np.ndarray, "units dim"]:
        """The unit vectors of one passage, each of length 1."""
        begin, end = self.passage_units[passage : passage + 2].tolist()
        return unit_length(self.vectors(begin, end))


def unit_length(vectors: Float[np.ndarray, "rows dim"]) -> Float32[np.ndarray, "rows dim"]:
    """Vectors of length 1 in the same directions; a zero vector stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32)


def read_info(folder: Path) -> CaseInfo:
    """Read the ``CaseInfo`` of the case in a folder."""
    stored = json.loads((folder / "case.json").read_text("utf-8"))
    stored["vectors"] = tuple(StoredVectors(**file) for file in stored["vectors"])
    return CaseInfo(**stored)


def write_info(folder: Path, info: CaseInfo) -> None:
    """Write how a case was made: the last step of making it."""
    (folder / "case.json").write_text(json.dumps(asdict(info)), "utf-8")
