"""The walk of an administrator over real data, and whether what the labels promised is kept.

    python -m research.benchmarks.tuning_walk --data MULTIDOGO [--labels 200] [--seed 13] [--out FOLDER]

``--data`` is the folder with a folder a domain in it. The turns are indexed into the collection ``multidogo`` of
``SPANSEEK_DATA_DIR``, if it is not there. Twenty phrases are previewed, pairs are proposed, their turns' intents label
them, a calibration is learned, and the threshold for a precision of 90 % is taken from it. All pairs that were not
labelled judge it. The draw is then repeated with other seeds, and with labels from anywhere, to see how often promises
are kept.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from app.answers import json_values
from app.calibration.label_candidates import LabelCandidates, LabelCandidatesRequest
from app.calibration.label_files import write_label_candidates
from app.calibration.labels import Label, StoredSpan
from app.calibration.metrics import AtThreshold, Sampled, ThresholdTargets, at_thresholds, for_precision
from app.calibration.prepare_all import prepare_all
from app.calibration.service import CalibrationRequest, ThresholdService
from app.cli.console import print_json
from app.encoders.default_calibrations import default_calibration
from app.encoders.encoders import Encoders
from app.requests import PreviewRequest, SearchRequest
from app.search.service import SearchService, encode
from app.search.verification.stratified_sampling import BINS, RankedPairs, draw_strata
from app.services import Services, open_store
from app.settings import Settings
from indexer.catalog import schema
from indexer.errors import CollectionNotFound
from indexer.indexing.pipeline import IndexJob
from indexer.store import Store
from indexer.types import Recipe
from models.ops.similarity import raws
from models.types import CharSpan
from research.benchmarks.multidogo import PHRASES, Turn, read_turns

COLLECTION = "multidogo"
PRECISION = 0.9
_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class Truth:
    """All pairs: their raws and whether they match, a row a phrase; and the column of every turn."""

    raw: Float[np.ndarray, "phrases turns"]
    match: Bool[np.ndarray, "phrases turns"]
    columns: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Judged:
    """A promise, and what came of it among the pairs that were not labelled."""

    threshold: float
    promised: float
    low: float
    high: float
    precision: float
    recall: float

    @property
    def covered(self) -> bool:
        """True if the truth lies in the interval."""
        return self.low <= self.precision <= self.high


def main() -> None:
    """Walk, and print what was seen as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--near", type=float, help="Score around which most is labelled; without it, 0.8.")
    parser.add_argument("--out", type=Path, help="Folder for the labels, as files for the command line.")
    options = parser.parse_args()
    settings = Settings()
    schema.upgrade(settings.catalog_url)
    turns = list(read_turns(options.data))
    store, encoders = open_store(settings), Encoders(settings.encoder_options)
    with closing(store.catalog):
        _index(store, encoders, settings.encoder, turns)
        services = Services(settings, store, encoders=encoders)
        report = walk(services.get(ThresholdService), services.get(SearchService), turns, options)
    print_json(report)


def walk(
    service: ThresholdService, search: SearchService, turns: Sequence[Turn], options: argparse.Namespace
) -> dict[str, object]:
    """The whole walk; returns what it found."""
    phrases = tuple(PHRASES.values())
    seen = service.preview(PreviewRequest(COLLECTION, phrases=phrases, threshold=options.near or 0.8, examples=3))
    request = LabelCandidatesRequest(COLLECTION, phrases, options.labels, options.seed, threshold=options.near)
    proposed = service.candidates(request)
    labels = list(_labelled(proposed, {turn.id: turn for turn in turns}))
    if options.out:
        _keep(options.out, proposed, labels)
    targets = ThresholdTargets(precision=PRECISION)
    made, report = service.calibrate(COLLECTION, CalibrationRequest(labels, note="MultiDoGO", targets=targets))
    truth = _truth(search, turns)
    threshold = report.suggested[0].threshold
    return {
        "turns": len(turns),
        "phrases": len(phrases),
        "preview": {
            "threshold": asdict(seen.threshold),
            "no_match": asdict(seen.no_match) if seen.no_match else None,
            "documents": {phrase.phrase: phrase.documents for phrase in seen.phrases},
        },
        "near": proposed.near,
        "strata": [asdict(stratum) for stratum in proposed.strata],
        "calibration": {"method": made.method, **{name: json_values(report)[name] for name in _SHOWN}},
        "kept": None if threshold is None else _told(_at_threshold(truth, threshold, _places(proposed, truth))),
        "by_phrase": {} if threshold is None else _by_phrase(truth, threshold.raw),
        "proposed": _repeated(truth, proposed.near, options.labels),
        "at_random": _repeated(truth, None, options.labels),
    }


