"""The scale of a verifier: what its log odds and the evidence of rules are worth, by logistic regression.

It is fitted to one half of a contrast set (by the crc32 of the ids), to the best hits of half of the sample corpus's
phrases (right ones and wrong ones), as wrong hits to those of half of the phrases that a collection does not hold, and
to labelled hits of half of the phrases that trained nothing. So it holds both for near texts and for the hits of a
search, most of which are unrelated. The similarity at which a match is as probable as none is that of the hits of
searches.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float
from sklearn.linear_model import LogisticRegression

from app.requests import SearchRequest
from app.search.service import SearchService, encode, scan
from app.search.verification import stage as verifying
from app.texts.requests import SpansRequest
from app.texts.spans import SpanService, slices
from models.artifacts import record_checksums
from models.types import Document, Part
from models.verifier.types import Pair
from models.verifier.verdicts import Evidence, Scale, evidence_of, log_odds_of
from models.verifier.verifier import Verifier
from research.evaluation.contrast import half_of
from research.evaluation.corpus import DocumentSpan
from research.training.contrast_data import ContrastLine
from research.training.labelled_hits import half_of_held_out
from research.training.verifier_data import Example

_BEST = 20
# What a right hit weighs beside a wrong one and a text of a contrast line: there are few.
_RIGHT = 6.0
# What a labelled hit weighs: there are many.
_LABELLED = 0.2


@dataclass(frozen=True, slots=True)
class Pairs:
    """The four pairs of every contrast line, and phrases with the pairs of their best hits.

    Those of the sample corpus say which of the hits are right; ``unmatched`` phrases have no right one. ``labelled``
    are lists of hits of phrases that trained nothing; those that match partly tell nothing here.
    """

    lines: Sequence[tuple[ContrastLine, Sequence[Pair]]]
    sample: Sequence[tuple[str, Sequence[Pair], Sequence[bool]]]
    unmatched: Sequence[tuple[str, Sequence[Pair]]]
    labelled: Sequence[Sequence[Example]] = ()


def contrast_pairs(service: SpanService, line: ContrastLine) -> list[Pair]:
    """The phrase of a line with the best hit of each of its texts."""
    found = text_pairs(service, line.phrase, [text for text, _ in line.pairs])
    return [pairs[0] for pairs in found]


def text_pairs(service: SpanService, phrase: str, texts: Sequence[str], limit: int = 1) -> list[list[Pair]]:
    """A phrase with the best hits of each text; one of no similarity for a text without hits."""
    documents = tuple(Document(str(number), (Part(text),)) for number, text in enumerate(texts))
    phrases = service.encode(SpansRequest((phrase,), documents, limit=limit))
    steps = (step for part in slices(documents) for step in service.search(phrases, part))
    found = [text for step in steps for text in step.texts]
    return [text.pairs or [Pair(phrase, "", similarity=0.0)] for text in found]


def hit_pairs(
    service: SearchService, collection: str, phrase: str, gold: Sequence[DocumentSpan] = ()
) -> tuple[list[Pair], list[bool]]:
    """A phrase with the sentences of its best hits in a collection, and whether each hit overlaps a gold span."""
    request = SearchRequest(collection, text=phrase, top_k=_BEST)
    (encoded,) = encode([service.prepare(request)])
    (found,) = scan([encoded])
    snapshot, rows = encoded.prepared.snapshot, found.rows[:_BEST]
    spans = [snapshot.scored(row) for row in rows]
    right = [
        any(
            span.document_id == one.document_id and span.span.start < one.span.end and one.span.start < span.span.end
            for one in gold
        )
        for span in spans
    ]
    return verifying.pairs_of(request, snapshot, rows), right


def fit_scale(verifier: Verifier, pairs: Pairs) -> Scale:
    """The scale that the halves which choose give."""
    says: list[bool] = []
    chosen: list[Pair] = []
    for line, judged in pairs.lines:
        if half_of(line.id) == "chooses":
            chosen += judged
            says += [True, True, False, False]
    contrast = len(chosen)
    for phrase, found, right in pairs.sample:
        if half_of(phrase) == "chooses":
            chosen += found
            says += right
    for phrase, found in pairs.unmatched:
        if half_of(phrase) == "chooses":
            chosen += found
            says += [False] * len(found)
    weights = [_RIGHT if right and at >= contrast else 1.0 for at, right in enumerate(says)]
    # Contrast lines have no ordinary wrong hits, and labelled ones are chosen to be hard.
    similar = np.array([[pair.similarity] for pair in chosen[contrast:]])
    alone, (slope,) = _regression(similar, np.array(says[contrast:]), np.array(weights[contrast:]))
    for each in (hit for hits in pairs.labelled for hit in hits):
        if each.verdict is not None and half_of_held_out(each.pair.phrase) == "chooses":
            chosen.append(each.pair)
            says.append(each.verdict == "match")
            weights.append(_LABELLED)
    intercept, factors = _regression(evidence(verifier, chosen), np.array(says), np.array(weights))
    return Scale(round(intercept, 4), Evidence(*(round(factor, 4) for factor in factors)), round(-alone / slope, 4))


def evidence(verifier: Verifier, pairs: Sequence[Pair]) -> Float[np.ndarray, "pairs evidence"]:
    """The evidence of every pair."""
    logits = verifier.logits(pairs)
    return np.array([evidence_of(pair, log_odds_of(row)) for pair, row in zip(pairs, logits, strict=True)])


def write_scale(folder: Path, scale: Scale) -> None:
    """Put the scale into the config of a verifier's weights."""
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8"))
    config["scale"] = {"intercept": scale.intercept, "weights": scale.weights._asdict(), "even": scale.decision_point}
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")
    record_checksums(folder)


def _regression(
    rows: Float[np.ndarray, "pairs evidence"], says: Bool[np.ndarray, " pairs"], weights: Float[np.ndarray, " pairs"]
) -> tuple[float, list[float]]:
    """The intercept and the factors of the log odds of a match."""
    mean, deviation = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    fitted = LogisticRegression(max_iter=1_000).fit((rows - mean) / deviation, says, sample_weight=weights)
    factors = fitted.coef_[0] / deviation
    return float(fitted.intercept_[0] - factors @ mean), factors.tolist()
