"""Benchmark of the precision that 20 labels of a phrase promise, on MultiDoGO.

    python -m research.benchmarks.few_labels --data DATA [--labels 20] [--precision 0.9] [--rounds 50]

The turns of the splits ``dev`` and ``test`` are indexed into the collection ``multidogo-turns`` of
``SPANSEEK_DATA_DIR``, if it is not there. Their intents label pairs that are drawn as ``spanseek labels propose`` draws
them, phrase by phrase; all pairs of the phrase judge the threshold that the labels give. One half of the phrases (by
the crc32 of their intents) chose how careful a threshold is, the other is reported. The prior's mean and covariance are
of all twenty, so that intervals are a little optimistic.
"""

import argparse
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from app.calibration.few_labels import SLACK, LabelledPhrase, thresholds_of
from app.calibration.label_candidates import pairs_of
from app.cli.console import open_services, print_json
from app.collections.documents import DocumentService
from app.collections.service import CollectionService
from app.requests import SearchRequest
from app.search.service import SearchService, encode
from app.search.verification.stratified_sampling import BINS, RankedPairs, bins_of, draw_strata
from app.services import Services
from app.settings import Settings
from indexer.catalog import schema
from indexer.errors import CollectionNotFound
from research.benchmarks.multidogo import PHRASES, Turn, read_turns

COLLECTION = "multidogo-turns"
_NEAR = 0.85  # raw; what `labels propose` draws around without a threshold


@dataclass(frozen=True, slots=True)
class Kept:
    """Rates of thresholds found and of promises kept. ``within`` is 0.05 on both sides of the promise."""

    phrases: int
    samples: int
    with_threshold: float
    kept: float
    within: float
    covered: float
    width: float
    precision: float


def main() -> None:
    """Measure, and print the figures as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--precision", type=float, default=0.9)
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    folder = options.data / "multidogo/splits_annotated_at_turn_level"
    turns = {turn.id: turn for turn in read_turns(folder) if turn.split in ("dev", "test")}
    settings = Settings()
    schema.upgrade(settings.catalog_url)
    rounds: dict[str, list[tuple[float, ...] | None]] = {"chooses": [], "reported": []}
    with open_services(settings) as services:
        _index(services, list(turns.values()))
        for intent, phrase in PHRASES.items():
            raw, match = _pairs(services, intent, phrase, turns)
            half = "reported" if zlib.crc32(intent.encode()) % 2 else "chooses"
            rounds[half] += [
                _round(raw, match, options.labels, options.precision, seed) for seed in range(options.rounds)
            ]
    print_json({half: asdict(_summary(seen, options)) for half, seen in rounds.items()})


def _index(services: Services, turns: Sequence[Turn]) -> None:
    try:
        services.store.catalog.collection(COLLECTION)
    except CollectionNotFound:
        services.get(CollectionService).create(COLLECTION)
        services.get(DocumentService).upsert(COLLECTION, [turn.document() for turn in turns])


def _pairs(
    services: Services, intent: str, phrase: str, turns: dict[str, Turn]
) -> tuple[Float[np.ndarray, " pairs"], Bool[np.ndarray, " pairs"]]:
    """The raw of every turn for a phrase, and whether it has the intent."""
    service = services.get(SearchService)
    (encoded,) = encode([service.prepare(SearchRequest(COLLECTION, text=phrase))])
    pairs = pairs_of(service, encoded, None, "raw")
    ids = [pairs.span(row).document_id for row in range(len(pairs.raw))]
    return pairs.raw, np.array([intent in turns[id].intents for id in ids])


def _round(
    raw: Float[np.ndarray, " pairs"], match: Bool[np.ndarray, " pairs"], labels: int, precision: float, seed: int
) -> tuple[float, ...] | None:
    """The true precision of a threshold, the promised one and its interval; None without a threshold."""
    counts, ranked = np.bincount(bins_of(raw), minlength=BINS), RankedPairs.of(raw)
    drawn = draw_strata(counts[None, :], _NEAR, labels, np.random.default_rng(seed))
    rows = np.concatenate([ranked.rows(one.stratum)[one.ranks[0]] for one in drawn])
    reached = thresholds_of({"": LabelledPhrase(raw[rows], match[rows], counts)}, precision)[""]
    if reached is None:
        return None
    promised = reached.precision
    return float(match[raw >= reached.raw].mean()), promised.value, promised.low, promised.high


def _summary(seen: Sequence[tuple[float, ...] | None], options: argparse.Namespace) -> Kept:
    found = np.array([one for one in seen if one is not None])
    true, promised, low, high = found.T
    return Kept(
        len(seen) // options.rounds,
        len(seen),
        len(found) / len(seen),
        float((true >= options.precision - SLACK).mean()),
        float((np.abs(true - promised) <= SLACK).mean()),
        float(((low <= true) & (true <= high)).mean()),
        float((high - low).mean()),
        float(true.mean()),
    )


if __name__ == "__main__":
    main()
