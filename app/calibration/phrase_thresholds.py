"""Thresholds of single phrases from few labels each: their raws, their pairs in the collection, and the answer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.calibration.answers import PhraseThreshold
from app.calibration.few_labels import FEWEST, LabelledPhrase, Reached, thresholds_of
from app.calibration.label_candidates import MAX_PHRASES, pairs_of
from app.calibration.label_scores import label_scores
from app.calibration.labels import Label, LabelsRefused, distinct_labels
from app.calibration.metrics import ThresholdTargets, check_targets
from app.calibration.prepare_all import prepare_all
from app.requests import SearchRequest
from app.search.request_plan import AnyEncoded
from app.search.service import SearchService, encode
from app.search.verification.stratified_sampling import BINS, bins_of


@dataclass(frozen=True, slots=True)
class PhraseThresholdsRequest:
    """Labels of one or more phrases, at least 5 each, and the precision that their thresholds are to have.

    The mode is ``best_span``, whose raws the prior of ``few_labels`` is of.
    """

    collection: str
    labels: Sequence[Label]
    precision: float = 0.9


def propose_thresholds(service: SearchService, request: PhraseThresholdsRequest) -> tuple[PhraseThreshold, ...]:
    """The threshold of every labelled phrase, in the order of the labels; nothing is set. Raises ``LabelsRefused``."""
    check_targets(ThresholdTargets(precision=request.precision))
    labels = _checked(request.labels)
    phrases = list(dict.fromkeys(label.phrase for label in labels))
    searches = [SearchRequest(request.collection, text=phrase) for phrase in phrases]
    encoded = dict(zip(phrases, encode(prepare_all(service, searches)), strict=True))
    prepared = encoded[phrases[0]].prepared
    raw = label_scores(labels, prepared.snapshot, prepared.mode)
    match = np.array([label.is_match for label in labels])
    of_phrase = {phrase: np.array([label.phrase == phrase for label in labels]) for phrase in phrases}
    labelled = {
        phrase: LabelledPhrase(raw[own], match[own], _counts(service, encoded[phrase]))
        for phrase, own in of_phrase.items()
    }
    reached = thresholds_of(labelled, request.precision)

    def answer(phrase: str, found: Reached | None) -> PhraseThreshold:
        own = labelled[phrase]
        counted = phrase, len(own.raw), int(own.match.sum())
        if found is None:
            return PhraseThreshold(*counted)
        return PhraseThreshold(*counted, found.raw, prepared.tuning.score(found.raw), found.precision, found.found)

    return tuple(answer(phrase, reached[phrase]) for phrase in phrases)


def _counts(service: SearchService, encoded: AnyEncoded) -> np.ndarray:
    return np.bincount(bins_of(pairs_of(service, encoded, None, "raw").raw), minlength=BINS)


def _checked(labels: Sequence[Label]) -> list[Label]:
    distinct = distinct_labels(labels)
    per_phrase = Counter(label.phrase for label in distinct)
    few = [phrase for phrase, count in per_phrase.items() if count < FEWEST]
    if few or not distinct:
        name = f" of {few[0]!r}" if few else ""
        raise LabelsRefused(
            f"{per_phrase[few[0]] if few else 0} different labels{name} are too few.",
            hint=f"Give at least {FEWEST} of every phrase; 20 are a good number.",
            field="labels",
        )
    if len(per_phrase) > MAX_PHRASES:
        raise LabelsRefused(
            f"{len(per_phrase)} phrases are too many.", hint=f"Give up to {MAX_PHRASES}.", field="labels"
        )
    return distinct
