"""Label candidates: pairs of a phrase and a span to label, drawn so that estimates hold for the whole collection."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float, Int

from app.answers import described, optional
from app.calibration.labels import FEWEST, MATCH_DEGREE, MOST_DEGREE
from app.calibration.prepare_all import prepare_all
from app.requests import ModeName, SearchRequest
from app.search.answers import UsedThreshold
from app.search.mode import AnyMode, Scored
from app.search.request_plan import AnyEncoded
from app.search.service import SearchService, encode
from app.search.threshold import cosine_floor
from app.search.verification.stratified_sampling import BINS, RankedPairs, Stratum, StratumSample, bins_of, draw_strata
from indexer.engine.query import Filter
from indexer.tuning import ThresholdOn, Tuning, check_threshold
from models.errors import InvalidInput
from models.ops.similarity import raws
from models.types import CharSpan

MAX_PHRASES = 100
MAX_CANDIDATES = 2000
SEED = 13
# Characters of context on either side of a span.
_CONTEXT = 80


@dataclass(frozen=True, slots=True)
class LabelCandidatesRequest:
    """The phrases to label, and the number of pairs.

    A pair is a phrase and the best span of a document. With a ``floor``, on the threshold's scale, it is a phrase and
    any span that reaches the floor and does not overlap a better one. Most pairs are drawn near the threshold:
    the request's, else the collection's, else a score of 0.8.
    """

    collection: str
    phrases: tuple[str, ...]
    count: int = 200
    seed: int = SEED
    mode: ModeName = "best_span"
    threshold: float | None = None
    threshold_on: ThresholdOn = "score"
    floor: float | None = None
    filter: Filter = field(default_factory=Filter)


@dataclass(frozen=True, slots=True)
class CandidateSpan:
    """A span of a document."""

    document_id: str
    start: Annotated[int, described("In code points.")]
    end: int


@dataclass(frozen=True, slots=True)
class LabelCandidate:
    """A pair to label, in the form of a label that lacks `match` or `degree`."""

    phrase: str
    span: CandidateSpan
    says: Annotated[str, described("The span's text.")]
    context: Annotated[str, described("The span with the text around it.")]
    context_start: Annotated[int, described("The start of the span in the context.")]
    score: float
    raw: float
    stratum: Annotated[int, described("Send it back with the label.")]
    probability: Annotated[float, described("The probability of being drawn. Send it back with the label.")]
    exact: Annotated[
        Literal[True] | None, optional("The span has the phrase's own words in their order; `match` is the label's.")
    ] = None


@dataclass(frozen=True, slots=True)
class LabelCandidates:
    """A stratified sample of pairs to label, in random order, so that the first half is a sample of every stratum, too.

    The same request on the same generation draws the same pairs.
    """

    collection: str
    mode: ModeName
    generation: int
    seed: int
    threshold: UsedThreshold
    near: Annotated[float, described("The raw around which the strata lie.")]
    strata: tuple[Stratum, ...]
    candidates: tuple[LabelCandidate, ...]
    took_ms: float


def sample_label_candidates(service: SearchService, request: LabelCandidatesRequest) -> LabelCandidates:
    """Draw pairs in two passes over the collection for each phrase: one counts, one fetches the sample."""
    started = time.perf_counter()
    _check(request)
    encoded = encode(prepare_all(service, _searches(request)))
    prepared = encoded[0].prepared
    check_spans(prepared.mode)
    prepared.snapshot.require_texts(  # restored ones lie elsewhere
        f"The collection {request.collection!r} does not store texts, which who labels has to read.",
        hint="Draw candidates from a collection that stores texts.",
        field="collection",
    )
    near = _near(prepared.threshold, prepared.tuning)
    pools = [_Pool(service, item, request) for item in encoded]
    counts = np.stack([pool.counts() for pool in pools])
    rng = np.random.default_rng(request.seed)
    samples = draw_strata(counts, near, request.count, rng)
    candidates = [candidate for number, pool in enumerate(pools) for candidate in pool.fetch(number, samples)]
    return LabelCandidates(
        collection=request.collection,
        mode=request.mode,
        generation=prepared.snapshot.generation.number,
        seed=request.seed,
        threshold=prepared.threshold,
        near=near,
        strata=tuple(sample.stratum for sample in samples),
        # In random order, so that the first part of the file is a sample, too.
        candidates=tuple(candidates[row] for row in rng.permutation(len(candidates))),
        took_ms=round((time.perf_counter() - started) * 1000, 3),
    )


def _check(request: LabelCandidatesRequest) -> None:
    if not 1 <= len(request.phrases) <= MAX_PHRASES or len(set(request.phrases)) < len(request.phrases):
        raise InvalidInput(
            f"Give 1 to {MAX_PHRASES} different phrases.",
            hint="Give each phrase once; split more phrases into several requests.",
            field="phrase",
        )
    if not FEWEST <= request.count <= MAX_CANDIDATES:
        raise InvalidInput(
            f"Ask for {FEWEST} to {MAX_CANDIDATES} candidates.",
            hint=f"A calibration needs at least {FEWEST} labels; 200 are usually enough for a precise threshold.",
            field="count",
        )
    if not 0 <= request.seed < 2**63:
        raise InvalidInput("A seed is a whole number from 0 to 2^63 - 1.", hint="Choose one of these.", field="seed")
    check_threshold(request.floor, "floor")


def check_spans(mode: AnyMode) -> None:
    """Raise ``InvalidInput`` for a mode whose hits are documents: candidates are spans."""
    if mode.presented.unit != "span":
        raise InvalidInput(
            f"Candidates are spans, and mode {mode.name} compares {mode.presented.unit}s.",
            hint="Draw candidates in mode best_span; label texts for this mode.",
            field="mode",
        )


def _searches(request: LabelCandidatesRequest) -> list[SearchRequest]:
    return [
        SearchRequest(
            request.collection,
            text=phrase,
            mode=request.mode,
            threshold=request.threshold,
            threshold_on=request.threshold_on,
            filter=request.filter,
        )
        for phrase in request.phrases
    ]


def _near(used: UsedThreshold, tuning: Tuning) -> float:
    """The raw to draw around: the threshold, or else the score from which a pair counts as a match."""
    return tuning.raw(MATCH_DEGREE / MOST_DEGREE, "score") if used.value is None else tuning.raw(used.value, used.on)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of one phrase that may be drawn: their raws, and their spans."""

    raw: Float[np.ndarray, " pairs"]
    span: Callable[[int], Scored]


