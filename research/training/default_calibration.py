"""An encoder's default calibration, from pairs that people graded: one is the query, the other set into a context.

The map is for single spans: it is fitted to the span score of the query and the pair's own span in its context, as a
search would find it stored. The best of many spans scores higher where nothing matches: :func:`measure_no_match`
measures how much.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32

from app.calibration.fitting import Fit, fit
from app.calibration.metrics import calibration_error, reliability
from indexer import kernels
from indexer.arrays import SpanTerms
from indexer.engine.query import Filter
from indexer.engine.scan import code_queries
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from models.encoders.base import Encoder, tokenize_units
from models.encoders.calibrations import DefaultCalibration, NoMatch
from models.errors import InvalidInput
from models.ops.quantization import dequantize, quantize
from models.ops.similarity import normalize, raws
from models.ops.span_score import COSINE, SpanScore
from models.text import units
from models.types import CharSpan, CharSpans, SpanBounds, UnitVectors
from research.evaluation.setups import unit_vectors
from research.evaluation.texts import encode_texts
from research.training.batches import Sample, in_context
from research.training.sources import PHRASES
from research.training.texts import Texts

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
_HIGH = 0.95
_WORDS = range(4, 13)


def draw_captions(data: Path, count: int, seed: int) -> list[str]:
    """Phrases that hardly any collection has to do with: captions of photographs (SNLI)."""
    captions = sorted({text.strip() for text in PHRASES["snli"].read(data) if len(text.split()) in _WORDS})
    return random.Random(f"{seed}/no-match").sample(captions, min(count, len(captions)))  # noqa: S311  sampling, not secrets


def measure_no_match(
    snapshots: Mapping[str, Snapshot],
    encoder: Encoder,
    phrases: Sequence[str],
    sizes: Sequence[int] = SIZES,
    score: SpanScore = COSINE,
) -> NoMatch:
    """The median and the 95th percentile of the best raw, over all phrases and all stretches of so many units.

    Sizes that no collection reaches are left out; raises ``InvalidInput`` where fewer than two are left.
    """
    parts_by_size: dict[int, list[np.ndarray]] = {size: [] for size in sizes}
    for phrase, query in zip(phrases, encode_texts(encoder, phrases), strict=True):
        terms = SpanTerms.of(score, np.array([len(units.split(phrase))]))
        for snapshot in snapshots.values():
            for size, cosines in best_of_ranges(snapshot, query, sizes, terms).items():
                parts_by_size[size].append(raws(cosines))
    raws_by_size = {size: values for size, parts in parts_by_size.items() if len(values := np.concatenate(parts))}
    if len(raws_by_size) < 2:
        raise InvalidInput(
            "The collections are too small to measure growth.", hint=f"Index {sizes[1]:,} units.", field="collection"
        )
    (bounds,) = {snapshot.recipe.bounds for snapshot in snapshots.values()}
    median, high = (
        tuple(round(float(np.quantile(values, share)), 4) for values in raws_by_size.values()) for share in (0.5, _HIGH)
    )
    return NoMatch(
        bounds, tuple(raws_by_size), median, high, len(phrases), f"captions (SNLI) in {', '.join(snapshots)}"
    )


# Contexts whose vectors are in memory at a time.
_GROUP = 256
_DATA = "STS-B, training split, set into contexts"


@dataclass(frozen=True, slots=True)
class GradedSpan:
    """A query, a phrase in its context, and how alike people found the two, from 0 to 1."""

    query: str
    sample: Sample
    degree: float


def graded_spans(texts: Texts, bounds: SpanBounds, seed: int) -> list[GradedSpan]:
    """Every graded pair once, one of the two set into a context; phrases too long for a span are left out."""
    rng = random.Random(f"{seed}/calibration")  # noqa: S311  sampling, not secrets
    spans = []
    for pair in texts.pairs:
        query, phrase = (pair.paraphrase, pair.query) if rng.random() < 0.5 else (pair.query, pair.paraphrase)
        spans.append(GradedSpan(query, in_context(phrase, texts, rng), pair.score))
    return [span for span in spans if len(units.split(_phrase(span))) in bounds.lengths]


def span_raws(encoder: Encoder, spans: Sequence[GradedSpan], score: SpanScore = COSINE) -> Float[np.ndarray, " spans"]:
    """The raw of every query with its own span, from quantised units, as a collection stores them.

    Its borders count as those of a whole text: it is a sentence, set between others.
    """
    groups = [spans[begin : begin + _GROUP] for begin in range(0, len(spans), _GROUP)]
    added = [score.of_texts(len(units.split(span.query)), len(units.split(_phrase(span)))) for span in spans]
    return raws(np.concatenate([_cosines(encoder, group) for group in groups]) + np.array(added))


def _phrase(span: GradedSpan) -> str:
    return span.sample.phrase.of(span.sample.text)


def fit_default(encoder: Encoder, texts: Texts, seed: int, score: SpanScore = COSINE) -> DefaultCalibration:
    """Fit the map to the scores of spans. The same texts and seed give the same."""
    spans = graded_spans(texts, SpanBounds(), seed)
    raw = span_raws(encoder, spans, score)
    degree = np.array([span.degree for span in spans])
    fitted = fit(raw, degree, [span.query for span in spans])
    knots = tuple((round(float(x), 6), round(float(y), 6)) for x, y in fitted.knots)
    return DefaultCalibration(
        knots, fitted.method, len(spans), seed, _DATA, _figures(fitted, raw, degree), span_score=score.fingerprint
    )


def _figures(fitted: Fit, raw: Float[np.ndarray, " spans"], degree: Float[np.ndarray, " spans"]) -> dict[str, float]:
    """Errors of scores against degrees; ``after`` is of pairs that the map had not seen."""
    return {
        "error_before": calibration_error(reliability(raw, degree)),
        "error_after": calibration_error(reliability(fitted.unseen, degree)),
        "mean_absolute_error_before": round(float(np.abs(raw - degree).mean()), 6),
        "mean_absolute_error_after": round(float(np.abs(fitted.unseen - degree).mean()), 6),
    }


def _cosines(encoder: Encoder, spans: Sequence[GradedSpan]) -> Float[np.ndarray, " spans"]:
    queries = encode_texts(encoder, [span.query for span in spans])
    contexts = [span.sample.text for span in spans]
    joined = zip(tokenize_units(encoder, contexts), unit_vectors(encoder, contexts), strict=True)
    stored = [
        _span_sum(span.sample.phrase, of.spans, vectors) for span, (of, vectors) in zip(spans, joined, strict=True)
    ]
    return np.einsum("sd,sd->s", queries.astype(np.float64), normalize(np.stack(stored)).astype(np.float64))


def _span_sum(phrase: CharSpan, units: CharSpans, vectors: UnitVectors) -> Float[np.ndarray, " dim"]:
    """Sum of the stored vectors of the units that a phrase touches."""
    first = int(np.searchsorted(units[:, 1], phrase.start, side="right"))
    last = int(np.searchsorted(units[:, 0], phrase.end, side="left"))
    return dequantize(*quantize(vectors[first:last])).sum(axis=0)


def best_of_ranges(
    snapshot: Snapshot, query: Float32[np.ndarray, " dim"], sizes: Sequence[int], terms: SpanTerms | None = None
) -> Mapping[int, Float[np.ndarray, " _ranges"]]:
    """For every size the best scores of the consecutive ranges of so many units; a rest is left out.

    Scores are approximate, with the small error of the scan (ADR 2). A span belongs to the range that it starts in.
    """
    starts = np.concatenate([np.empty(0), *(_best_of_starts(view, query, terms) for view in snapshot.views)])
    return {size: ranges_of(starts, size) for size in sizes}


def ranges_of(best: Float[np.ndarray, " units"], size: int) -> Float[np.ndarray, " ranges"]:
    """The largest of each ``size`` neighbours.

    >>> ranges_of(np.array([0.1, 0.3, 0.2, 0.0, 0.9]), 2).tolist()
    [0.3, 0.2]
    """
    ranges = len(best) // size
    return best[: ranges * size].reshape(ranges, size).max(axis=1)


def _best_of_starts(
    view: SegmentView, query: Float32[np.ndarray, " dim"], terms: SpanTerms | None
) -> Float[np.ndarray, " units"]:
    """The best score of the spans that start at each unit, and at least -1."""
    segment, allowed, coded = view.segment, view.allowed(Filter()), code_queries(query[None], terms=terms)
    best = kernels.best_of_starts(
        segment.arrays, coded.codes[0], coded.steps[0], coded.terms, allowed.blocks, allowed.mask
    )
    return np.maximum(best[: segment.manifest.units], -1.0).astype(np.float64)
