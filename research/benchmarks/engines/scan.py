"""Our own engines: the exact scan over segments, and the scan of the blocks in which candidates lie."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from indexer.ann.candidates import CandidateExecutor
from indexer.ann.windows import write_windows
from indexer.engine.executor import Executor
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRow
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.segments import layout
from indexer.segments.merge import Source, merge
from indexer.segments.reader import Segment
from indexer.segments.seal import Derive
from indexer.types import Generation
from research.benchmarks.case import TOP_K, Case, Queries
from research.benchmarks.engines.base import Answers

SEGMENTS = "segments.json"


class Scan:
    """Building writes the segments anew from their stored vectors: only the encoder's work is left out."""

    def __init__(self, memory_limit: int) -> None:
        self._executor = Executor()
        self._more: Sequence[Derive] = ()

    def build(self, case: Case, folder: Path) -> None:
        """Write segments with their inverse norms."""
        written = {}
        for segment in open_segments(case.folder):
            source = Source(segment, _all_documents(segment))
            info, _ = merge(folder / segment.folder.name, segment.recipe, [source], self._more)
            written[info.name] = info.manifest_sha256
        (folder / SEGMENTS).write_text(json.dumps(written), "utf-8")

    def open(self, case: Case, folder: Path) -> None:
        """Map the segments into memory."""
        segments = open_segments(folder)
        views = [SegmentView(segment, np.zeros(0, np.int64)) for segment in segments]
        self._snapshot = Snapshot(Generation(1, (), segments[0].recipe), views, executor=self._executor)
        ids = [id for segment in segments for id in segment.document_table.column("id").to_pylist()]
        self._first = dict(zip(ids, case.document_units.tolist(), strict=False))

    def search(self, queries: Queries) -> list[Answers]:
        """The best spans that do not overlap."""
        results = search(self._snapshot, SpanScan(queries.vectors), Selection(top_k=TOP_K), len(queries.vectors))
        return [self._units(spans) for spans in results]

    def size(self, folder: Path) -> int:
        """All files but the texts, which no other engine keeps."""
        texts = (layout.TEXT, layout.TEXT_BLOCKS)
        return sum(path.stat().st_size for path in folder.glob("*/*") if path.name not in texts)

    def _units(self, rows: list[SpanRow]) -> Answers:
        spans = [self._snapshot.scored(row) for row in rows]
        firsts = [self._first[span.document_id] for span in spans]
        ranges = [(first + span.units.start, first + span.units.end) for first, span in zip(firsts, spans, strict=True)]
        return np.array(ranges, np.int64).reshape(-1, 2)


class Candidates(Scan):
    """The same with windows in every segment, however small."""

    def __init__(self, memory_limit: int) -> None:
        super().__init__(memory_limit)
        self._executor = CandidateExecutor(few_blocks=0)
        self._more = [write_windows]


def open_segments(folder: Path) -> list[Segment]:
    """The segments below a folder that its list names, in its order."""
    named = json.loads((folder / SEGMENTS).read_text("utf-8"))
    return [Segment(folder / name, sha256) for name, sha256 in named.items()]


def _all_documents(segment: Segment) -> np.ndarray:
    return np.ones(segment.manifest.documents, bool)
