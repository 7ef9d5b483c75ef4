"""Previews of a threshold before it is set: exact counts over all documents, and examples on both sides of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float, Int

from app.answers import described, optional
from app.calibration.prepare_all import prepare_all
from app.requests import MAX_PREVIEWED, ModeName, PreviewRequest, SearchRequest, SpanChoice
from app.search.answers import UsedThreshold
from app.search.mode import Counts, ScoredRows
from app.search.request_plan import AnyEncoded, AnyPrepared
from app.search.service import SearchService, encode
from app.search.threshold import cosine_floor
from indexer.phrases import Phrase
from indexer.reading.document_rows import count_passing
from indexer.tuning import ThresholdOn, Tuning, check_threshold
from models.encoders.calibrations import NoMatch
from models.errors import InvalidInput
from models.fields import converted
from models.ops.similarity import raws

# The scores at which documents and spans are counted: the bounds of the histogram's bars.
STEPS = np.arange(101) / 100


@dataclass(frozen=True, slots=True)
class Example:
    """The best span of a document near the threshold; the document itself in mode maxsim."""

    document_id: str
    start: Annotated[int, described("In code points.")]
    end: int
    text: str
    score: float
    raw: float
    match: Annotated[Literal["exact"] | None, optional("`exact`: the phrase's own words in their order.")] = None


@dataclass(frozen=True, slots=True)
class PhrasePreview:
    """The counts of one phrase."""

    phrase: str
    saved: Annotated[str | None, described("Its name, if it is a saved phrase.")]
    threshold: Annotated[UsedThreshold, described("The threshold of the counts: a saved phrase may have its own.")]
    floor: Annotated[float | None, described("On this threshold's scale.")]
    with_spans: Annotated[int, described("Documents that have at least one span.")]
    documents: Annotated[int | None, described("Documents whose best span reaches the threshold; null without one.")]
    spans: Annotated[int | None, described("Spans that reach it and do not overlap; null if it is below the floor.")]
    documents_above: Annotated[tuple[int, ...], described("One for each of `scores`.")]
    spans_above: Annotated[tuple[int | None, ...], described("As `documents_above`, for spans; null below the floor.")]
    histogram: Annotated[
        tuple[int, ...], described("Documents whose best score lies from one of `scores` up to the next.")
    ]
    above: Annotated[tuple[Example, ...], described("Documents just above the threshold, the nearest first.")]
    below: Annotated[tuple[Example, ...], described("Documents just below it, the nearest first.")]


@dataclass(frozen=True, slots=True)
class NoMatchHere:
    """The best scores of phrases without a match in a collection of this size."""

    units: Annotated[int, described("The units that the collection holds.")]
    median: Annotated[float, described("The median of the best score.")]
    high: Annotated[float, described("Its 95th percentile.")]
    median_raw: float
    high_raw: float


@dataclass(frozen=True, slots=True)
class Preview:
    """Exact counts, all from one generation and under one calibration."""

    collection: str
    mode: ModeName
    generation: int
    threshold: UsedThreshold
    floor: Annotated[float | None, described("On the threshold's scale.")]
    scores: Annotated[tuple[float, ...], described("The scores of the counts: 0, 0.01, ... 1.")]
    no_match: Annotated[
        NoMatchHere | None,
        described("Null without figures for unrelated text: in other modes, for other spans."),
    ]
    phrases: tuple[PhrasePreview, ...]
    took_ms: float


def preview(
    service: SearchService, request: PreviewRequest, saved: Sequence[Phrase] = (), unrelated: NoMatch | None = None
) -> Preview:
    """Count for every phrase, and for the saved ones, in one pass over the collection, without a ``top_k``.

    ``unrelated`` has the encoder's best scores in unrelated text.
    """
    started = time.perf_counter()
    _check(request, len(request.phrases) + len(saved))
    encoded, used = _encoded(service, request, saved)
    names = [None] * len(request.phrases) + [phrase.name for phrase in saved]
    return Preview(
        collection=request.collection,
        mode=request.mode,
        generation=encoded[0].prepared.snapshot.generation.number,
        threshold=used,
        floor=used.value if request.floor is None else request.floor,
        scores=tuple(STEPS.tolist()),
        no_match=None if unrelated is None else _no_match(encoded[0].prepared, unrelated),
        phrases=tuple(_of_phrase(service, item, name, request) for item, name in zip(encoded, names, strict=True)),
        took_ms=round((time.perf_counter() - started) * 1000, 3),
    )


def _no_match(prepared: AnyPrepared, unrelated: NoMatch) -> NoMatchHere | None:
    """The best scores in unrelated text of a snapshot's size; None if they were measured for other spans."""
    snapshot, request, reach = prepared.snapshot, prepared.request, prepared.request.filter.reach
    units = count_passing(snapshot, reach).units if reach else snapshot.units
    is_measured = (request.mode, request.spans) == ("best_span", SpanChoice())
    if not is_measured or unrelated.bounds != snapshot.recipe.bounds or not units:
        return None
    median, high = unrelated.at(units)
    return NoMatchHere(units, prepared.tuning.score(median), prepared.tuning.score(high), median, high)