def pairs_of(service: SearchService, encoded: AnyEncoded, floor: float | None, on: ThresholdOn) -> Pairs:
    """The pairs of a phrase that may be drawn: its best span in every document, or all spans that reach a floor."""
    tuning = encoded.prepared.tuning
    counts = service.count(encoded, None if floor is None else cosine_floor(floor, on, tuning))
    spans = counts.spans
    if spans is None or floor is None:
        return Pairs(raws(counts.documents.cosines), counts.documents.row)
    raw = raws(spans.cosines)
    # The floor is a little low because of rounding: filter by the value that a hit would show.
    rows = np.flatnonzero((raw if on == "raw" else tuning.scores(raw)) >= floor)
    return Pairs(raw[rows], lambda row: spans.row(int(rows[row])))


@dataclass(frozen=True, slots=True)
class _Pool:
    """A phrase and its pairs, which are computed twice rather than stored: there may be millions."""

    service: SearchService
    encoded: AnyEncoded
    request: LabelCandidatesRequest

    def counts(self) -> Int[np.ndarray, " bins"]:
        """The number of pairs in every bin of raw."""
        return np.bincount(bins_of(self._pairs().raw), minlength=BINS)

    def fetch(self, number: int, drawn: Sequence[StratumSample]) -> Iterator[LabelCandidate]:
        """The sample of the phrase with this number."""
        pairs = self._pairs()
        ranked = RankedPairs.of(pairs.raw)
        for one in drawn:
            for row in ranked.rows(one.stratum)[one.ranks[number]].tolist():
                yield self._candidate(pairs.span(row), float(pairs.raw[row]), one, float(one.probabilities[number]))

    def _pairs(self) -> Pairs:
        return pairs_of(self.service, self.encoded, self.request.floor, self.request.threshold_on)

    def _candidate(self, scored: Scored, raw: float, drawn: StratumSample, chance: float) -> LabelCandidate:
        place, span = scored.place, scored.span
        part = place.part_span
        around = CharSpan(max(part.start, span.start - _CONTEXT), min(part.end, span.end + _CONTEXT))
        return LabelCandidate(
            phrase=self.encoded.prepared.request.text or "",
            span=CandidateSpan(scored.document_id, span.start, span.end),
            says=place.text(span),
            context=place.text(around),
            context_start=span.start - around.start,
            score=self.encoded.prepared.tuning.score(raw),
            raw=raw,
            stratum=drawn.stratum.number,
            probability=chance,
            exact=True if scored.exact else None,
        )