_SHOWN = ("labels", "matches", "error_before", "error_after", "suggested", "warnings")


def _index(store: Store, encoders: Encoders, name: str, turns: Sequence[Turn]) -> None:
    try:
        store.catalog.collection(COLLECTION)
    except CollectionNotFound:
        encoder = encoders.load(name)
        recipe = Recipe(name, encoder.fingerprint, encoder.dim)
        made = store.catalog.create_collection(COLLECTION, recipe, default_calibration(encoders, recipe))
        IndexJob(store, encoder, made).run(turn.document() for turn in turns)


def _labelled(proposed: LabelCandidates, turns: Mapping[str, Turn]) -> Iterator[Label]:
    """Yield the labels that the turns' intents give the candidates."""
    intents = {phrase: intent for intent, phrase in PHRASES.items()}
    for number, one in enumerate(proposed.candidates, 1):
        degree = 5.0 if intents[one.phrase] in turns[one.span.document_id].intents else 0.0
        target = StoredSpan(one.span.document_id, CharSpan(one.span.start, one.span.end))
        yield Label(f"labels:{number}", one.phrase, target, degree, one.probability, one.stratum)


def _keep(folder: Path, proposed: LabelCandidates, labels: Sequence[Label]) -> None:
    """The candidates as proposed, and filled in."""
    write_label_candidates(folder / "candidates.ndjson", proposed)
    lines = (folder / "candidates.ndjson").read_text("utf-8").splitlines()
    filled = [
        json.dumps(json.loads(line) | {"match": label.is_match}) for line, label in zip(lines, labels, strict=True)
    ]
    (folder / "labels.ndjson").write_text("\n".join(filled) + "\n", "utf-8")


def _truth(search: SearchService, turns: Sequence[Turn]) -> Truth:
    columns = {turn.id: number for number, turn in enumerate(turns)}
    raw, match = np.zeros((2, len(PHRASES), len(turns)))
    searches = [SearchRequest(COLLECTION, text=phrase) for phrase in PHRASES.values()]
    encoded = encode(prepare_all(search, searches))
    for number, (item, intent) in enumerate(zip(encoded, PHRASES, strict=True)):
        documents = search.count(item, None).documents
        ids = [documents.row(row).document_id for row in range(len(documents.cosines))]
        raw[number, [columns[id] for id in ids]] = raws(documents.cosines)
        match[number] = [intent in turn.intents for turn in turns]
    return Truth(raw, match.astype(bool), columns)


def _places(proposed: LabelCandidates, truth: Truth) -> Bool[np.ndarray, "phrases turns"]:
    """The pairs that were labelled."""
    rows = {phrase: number for number, phrase in enumerate(PHRASES.values())}
    labelled = np.zeros(truth.raw.shape, bool)
    for one in proposed.candidates:
        labelled[rows[one.phrase], truth.columns[one.span.document_id]] = True
    return labelled


def _at_threshold(truth: Truth, at: AtThreshold, labelled: Bool[np.ndarray, "phrases turns"]) -> Judged:
    """Judge a promise by all pairs but those that were labelled."""
    reached, match = (truth.raw >= at.raw) & ~labelled, truth.match & ~labelled
    hits = int((reached & match).sum())
    interval = at.precision.low, at.precision.high
    return Judged(at.raw, at.precision.value, *interval, hits / max(int(reached.sum()), 1), hits / int(match.sum()))


