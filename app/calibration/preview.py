"""What a threshold would find, before anybody sets it: exact counts over all documents, and examples at the border."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float, Int

from app.answers import described
from app.calibration.prepare_all import prepare_all
from app.search.modes import Counts, ScoredRows
from app.search.service import Encoded, Prepared, SearchService
from app.search.threshold import cosine_floor
from app.search.types import Mode, SearchRequest, UsedThreshold
from indexer.engine.query import Filter
from indexer.phrases import Phrase
from indexer.tuning import ThresholdOn, Tuning, check_threshold
from models.calibrations import NoMatch
from models.errors import InvalidInput
from models.ops.similarity import raws

MAX_PHRASES = 100
MAX_EXAMPLES = 50
# The scores at which everything is counted; between neighbours lies a bar of the histogram.
STEPS = np.arange(101) / 100


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """Phrases to count for. The threshold is as in a search; spans are counted over ``floor``, on the same scale.

    Without a floor they are counted over the threshold, and without either not at all. ``saved`` names saved phrases,
    which come after the others, each with its own threshold and filter where the request gives none.
    """

    collection: str
    phrases: tuple[str, ...]
    mode: Mode = "best_span"
    threshold: float | None = None
    threshold_on: ThresholdOn = "score"
    floor: float | None = None
    filter: Filter = field(default_factory=Filter)
    examples: int = 5
    saved: tuple[str, ...] | Literal["all"] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """The best span of a document near the threshold; the document itself in mode maxsim."""

    document_id: str
    start: Annotated[int, described("In code points.")]
    end: int
    text: str
    score: float
    raw: float


@dataclass(frozen=True, slots=True)
class PhrasePreview:
    """What one phrase finds."""

    phrase: str
    saved: Annotated[str | None, described("Its name, if it is a saved phrase.")]
    threshold: Annotated[UsedThreshold, described("The threshold it is counted with: a saved phrase may have its own.")]
    floor: Annotated[float | None, described("On this threshold's scale.")]
    with_spans: Annotated[int, described("All documents that have a span at all.")]
    documents: Annotated[int | None, described("Documents whose best span reaches the threshold; null without one.")]
    spans: Annotated[int | None, described("Spans that reach it and do not overlap; null if it is under the floor.")]
    documents_above: Annotated[tuple[int, ...], described("One for each of `scores`.")]
    spans_above: Annotated[tuple[int | None, ...], described("As `documents_above`, for spans; null under the floor.")]
    histogram: Annotated[
        tuple[int, ...], described("Documents whose best score lies from one of `scores` up to the next.")
    ]
    above: Annotated[tuple[Example, ...], described("Documents just above the threshold, the nearest first.")]
    below: Annotated[tuple[Example, ...], described("Documents just below it, the nearest first.")]


@dataclass(frozen=True, slots=True)
class NoMatchHere:
    """The best scores of phrases without a match in a collection of this size."""

    units: Annotated[int, described("How much text the collection holds.")]
    median: Annotated[float, described("The median of the best score.")]
    high: Annotated[float, described("Its 95th percentile.")]
    median_raw: float
    high_raw: float


@dataclass(frozen=True, slots=True)
class Preview:
    """Exact counts, all from one generation and under one calibration."""

    collection: str
    mode: Mode
    generation: int
    threshold: UsedThreshold
    floor: Annotated[float | None, described("On the threshold's scale.")]
    scores: Annotated[tuple[float, ...], described("Where everything is counted: 0, 0.01, ... 1.")]
    no_match: Annotated[NoMatchHere | None, described("Null where nothing is known of the collection's encoder.")]
    phrases: tuple[PhrasePreview, ...]
    took_ms: float


def preview(
    service: SearchService, request: PreviewRequest, saved: Sequence[Phrase] = (), known: NoMatch | None = None
) -> Preview:
    """Count for every phrase, and for the saved ones, in one pass over the collection; no top k comes into it.

    ``known`` is what the encoder knows of unrelated text.
    """
    started = time.perf_counter()
    _check(request, len(request.phrases) + len(saved))
    encoded, used = _encoded(service, request, saved)
    names = [None] * len(request.phrases) + [phrase.name for phrase in saved]
    return Preview(
        collection=request.collection,
        mode=request.mode,
        generation=encoded[0].prepared.snapshot.generation,
        threshold=used,
        floor=used.value if request.floor is None else request.floor,
        scores=tuple(STEPS.tolist()),
        no_match=None if known is None else _no_match(encoded[0].prepared, known),
        phrases=tuple(_of_phrase(service, item, name, request) for item, name in zip(encoded, names, strict=True)),
        took_ms=round((time.perf_counter() - started) * 1000, 3),
    )


def _no_match(prepared: Prepared, known: NoMatch) -> NoMatchHere | None:
    """What is known, for the size of a snapshot; nothing where it was measured for other spans."""
    snapshot, units = prepared.snapshot, prepared.snapshot.units
    if known.bounds != snapshot.recipe.bounds or not units:
        return None
    median, high = known.at(units)
    return NoMatchHere(units, prepared.tuning.score(median), prepared.tuning.score(high), median, high)


def _check(request: PreviewRequest, phrases: int) -> None:
    if not 1 <= phrases <= MAX_PHRASES:
        raise InvalidInput(
            f"Give 1 to {MAX_PHRASES} phrases, not {phrases:,}.",
            hint="Name phrases, or saved ones; of more than that, preview some at a time.",
            field="phrases",
        )
    check_threshold(request.floor, "floor")


def _encoded(
    service: SearchService, request: PreviewRequest, saved: Sequence[Phrase]
) -> tuple[list[Encoded], UsedThreshold]:
    """The phrases as searches would be prepared, all for one snapshot and one tuning, and the threshold of most."""
    searches = [
        SearchRequest(
            request.collection,
            text=text,
            mode=request.mode,
            threshold=request.threshold,
            threshold_on=request.threshold_on,
            filter=request.filter or own,
        )
        for text, own in [
            *((text, Filter()) for text in request.phrases),
            *((phrase.text, phrase.filter) for phrase in saved),
        ]
    ]
    together = prepare_all(service, searches)
    used = together[0].threshold
    thresholds = [used] * len(request.phrases) + [_own_threshold(used, together[0].tuning, phrase) for phrase in saved]
    own = [replace(each, threshold=threshold) for each, threshold in zip(together, thresholds, strict=True)]
    return service.encode(own), used


def _own_threshold(used: UsedThreshold, tuning: Tuning, phrase: Phrase) -> UsedThreshold:
    """What a saved phrase is counted with: what the request says, else its own threshold, else the collection's."""
    own = replace(tuning, threshold=phrase.own.threshold).present_threshold
    if used.source == "request" or own is None:
        return used
    return UsedThreshold(own.value, own.on, "phrase", tuning.calibration_id)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Cosines as hits would show them."""

    raw: Float[np.ndarray, " rows"]
    score: Float[np.ndarray, " rows"]

    @classmethod
    def of(cls, cosines: Float[np.ndarray, " rows"], tuning: Tuning) -> "_Counted":
        raw = raws(cosines)
        return cls(raw, tuning.scores(raw))

    def on(self, scale: ThresholdOn) -> Float[np.ndarray, " rows"]:
        return self.raw if scale == "raw" else self.score

    def reaching(self, value: float, on: ThresholdOn) -> "_Counted":
        kept = self.on(on) >= value
        return _Counted(self.raw[kept], self.score[kept])

    def above(self, scores: Float[np.ndarray, " steps"]) -> Int[np.ndarray, " steps"]:
        return len(self.score) - np.searchsorted(np.sort(self.score), scores, side="left")


def _of_phrase(service: SearchService, encoded: Encoded, saved: str | None, request: PreviewRequest) -> PhrasePreview:
    tuning, used = encoded.prepared.tuning, encoded.prepared.threshold
    floor = used.value if request.floor is None else request.floor
    lowest = None if floor is None else cosine_floor(floor, used.on, tuning)
    counts = service.count(encoded, lowest)
    documents = _Counted.of(counts.documents.cosines, tuning)
    above = documents.above(STEPS)
    spans, spans_above = _spans(counts, floor, used, tuning)
    over, under = _nearest(documents, used, request.examples)
    return PhrasePreview(
        phrase=encoded.prepared.request.text or "",
        saved=saved,
        threshold=used,
        floor=floor,
        with_spans=len(documents.raw),
        documents=None if used.value is None else len(documents.reaching(used.value, used.on).raw),
        spans=spans,
        documents_above=tuple(above.tolist()),
        spans_above=spans_above,
        # The last bar holds its right end, too.
        histogram=tuple((above[:-1] - np.append(above[1:-1], 0)).tolist()),
        above=tuple(_example(counts.documents, documents, row) for row in over),
        below=tuple(_example(counts.documents, documents, row) for row in under),
    )


def _spans(
    counts: Counts, floor: float | None, used: UsedThreshold, tuning: Tuning
) -> tuple[int | None, tuple[int | None, ...]]:
    """How many spans reach the threshold, and every step; None for what lies under the floor."""
    if counts.spans is None or floor is None:
        return None, (None,) * len(STEPS)
    spans = _Counted.of(counts.spans.cosines, tuning).reaching(floor, used.on)
    lowest = floor if used.on == "score" else tuning.score(floor)
    above = zip(STEPS.tolist(), spans.above(STEPS).tolist(), strict=True)
    known = used.value is not None and used.value >= floor
    reaching = len(spans.reaching(used.value or 0.0, used.on).raw) if known else None
    return reaching, tuple(count if step >= lowest else None for step, count in above)


def _nearest(documents: _Counted, used: UsedThreshold, most: int) -> tuple[list[int], list[int]]:
    """Rows of the documents just above the threshold, and of those just below, the nearest first."""
    if used.value is None:
        return [], []
    values = documents.on(used.on)
    order = np.argsort(values, kind="stable")
    border = int(np.searchsorted(values[order], used.value, side="left"))
    return order[border : border + most].tolist(), order[max(border - most, 0) : border][::-1].tolist()


def _example(rows: ScoredRows, documents: _Counted, row: int) -> Example:
    scored = rows.row(row)
    scales = float(documents.score[row]), float(documents.raw[row])
    return Example(scored.document_id, scored.span.start, scored.span.end, scored.place.text(scored.span), *scales)
