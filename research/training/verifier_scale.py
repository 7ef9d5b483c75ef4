"""The scale of a verifier: what its log odds and the evidence of rules are worth, by logistic regression.

It is fitted to one half of a contrast set (by the crc32 of the ids) and, as wrong hits, to the best hits of phrases
that a collection does not hold (half of them, by the crc32 of the phrases).
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float
from sklearn.linear_model import LogisticRegression

from app.requests import SearchRequest
from app.search import verifying
from app.search.service import SearchService
from app.texts.requests import SpansRequest
from app.texts.spans import SpanService, slices
from models.artifacts import record_checksums
from models.types import Document, Part
from models.verifier.verdicts import Evidence, Pair, Scale, evidence_of, log_odds_of
from models.verifier.verifier import Verifier
from research.evaluation.contrast import half_of
from research.training.contrast_data import ContrastLine

_BEST = 20
# What a wrong hit of a collection weighs beside a text of a contrast line.
_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Pairs:
    """The four pairs of every contrast line, and for every phrase without a match the pairs of its best hits.

    ``similarities`` are the first look's, of the four pairs.
    """

    lines: Sequence[tuple[ContrastLine, Sequence[Pair]]]
    similarities: Sequence[Sequence[float]]
    unmatched: Sequence[tuple[str, Sequence[Pair]]]


def contrast_pairs(service: SpanService, line: ContrastLine) -> tuple[list[Pair], list[float]]:
    """The phrase of a line with the best hit of each of its texts, and their similarities (raw)."""
    texts = tuple(Document(str(number), (Part(text),)) for number, (text, _) in enumerate(line.pairs))
    phrases = service.encode(SpansRequest((line.phrase,), texts, limit=1))
    steps = (step for part in slices(texts) for step in service.search(phrases, part))
    found = [text for step in steps for text in step.texts]
    pairs = [text.pairs[0] if text.pairs else Pair(line.phrase, "") for text in found]
    return pairs, [text.hits[0].raw if text.hits else 0.0 for text in found]


def unmatched_pairs(service: SearchService, collection: str, phrase: str, mode: str) -> list[Pair]:
    """A phrase with the sentences of its best hits in a collection."""
    request = SearchRequest(collection, text=phrase, top_k=_BEST, mode=mode)
    (encoded,) = service.encode([service.prepare(request)])
    (found,) = service.scan([encoded])
    return verifying.pairs_of(request, encoded.prepared.snapshot, found.rows[:_BEST])


def fit_scale(verifier: Verifier, pairs: Pairs) -> Scale:
    """The scale that the halves which choose give."""
    chosen = [judged for line, judged in pairs.lines if half_of(line.id) == "chooses"]
    wrong = [pair for phrase, found in pairs.unmatched if chooses(phrase) for pair in found]
    rows = evidence(verifier, [pair for judged in chosen for pair in judged] + wrong)
    says = np.array([True, True, False, False] * len(chosen) + [False] * len(wrong))
    weights = np.array([1.0] * 4 * len(chosen) + [_WEIGHT] * len(wrong))
    return _regression(rows, says, weights)


def chooses(phrase: str) -> bool:
    """True if a phrase without a match belongs to the half that chooses."""
    return zlib.crc32(phrase.encode()) % 2 == 0


def evidence(verifier: Verifier, pairs: Sequence[Pair]) -> Float[np.ndarray, "pairs evidence"]:
    """The evidence of every pair."""
    logits = verifier.logits(pairs)
    return np.array([evidence_of(pair, log_odds_of(row)) for pair, row in zip(pairs, logits, strict=True)])


def write_scale(folder: Path, scale: Scale) -> None:
    """Put the scale into the config of a verifier's weights."""
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8"))
    config["scale"] = {"intercept": scale.intercept, "weights": scale.weights._asdict()}
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")
    record_checksums(folder)


def _regression(
    rows: Float[np.ndarray, "pairs evidence"], says: Bool[np.ndarray, " pairs"], weights: Float[np.ndarray, " pairs"]
) -> Scale:
    mean, deviation = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    fitted = LogisticRegression(max_iter=1_000).fit((rows - mean) / deviation, says, sample_weight=weights)
    factors = fitted.coef_[0] / deviation
    intercept = float(fitted.intercept_[0] - factors @ mean)
    return Scale(round(intercept, 4), Evidence(*(round(float(factor), 4) for factor in factors)))
