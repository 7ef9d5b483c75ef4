"""What an administrator sets, and sees before setting it. Every change holds for the next search of this process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from app.search.modes import AVAILABLE, Mode, check_mode
from app.search.service import SearchService
from app.thresholds.preview import Preview, PreviewRequest, preview
from indexer.catalog.thresholds import set_threshold, threshold_history, undo_threshold
from indexer.catalog.tunings import read_tuning
from indexer.store import Store
from indexer.tuning import ThresholdChange, ThresholdOn, Tuning

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class TunedMode:
    """A mode of a collection, and its tuning."""

    mode: Mode
    tuning: Tuning


class ThresholdService:
    """The thresholds of one store's collections. Raises ``CollectionNotFound`` and ``ModeUnavailable``."""

    def __init__(self, store: Store, search: SearchService) -> None:
        self._store = store
        self._search = search

    def thresholds(self, collection: str) -> list[TunedMode]:
        """The tuning of every mode that the collection can be searched in."""
        name = self._store.catalog.collection(collection).name
        return [TunedMode(mode, read_tuning(self._store.catalog, name, mode)) for mode in AVAILABLE]

    def set(self, collection: str, mode: Mode, value: float | None, on: ThresholdOn, note: str) -> TunedMode:
        """Set the collection's threshold for a mode; None takes it away."""
        check_mode(collection, mode)
        return TunedMode(
            mode, self._change(lambda: set_threshold(self._store.catalog, collection, mode, value, on, note))
        )

    def undo(self, collection: str, mode: Mode, note: str) -> TunedMode:
        """Take the last change back; raises ``NothingToUndo`` if there is none."""
        check_mode(collection, mode)
        return TunedMode(mode, self._change(lambda: undo_threshold(self._store.catalog, collection, mode, note)))

    def history(self, collection: str, mode: Mode) -> tuple[ThresholdChange, ...]:
        """All changes of the threshold, the newest first."""
        check_mode(collection, mode)
        return threshold_history(self._store.catalog, collection, mode)

    def preview(self, request: PreviewRequest) -> Preview:
        """What a threshold would find."""
        return preview(self._search, request)

    def _change(self, change: Callable[[], Result]) -> Result:
        result = change()
        self._store.tunings.forget()
        return result
