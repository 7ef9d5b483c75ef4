"""Searches of two checkouts in pairs: what a change costs, or saves.

Both read the same segments of random vectors, made once in ``--folder``. Every query is answered by both checkouts
in turn, each in a process of its own with one thread; the rows must be equal. The figures are processor times.

    python -m research.benchmarks.checkouts --old ../spanseek-0.2.0 --folder /tmp/spanseek-pairs
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

CASES = {
    "1e5x1": [100_000],
    "1e5x6": [60_000, 20_000, 10_000, 6_000, 3_000, 1_000],
    "1e6x1": [1_000_000],
    "1e6x8": [500_000, 250_000, 120_000, 60_000, 40_000, 20_000, 8_000, 2_000],
}
_WORKER = Path(__file__).with_name("checkouts_worker.py")
_PART = 200


def make_segments(folder: Path, sizes: list[int]) -> list[tuple[str, str]]:
    """Segments of random unit vectors, with their names and checksums; made before are kept."""
    from indexer.segments.writer import PartUnits, SegmentWriter
    from indexer.types import Recipe
    from models.types import Document, Part, SpanBounds

    recipe, rng = Recipe("none", "none", 384, SpanBounds(1, 20)), np.random.default_rng(1)
    spans = np.stack([np.arange(_PART) * 2, np.arange(_PART) * 2 + 1], axis=1)
    made = []
    for number, units in enumerate(sizes):
        name = f"{len(sizes)}x{sum(sizes)}-{number}"
        with SegmentWriter(folder / name, recipe) as writer:
            for document in range(units // _PART):
                text = Part(" ".join("x" * _PART))
                writer.add_document(Document(f"{name}-{document:06d}", (text,)), "", [PartUnits(spans, 0)])
                writer.add_vectors(rng.normal(size=(_PART, 384)).astype(np.float32) + 0.3)
            made.append((name, writer.finish().manifest_sha256))
    return made


class Checkout:
    """A checkout that answers queries in a process of its own."""

    def __init__(self, root: Path, segments: Path, case: str) -> None:
        threads = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, _WORKER, segments, case],
            cwd=root,
            env={**os.environ, **threads, "PYTHONPATH": str(root.resolve())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.seconds: list[float] = []

    def ask(self, queries: int, number: int) -> object:
        """The rows of a batch of queries; its time is kept."""
        assert self._process.stdin
        assert self._process.stdout
        print(queries, number, file=self._process.stdin, flush=True)
        seconds, rows = json.loads(self._process.stdout.readline())
        self.seconds.append(seconds)
        return rows

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def main(
    old: Annotated[Path, typer.Option(help="The other checkout.")],
    folder: Annotated[Path, typer.Option(help="Where the segments are made and kept.")],
    new: Annotated[Path, typer.Option(help="This checkout.")] = Path(),
    case: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(CASES)}.")] = None,
    repeats: int = 60,
) -> None:
    """Print a line for every case, and for one query and a batch of 32."""
    for name in case or list(CASES):
        described = folder / f"{name}.json"
        if not described.exists():
            folder.mkdir(parents=True, exist_ok=True)
            described.write_text(json.dumps(make_segments(folder, CASES[name])))
        for queries in (1, 32):
            pair = Checkout(old, described, name), Checkout(new, described, name)
            for number in range(repeats if queries == 1 else repeats // 4):
                rows = [checkout.ask(queries, number) for checkout in (pair if number % 2 else pair[::-1])]
                assert rows[0] == rows[1], f"{name}: the rows of query {number} differ"
            before, after = (checkout.seconds for checkout in pair)
            ratio = statistics.median(b / a for a, b in zip(before, after, strict=True))
            medians = (f"{1e3 * statistics.median(seconds):.2f}" for seconds in (before, after))
            print(f"{name}  batch of {queries:2}: {' -> '.join(medians)} ms, median ratio {ratio:.3f}", flush=True)
            for checkout in pair:
                checkout.close()


if __name__ == "__main__":
    typer.run(main)
