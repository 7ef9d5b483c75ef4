"""Filters and tombstones are part of the scan: what they leave out is not read, and takes nobody's place."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from indexer.engine.executor import Executor
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Generation, Recipe
from models.types import Document, Part, SpanBounds
from tests.executors import found_by
from tests.materialized import MaterializedExecutor
from tests.waiting import PATIENCE_S

RECIPE = Recipe("none", "none", 16, SpanBounds(1, 3))
QUERY = np.eye(1, RECIPE.dim, dtype=np.float32)

# Five documents of one block each. The third is wanted; of the fourth the first few units may be read, because the scan
# does not look where parts end. The memory that holds the vectors of the others is taken away.
CHILD = """
import ctypes, mmap, sys
from pathlib import Path
import numpy as np
from tests.contracts.test_executor_filters import QUERY, RECIPE, found, opened
from indexer.segments.layout import BLOCK

view = opened(Path(sys.argv[1]), dead=[])
stored = np.array(view.segment.vectors)
memory = mmap.mmap(-1, stored.nbytes)
copy = np.frombuffer(memory, np.int8).reshape(stored.shape)
copy[:] = stored
copy.flags.writeable = False
view.segment.vectors = copy
page = BLOCK * RECIPE.dim
assert page == mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
for block in (0, 1, 4):
    assert libc.mprotect(ctypes.c_void_p(copy.ctypes.data + block * page), page, 0) == 0
print(found(view, {"number": 2}), flush=True)
print(found(view, {}), flush=True)
"""


def opened(folder: Path, dead: list[int]) -> SegmentView:
    """Five documents of one block each; the lower its number, the nearer is a document to the query."""
    vectors = np.random.default_rng(1).normal(size=(BLOCK, RECIPE.dim)).astype(np.float32)
    spans = np.stack([np.arange(BLOCK) * 2, np.arange(BLOCK) * 2 + 1], axis=1)
    with SegmentWriter(folder / "segment", RECIPE) as writer:
        for number in range(5):
            document = Document(f"d{number}", (Part("x " * BLOCK),), {"number": number})
            writer.add_document(document, "", [PartUnits(spans, 0)])
            writer.add_vectors(vectors + 10 * (5 - number) * QUERY)
        segment = Segment(folder / "segment", writer.finish().manifest_sha256)
    return SegmentView(segment, np.array(dead, np.int64))


def found(view: SegmentView, wanted: dict, executor: Executor | None = None, top_k: int = 2) -> list[str]:
    selection = Selection(top_k, filter=Filter(wanted), group_by="document")
    (hits,) = found_by(executor or Executor(), Snapshot(Generation(1, (), RECIPE), [view]), QUERY, selection)
    return [hit.document_id for hit in hits]


@pytest.mark.parametrize("executor", [Executor(), MaterializedExecutor()], ids=lambda executor: executor.name)
def test_the_dead_take_nobodys_place(executor: Executor, tmp_path: Path) -> None:
    for number, dead in enumerate(([], [0], [0, 1], [0, 1, 2, 3, 4])):
        view = opened(tmp_path / str(number), dead)
        expected = [name for name in ("d0", "d1", "d2", "d3", "d4") if int(name[1]) not in dead][:2]
        assert found(view, {}, executor) == expected
        assert found(view, {"number": 2}, executor) == ([] if 2 in dead else ["d2"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="takes memory away as Linux does")
def test_the_units_of_other_documents_are_not_read(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert child.stdout == "['d2']\n", child.stderr
    # Without a filter the same search reads what is not there: the memory was taken away indeed.
    assert child.returncode == -signal.SIGSEGV
