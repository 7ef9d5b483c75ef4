"""LanceDB: a table of passages with a column of many vectors each, and an IVF_PQ index over it."""

from collections.abc import Iterator
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa

from research.benchmarks.case import TOP_K, Case, Queries
from research.benchmarks.engines.base import Answers, folder_size

# Rows that are written at once.
_ROWS = 512
# An index needs rows to train on; smaller tables are searched whole, as LanceDB advises.
_ROWS_TO_INDEX = 256


class Lance:
    """Its own defaults, but that ten times the wanted passages are scored again with their true vectors."""

    def __init__(self, memory_limit: int) -> None:
        pass

    def build(self, case: Case, folder: Path) -> None:
        """Write the table and index its vectors."""
        schema = pa.schema({"passage": pa.int64(), "vectors": pa.list_(pa.list_(pa.float32(), case.info.dim))})
        table = lancedb.connect(str(folder)).create_table("passages", _batches(case, schema), schema=schema)
        if len(case.passage_units) > _ROWS_TO_INDEX:
            table.create_index(metric="cosine", vector_column_name="vectors")

    def open(self, case: Case, folder: Path) -> None:
        """Open the table."""
        self._table = lancedb.connect(str(folder)).open_table("passages")

    def search(self, queries: Queries) -> list[Answers]:
        """The best passages; one query at a time, because several would be taken for one."""
        return [self._search(tokens) for tokens in queries.tokens]

    def size(self, folder: Path) -> int:
        """The table, its vectors and the index."""
        return folder_size(folder)

    def _search(self, tokens: np.ndarray) -> Answers:
        query = (
            self._table.search(tokens, vector_column_name="vectors").refine_factor(10).limit(TOP_K).select(["passage"])
        )
        return query.to_arrow().column("passage").to_numpy().astype(np.int64)


def _batches(case: Case, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    bounds = case.passage_units
    for first in range(0, len(bounds) - 1, _ROWS):
        numbers = range(first, min(first + _ROWS, len(bounds) - 1))
        vectors = [case.passage_vectors(number) for number in numbers]
        values = pa.array(np.concatenate(vectors).reshape(-1))
        offsets = np.cumsum([0, *(len(each) for each in vectors)]).astype(np.int32)
        lists = pa.ListArray.from_arrays(offsets, pa.FixedSizeListArray.from_arrays(values, case.info.dim))
        yield pa.record_batch([pa.array(numbers), lists.cast(schema.field("vectors").type)], schema=schema)
