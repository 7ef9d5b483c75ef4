"""Thresholds and calibrations of collections. A change applies from the next search of this process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from app.calibration.answers import ModeThreshold, PhraseThreshold, Report
from app.calibration.label_candidates import LabelCandidates, LabelCandidatesRequest, sample_label_candidates
from app.calibration.label_scores import label_scores
from app.calibration.labels import Label, checked_labels
from app.calibration.metrics import ThresholdTargets, check_targets
from app.calibration.phrase_thresholds import PhraseThresholdsRequest, propose_thresholds
from app.calibration.preview import Preview, preview
from app.calibration.report import fit_calibration
from app.encoders.encoders import Encoders
from app.requests import MAX_PREVIEWED, ModeName, PreviewRequest
from app.search.mode import AnyMode, available_mode, available_modes
from app.search.service import SearchService
from app.services import Services
from indexer.catalog.calibrations import (
    activate_calibration,
    add_calibration,
    deactivate_calibration,
    delete_calibration,
    list_calibrations,
)
from indexer.catalog.names import checked_note
from indexer.catalog.phrases import get_phrase, list_phrases
from indexer.catalog.thresholds import read_tuning, set_threshold, threshold_history, undo_threshold
from indexer.phrases import Phrase
from indexer.store import Store
from indexer.tuning import Calibration, CalibrationDraft, ThresholdChange, ThresholdOn
from models.errors import InvalidInput

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class CalibrationRequest:
    """The labels to fit a calibration to, and whether to activate it."""

    labels: Sequence[Label]
    mode: ModeName = "best_span"
    note: str = ""
    activate: bool = False
    targets: ThresholdTargets = field(default_factory=ThresholdTargets)


class ThresholdService:
    """Thresholds and calibrations of a store's collections. Raises ``CollectionNotFound`` and ``ModeUnavailable``."""

    def __init__(self, store: Store, search: SearchService, encoders: Encoders) -> None:
        self._store = store
        self._search = search
        self._encoders = encoders

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store, services.get(SearchService), services.encoders)

    def thresholds(self, collection: str) -> tuple[ModeThreshold, ...]:
        """The threshold of every mode that is available for the collection."""
        target = self._store.catalog.collection(collection)
        modes = available_modes(self._search.modes, target.recipe)
        return tuple(ModeThreshold.of(mode, read_tuning(self._store.catalog, target.name, mode)) for mode in modes)

    def set(self, collection: str, mode: ModeName, value: float | None, on: ThresholdOn, note: str) -> ModeThreshold:
        """Set the collection's threshold for a mode; None removes it."""
        self._check(collection, mode)
        return ModeThreshold.of(
            mode, self._change(lambda: set_threshold(self._store.catalog, collection, mode, value, on, note))
        )

    def undo(self, collection: str, mode: ModeName, note: str) -> ModeThreshold:
        """Undo the last change; raises ``NothingToUndo`` if there is none."""
        self._check(collection, mode)
        return ModeThreshold.of(mode, self._change(lambda: undo_threshold(self._store.catalog, collection, mode, note)))

    def history(self, collection: str, mode: ModeName) -> tuple[ThresholdChange, ...]:
        """All changes of the threshold, the newest first."""
        self._check(collection, mode)
        return threshold_history(self._store.catalog, collection, mode)

    def preview(self, request: PreviewRequest) -> Preview:
        """Preview a threshold. Raises ``PhraseNotFound`` for a saved phrase that does not exist."""
        collection = self._store.catalog.collection(request.collection)
        request, recipe = replace(request, collection=collection.name), collection.recipe
        default = self._encoders.default_calibration(recipe.encoder)
        score = (
            ""
            if request.ranking == "cosine"
            else self._encoders.span_score(recipe.encoder, recipe.fingerprint).fingerprint
        )
        unrelated = default.no_match if default and default.span_score == score else None
        return preview(self._search, request, self._saved(request), unrelated)

    def candidates(self, request: LabelCandidatesRequest) -> LabelCandidates:
        """Draw pairs to label, with known probabilities."""
        name = self._store.catalog.collection(request.collection).name
        return sample_label_candidates(self._search, replace(request, collection=name))

    def propose(self, request: PhraseThresholdsRequest) -> tuple[PhraseThreshold, ...]:
        """The threshold of every labelled phrase, from few labels; nothing is set. Raises ``LabelsRefused``."""
        collection = self._store.catalog.collection(request.collection).name
        self._check(collection, "best_span")
        return propose_thresholds(self._search, replace(request, collection=collection))

    def _saved(self, request: PreviewRequest) -> list[Phrase]:
        catalog = self._store.catalog
        if request.saved == "all":
            phrases = list_phrases(catalog, request.collection, MAX_PREVIEWED + 1)
            if len(phrases) > MAX_PREVIEWED:
                raise InvalidInput(
                    f"More than {MAX_PREVIEWED} phrases are saved, and at most {MAX_PREVIEWED} are previewed at once.",
                    hint="Name the saved phrases to preview, or preview them in several requests.",
                    field="saved",
                )
            return phrases
        return [get_phrase(catalog, request.collection, name) for name in request.saved]

    def calibrate(self, collection: str, request: CalibrationRequest) -> tuple[Calibration, Report]:
        """Fit a calibration to labels and store it. Raises ``LabelsRefused``, and then stores nothing."""
        collection = self._store.catalog.collection(collection).name
        mode = self._check(collection, request.mode)
        checked_note(request.note)
        check_targets(request.targets)
        labels = checked_labels(request.labels)
        snapshot = self._store.snapshot(collection)
        raw = label_scores(labels, snapshot, mode)
        draft, report = fit_calibration(labels, raw, mode, snapshot.recipe, request.note, request.targets)
        return self._add(collection, mode, draft, activate=request.activate), report

    def adopt(self, collection: str, draft: CalibrationDraft, *, activate: bool) -> Calibration:
        """Store a calibration that was made elsewhere.

        Raises ``CalibrationMismatch`` if it belongs to another encoder or to other span bounds.
        """
        return self._add(collection, self._check(collection, draft.mode), draft, activate=activate)

    def calibrations(self, collection: str) -> tuple[Calibration, ...]:
        """The collection's calibrations, the newest first."""
        return list_calibrations(self._store.catalog, collection)

    def activate(self, collection: str, id: str) -> Calibration:
        """Activate a calibration for its mode."""
        return self._change(lambda: activate_calibration(self._store.catalog, collection, id))

    def deactivate(self, collection: str, id: str) -> Calibration:
        """Deactivate a calibration; score is then raw."""
        return self._change(lambda: deactivate_calibration(self._store.catalog, collection, id))

    def delete(self, collection: str, id: str) -> None:
        """Delete a calibration that is not active."""
        self._change(lambda: delete_calibration(self._store.catalog, collection, id))

    def _check(self, collection: str, mode: ModeName) -> AnyMode:
        return available_mode(self._search.modes, mode, collection, self._store.catalog.collection(collection).recipe)

    def _add(self, collection: str, mode: AnyMode, draft: CalibrationDraft, *, activate: bool) -> Calibration:
        catalog = self._store.catalog
        fingerprint = mode.fingerprint(catalog.collection(collection).recipe)
        return self._change(
            lambda: add_calibration(catalog, collection, draft, fingerprint=fingerprint, activate=activate)
        )

    def _change(self, change: Callable[[], Result]) -> Result:
        result = change()
        self._store.tunings.forget()
        return result