def _check(request: PreviewRequest, phrases: int) -> None:
    if not 1 <= phrases <= MAX_PREVIEWED:
        raise InvalidInput(
            f"Give 1 to {MAX_PREVIEWED} phrases, not {phrases:,}.",
            hint="Give phrases or names of saved ones; split more phrases into several requests.",
            field="phrases",
        )
    check_threshold(request.floor, "floor")


def _encoded(
    service: SearchService, request: PreviewRequest, saved: Sequence[Phrase]
) -> tuple[list[AnyEncoded], UsedThreshold]:
    """The phrases, prepared as searches and encoded, all for one snapshot and one tuning; and the common threshold."""
    searches = [
        converted(request, SearchRequest, text=text, filter=request.filter if request.filter.asks else own)
        for text, own in [
            *((text, request.filter) for text in request.phrases),
            *((phrase.text, phrase.filter.within(request.filter.always)) for phrase in saved),
        ]
    ]
    prepared = prepare_all(service, searches, check_filter=request.filter.asks)
    used = prepared[0].threshold
    thresholds = [used] * len(request.phrases) + [_own_threshold(used, prepared[0].tuning, phrase) for phrase in saved]
    own = [replace(each, threshold=threshold) for each, threshold in zip(prepared, thresholds, strict=True)]
    return encode(own), used


def _own_threshold(used: UsedThreshold, tuning: Tuning, phrase: Phrase) -> UsedThreshold:
    """The threshold of a saved phrase: the request's, else its own, else the collection's."""
    own = replace(tuning, threshold=phrase.own.threshold).present_threshold
    if used.source in ("request", "auto") or own is None:
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
        rows = self.on(on) >= value
        return _Counted(self.raw[rows], self.score[rows])

    def above(self, scores: Float[np.ndarray, " steps"]) -> Int[np.ndarray, " steps"]:
        return len(self.score) - np.searchsorted(np.sort(self.score), scores, side="left")


def _of_phrase(
    service: SearchService, encoded: AnyEncoded, saved: str | None, request: PreviewRequest
) -> PhrasePreview:
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
    """The number of spans that reach the threshold, and every step; None below the floor."""
    if counts.spans is None or floor is None:
        return None, (None,) * len(STEPS)
    spans = _Counted.of(counts.spans.cosines, tuning).reaching(floor, used.on)
    lowest = floor if used.on == "score" else tuning.score(floor)
    above = zip(STEPS.tolist(), spans.above(STEPS).tolist(), strict=True)
    counted = used.value is not None and used.value >= floor
    reaching = len(spans.reaching(used.value or 0.0, used.on).raw) if counted else None
    return reaching, tuple(count if step >= lowest else None for step, count in above)


def _nearest(documents: _Counted, used: UsedThreshold, most: int) -> tuple[list[int], list[int]]:
    """The rows of the documents just above the threshold and of those just below it, the nearest first."""
    if used.value is None:
        return [], []
    values = documents.on(used.on)
    order = np.argsort(values, kind="stable")
    edge = int(np.searchsorted(values[order], used.value, side="left"))
    return order[edge : edge + most].tolist(), order[max(edge - most, 0) : edge][::-1].tolist()


def _example(rows: ScoredRows, documents: _Counted, row: int) -> Example:
    scored = rows.row(row)
    return Example(
        document_id=scored.document_id,
        start=scored.span.start,
        end=scored.span.end,
        text=scored.place.text(scored.span),
        score=float(documents.score[row]),
        raw=float(documents.raw[row]),
        match="exact" if scored.exact else None,
    )