def _told(judged: Judged) -> dict[str, object]:
    return asdict(judged) | {"covered": judged.covered, "width": judged.high - judged.low}


def _by_phrase(truth: Truth, threshold: float) -> dict[str, object]:
    """Precision, recall and what is found, phrase by phrase."""
    report: dict[str, object] = {}
    for phrase, raw, match in zip(PHRASES.values(), truth.raw, truth.match, strict=True):
        reached = raw >= threshold
        hits = int((reached & match).sum())
        report[phrase] = {
            "found": int(reached.sum()),
            "precision": round(hits / max(int(reached.sum()), 1), 3),
            "recall": round(hits / int(match.sum()), 3),
        }
    return report


def _repeated(truth: Truth, near: float | None, labels: int) -> dict[str, object]:
    """Rates of promises kept, over draws with other seeds; without ``near``, of labels drawn from anywhere."""
    draw = _anywhere if near is None else _Proposing(truth, near)
    judged, matches = [], []
    for seed in range(_ROUNDS):
        labelled, sampled = draw(truth, labels, seed)
        match = truth.match[labelled]
        matches.append(int(match.sum()))
        if match.all() or not match.any():
            continue  # labels of one class are refused
        at = for_precision(at_thresholds(truth.raw[labelled], match, lambda raw: raw, sampled), PRECISION)
        if at is not None:
            mask = np.zeros(truth.raw.shape, bool)
            mask[labelled] = True
            judged.append(_at_threshold(truth, at, mask))
    return {"rounds": _ROUNDS, "matches_labelled": float(np.mean(matches)), "with_threshold": len(judged)} | _summary(
        judged
    )


def _summary(judged: Sequence[Judged]) -> dict[str, object]:
    if not judged:
        return {}
    precision = np.array([one.precision for one in judged])
    width = np.array([one.high - one.low for one in judged])
    return {
        "covered": float(np.mean([one.covered for one in judged])),
        "within_0.05": float((np.abs(precision - PRECISION) <= 0.05).mean()),
        "precision_mean": float(precision.mean()),
        "precision_sd": float(precision.std()),
        "recall_mean": float(np.mean([one.recall for one in judged])),
        "width_mean": float(width.mean()),
        "width_most_0.15": float((width <= 0.15).mean()),
    }


Labelled = tuple[np.ndarray, np.ndarray]


def _anywhere(truth: Truth, labels: int, seed: int) -> tuple[Labelled, Sampled | None]:
    """Labels from all pairs alike."""
    chosen = np.random.default_rng(seed).choice(truth.raw.size, labels, replace=False)
    rows, columns = np.unravel_index(chosen, truth.raw.shape)
    return (rows, columns), None


class _Proposing:
    """As ``app.calibration.label_candidates`` draws, from raws that are known."""

    def __init__(self, truth: Truth, near: float) -> None:
        self._near = near
        self._ranked = [RankedPairs.of(raw) for raw in truth.raw]
        self._counts = np.stack([np.bincount(ranked.bins, minlength=BINS) for ranked in self._ranked])

    def __call__(self, truth: Truth, labels: int, seed: int) -> tuple[Labelled, Sampled]:
        proposals = []
        for one in draw_strata(self._counts, self._near, labels, np.random.default_rng(seed)):
            for phrase, ranks in enumerate(one.ranks):
                if len(ranks):
                    rows = self._ranked[phrase].rows(one.stratum)[ranks]
                    proposals += [(phrase, row, 1 / one.probabilities[phrase], one.stratum.number) for row in rows]
        phrases, rows, weights, strata = (np.array(column) for column in zip(*proposals, strict=True))
        return (phrases, rows), Sampled(weights, strata)


if __name__ == "__main__":
    main()
