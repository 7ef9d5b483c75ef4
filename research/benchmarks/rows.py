"""From what a worker measured to a row of the table: recall, percentiles, bytes per unit."""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median

import numpy as np
from jaxtyping import Float32

from models.ops.similarity import raw_from_cosine
from research.benchmarks.case import TOP_K, Case
from research.benchmarks.engines.base import Finds
from research.benchmarks.exact import maxsim
from research.benchmarks.passages import passage_of
from research.benchmarks.recall import largest_difference, recall
from research.benchmarks.spans import span_cosine
from research.benchmarks.worker import BATCH, Measured

Scored = list[tuple[Hashable, float]]


@dataclass(frozen=True, slots=True)
class Row:
    """One engine on one corpus. ``p50_ms``, ``p99_ms`` and the batches are with all threads; none where skipped.

    ``peak_rss_mb`` is of the process that built and searched, file pages included; ``anonymous_mb`` is what a process
    that only searches holds beside file pages. ``agreement_at_10`` is the share of the passages of our exact spans
    that an engine's passages have.
    """

    engine: str
    units: int
    recall_at_10: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    batch32_ms_per_query: float | None = None
    bytes_per_unit: float | None = None
    build_s: float | None = None
    peak_rss_mb: float | None = None
    threads: int | None = None
    p50_ms_1_thread: float | None = None
    p99_ms_1_thread: float | None = None
    batch32_ms_per_query_1_thread: float | None = None
    anonymous_mb: float | None = None
    finds: str = ""
    agreement_at_10: float | None = None
    largest_raw_difference: float | None = None
    queries: int = 0
    what: str = ""
    skipped: str = ""

    def as_json(self) -> dict[str, object]:
        """The row as an object of JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Quality:
    """Quality of an engine's answers."""

    recall: float | None
    agreement: float
    largest_raw_difference: float | None


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile of latencies, rounded to microseconds.

    >>> percentile([1.0, 2.0, 3.0], 50)
    2.0
    """
    return round(float(np.percentile(values, share)), 3)


def batch_ms_per_query(case: Case, measured: Measured) -> float:
    """Milliseconds per query when a batch is asked at once, the median of all batches."""
    return round(median(measured.batches_ms) / min(BATCH, len(case.queries)), 3)


class Evaluator:
    """Compares answers with the exact ones of one case."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._maxsim: Float32[np.ndarray, "queries passages"] | None = None

    def quality(self, finds: Finds, answers: Sequence[Sequence[object]], reads_vectors: bool) -> Quality:
        """Quality of the answers to the first queries. An engine that reads no vectors has no exact answer."""
        if finds == "spans":
            return self._of_spans(answers)
        agreement = fmean(self._agreement(number, answer) for number, answer in enumerate(answers))
        shares = [self._of_passages(number, answer) for number, answer in enumerate(answers)] if reads_vectors else []
        return Quality(round(fmean(shares), 4) if shares else None, round(agreement, 4), None)

    def _of_spans(self, answers: Sequence[Sequence[object]]) -> Quality:
        pairs = [(self._scored_spans(number, answer), self._exact(number)) for number, answer in enumerate(answers)]
        differences = [largest_difference([s for _, s in ours], [s for _, s in exact]) for ours, exact in pairs]
        passages = [self._passages_of(answer) for answer in answers]
        return Quality(
            recall=round(fmean(recall(ours, exact) for ours, exact in pairs), 4),
            agreement=round(fmean(self._agreement(number, answer) for number, answer in enumerate(passages)), 4),
            largest_raw_difference=round(max(differences), 7),
        )

    def _exact(self, number: int) -> Scored:
        spans, cosines = self._case.exact_spans[number], self._case.exact_cosines[number]
        return [
            (tuple(span), float(raw_from_cosine(cosine)))
            for span, cosine in zip(spans.tolist(), cosines.tolist(), strict=True)
            if span[0] >= 0
        ]

    def _scored_spans(self, number: int, answer: Sequence[object]) -> Scored:
        """An engine's spans with their exact scores, best first."""
        query = self._case.queries.vectors[number]
        ranges = [(int(start), int(end)) for start, end in np.array(answer, np.int64).reshape(-1, 2)]
        scored: Scored = [(span, float(raw_from_cosine(span_cosine(self._case, query, *span)))) for span in ranges]
        return sorted(scored, key=lambda pair: -pair[1])

    def _of_passages(self, number: int, answer: Sequence[object]) -> float:
        """Recall against the exhaustive score of the same vectors."""
        if self._maxsim is None:
            self._maxsim = maxsim(self._case, list(self._case.queries.tokens))
        scores = self._maxsim[number]
        best = np.argsort(-scores, kind="stable")[:TOP_K]
        return recall(
            [(int(passage), float(scores[int(passage)])) for passage in np.array(answer, np.int64)],
            [(int(passage), float(scores[passage])) for passage in best],
        )

    def _passages_of(self, spans: Sequence[object]) -> list[object]:
        starts = np.array(spans, np.int64).reshape(-1, 2)[:, 0]
        return list(passage_of(self._case.passage_units, starts).tolist())

    def _agreement(self, number: int, passages: Sequence[object]) -> float:
        spans = self._case.exact_spans[number]
        exact = set(self._passages_of(spans[spans[:, 0] >= 0].tolist()))
        return len(exact & set(passages)) / len(exact) if exact else 1.0
