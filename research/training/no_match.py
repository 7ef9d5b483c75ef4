"""What no match looks like: how high the best span of unrelated text scores, by how much text there is."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from indexer.engine.block_ranges import best_of_ranges
from indexer.engine.snapshot import Snapshot
from models.calibrations import NoMatch
from models.encoders.base import Encoder
from models.errors import InvalidInput
from models.ops.similarity import raws
from research.evaluation.texts import encode_texts
from research.training.sources import PHRASES

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
_HIGH = 0.95
_WORDS = range(4, 13)


def draw_captions(data: Path, count: int, seed: int) -> list[str]:
    """Phrases that hardly any collection has to do with: captions of photographs (SNLI)."""
    known = sorted({text.strip() for text in PHRASES["snli"].read(data) if len(text.split()) in _WORDS})
    return random.Random(f"{seed}/no-match").sample(known, min(count, len(known)))  # noqa: S311  sampling, not secrets


def measure_no_match(
    snapshots: Mapping[str, Snapshot], encoder: Encoder, phrases: Sequence[str], sizes: Sequence[int] = SIZES
) -> NoMatch:
    """The median and the 95th percentile of the best raw, over all phrases and all stretches of so many units.

    Sizes that no collection reaches are left out; raises ``InvalidInput`` where fewer than two are left.
    """
    found: dict[int, list[np.ndarray]] = {size: [] for size in sizes}
    for query in encode_texts(encoder, phrases):
        for snapshot in snapshots.values():
            for size, cosines in best_of_ranges(snapshot, query, sizes).items():
                found[size].append(raws(cosines))
    known = {size: values for size, parts in found.items() if len(values := np.concatenate(parts))}
    if len(known) < 2:
        raise InvalidInput(
            "The collections are too small to measure growth.", hint=f"Index {sizes[1]:,} units.", field="collection"
        )
    (bounds,) = {snapshot.recipe.bounds for snapshot in snapshots.values()}
    median, high = (
        tuple(round(float(np.quantile(values, share)), 4) for values in known.values()) for share in (0.5, _HIGH)
    )
    return NoMatch(bounds, tuple(known), median, high, len(phrases), f"captions (SNLI) in {', '.join(snapshots)}")
