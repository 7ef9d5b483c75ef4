"""A search mode of another distribution, with an explanation of its own: one file and an entry point."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.requests import MODES
from app.search.mode import mode_classes

MODULE = '''
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.search.mode import Accepts, BatchQuery, Countable, Mode, Presented, Total
from app.requests import SearchRequest
from indexer.engine.executor import SegmentQuery
from indexer.engine.located import Located
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRows
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.types import Recipe
from models.errors import InvalidInput
from models.types import CharSpan


@dataclass(frozen=True, slots=True)
class SubstringExplanation:
    """How many letters of a hit are written otherwise than in the query."""

    cosine: float
    other_letters: int

    def lines(self) -> Iterator[str]:
        yield f"other letters {self.other_letters}"


@dataclass(frozen=True, slots=True)
class SubstringScan(SegmentQuery[None, list[SpanRows]]):
    """The spans of a segment that read as the queries do, whatever their case."""

    texts: tuple[str, ...]

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[SpanRows]:
        return [self._of(view, text, view.allowed(selection.filter).mask) for text in self.texts]

    def _of(self, view: SegmentView, text: str, mask: np.ndarray | None) -> SpanRows:
        spans = [unit for row in np.flatnonzero(view.live_documents).tolist() for unit in self._in(view, row, text)]
        starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
        chosen = np.ones(len(starts), bool) if mask is None else mask[starts]
        return SpanRows(view.name, starts[chosen], ends[chosen], np.ones(int(chosen.sum())))

    def _in(self, view: SegmentView, row: int, text: str) -> Iterator[tuple[int, int]]:
        starts = view.segment.text_starts
        whole = view.segment.text(row, CharSpan(0, int(starts[row + 1] - starts[row]))).lower()
        at = whole.find(text.lower())
        while at >= 0:
            units = Located(view, row).units(CharSpan(at, at + len(text)))
            yield units.start, units.end
            at = whole.find(text.lower(), at + 1)


class SubstringHits(Presented[str]):
    """Spans, with the letters that are written otherwise."""

    explanation = SubstringExplanation
    is_literal = False

    def explain(
        self, request: SearchRequest, query: str, span: ScoredSpan, total: Total
    ) -> SubstringExplanation:
        pairs = zip(span.place.text(span.span), query)
        return SubstringExplanation(span.cosine, sum(one != other for one, other in pairs))


class SubstringCounting(Countable[str]):
    """Texts that contain the query."""

    def text_cosines(self, queries: Sequence[str], texts: Sequence[str]) -> np.ndarray:
        return np.array([1.0 if query in text else -1.0 for query, text in zip(queries, texts)])


class Substring(Mode[str, str]):
    """Spans that read as the query does."""

    name = "substring"
    accepts = Accepts(boundaries=("any",), lengths=False)
    presented = SubstringHits()

    @property
    def countable(self) -> SubstringCounting:
        return SubstringCounting(self)

    def read(self, request: SearchRequest, recipe: Recipe) -> str:
        text = (request.text or "").strip()
        if not text:
            raise InvalidInput("The query holds no words.", hint="Give at least one word.", field="text")
        return text

    def encode(self, queries: Sequence[str], recipe: Recipe) -> list[str]:
        return list(queries)

    def segment_query(self, snapshot: Snapshot, queries: Sequence[str], selection: Selection) -> BatchQuery:
        return SubstringScan(tuple(queries))
'''

# Names of modes are read when the process starts.
CHILD = """
import json, sys
from pathlib import Path
from app.answers import json_values
from app.calibration.preview import preview
from app.requests import PreviewRequest
from app.cli.search import show_hits
from app.http.app import create_app
from app.requests import SearchRequest
from app.settings import Settings
from models.errors import InvalidInput
from rich.console import Console
from tests.workspace import Workspace, document

with Workspace(Path(sys.argv[1])) as made:
    made.index([document("a", "Cancel my plan. I said: cancel MY plan!"), document("b", "Keep my plan.")])
    hits = made.search("cancel my plan", mode="substring", explain=True)
    request = PreviewRequest("c", phrases=("my plan",), mode="substring", threshold=1.0)
    (counted,) = preview(made.service, request).phrases
    lines = Console(record=True, width=200, file=open("/dev/null", "w"))
    show_hits(hits, lines)
    try:
        made.search(mode="substring", vector=(1.0,) * 64)
    except InvalidInput as error:
        refused = error.field
    schemas = create_app(Settings(data_dir=Path(sys.argv[1]), encoder="hashing")).openapi()["components"]["schemas"]
    print(json.dumps({
        "hits": [[hit.document_id, hit.text, hit.raw] for hit in hits],
        "explanation": json_values(hits[1])["explanation"],
        "shown": lines.export_text().count("other letters 2"),
        "counted": [counted.documents, counted.spans],
        "refused": refused,
        "listed": "SubstringExplanation" in schemas and "substring" in json.dumps(schemas["SearchRequest"]),
    }))
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    metadata = tmp_path / "installed" / "substring-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: substring\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{MODES}]\nsubstring = substring_mode:Substring\n")
    (metadata.parent / "substring_mode.py").write_text(MODULE)
    return metadata.parent


@pytest.mark.ci("a distribution of its own")
def test_a_mode_is_one_file_and_an_entry_point(installed: Path, tmp_path: Path) -> None:
    paths = f"import sys; sys.path[:0] = [{str(installed)!r}, {str(Path.cwd())!r}]\n"
    command = [sys.executable, "-c", paths + CHILD, str(tmp_path)]
    child = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert child.returncode == 0, child.stderr
    assert json.loads(child.stdout.splitlines()[-1]) == {
        "hits": [["a", "Cancel my plan", 1.0], ["a", "cancel MY plan", 1.0]],
        "explanation": {"cosine": 1.0, "other_letters": 2},
        "shown": 1,
        "counted": [2, 3],
        "refused": "vector",
        "listed": True,
    }


def test_modes_of_the_product_are_found_by_their_names() -> None:
    assert {name: mode.name for name, mode in mode_classes().items()} == {name: name for name in mode_classes()}
