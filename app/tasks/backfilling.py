"""Saving phrases and matching what is there: at once where that is short, else as a task.

Phrases are saved first. From then on every new document is matched with them, and the backfill, which runs under the
collection's lease, adds what is missing: a match that arrived meanwhile is neither lost nor added twice.
"""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Final, Self

from app.collections.jobs import CollectionJobs
from app.phrases.answers import NO_BACKFILL, Backfill, ImportedPhrases, PhraseDescription
from app.phrases.service import PhraseService
from app.services import Services
from app.tasks.service import TaskService
from indexer.catalog.collections import Catalog
from indexer.catalog.phrases import unpaused
from indexer.errors import CollectionBusy
from indexer.phrases import PhraseChanges, PhraseDraft
from models.fields import converted
from models.types import JsonValue

if TYPE_CHECKING:
    from app.phrases.parsing import Line

# Units times phrases that are matched before the answer; these take well under a second.
AT_ONCE: Final = 10_000_000
# A phrase whose matches are all judged counts as so many.
_JUDGED: Final = 100


class Backfilling:
    """Saves and changes phrases, and has existing documents matched. ``at_once`` limits what a request waits for."""

    def __init__(
        self,
        catalog: Catalog,
        phrases: PhraseService,
        jobs: CollectionJobs,
        tasks: TaskService,
        *,
        at_once: float = AT_ONCE,
    ) -> None:
        self._catalog, self._phrases, self._jobs, self._tasks = catalog, phrases, jobs, tasks
        self._at_once = at_once

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        get = services.get
        return cls(services.store.catalog, get(PhraseService), get(CollectionJobs), get(TaskService))

    def unhurried(self) -> "Backfilling":
        """The same for a caller that waits, however long it takes; a task is made only while others write."""
        return Backfilling(self._catalog, self._phrases, self._jobs, self._tasks, at_once=inf)

    def add(self, collection: str, draft: PhraseDraft, *, backfill: bool) -> PhraseDescription:
        """Save a new phrase. Raises as ``PhraseService.add``."""
        phrase = self._phrases.add(collection, draft)
        return PhraseDescription.of(phrase, self._match(collection, [draft.name] if backfill else []))

    def change(self, collection: str, name: str, changes: PhraseChanges, *, backfill: bool) -> PhraseDescription:
        """Change a phrase; its matches are found anew if its text or filter changes, or if it is paused no longer."""
        before = self._phrases.get(collection, name)
        phrase = self._phrases.change(collection, name, changes)
        anew = backfill and phrase.asks_anew(before)
        return PhraseDescription.of(phrase, self._match(collection, [name] if anew else []))

    def put(self, collection: str, lines: "Sequence[Line]", *, backfill: bool) -> ImportedPhrases:
        """Save phrases, or replace them. Those that have not changed are not matched again."""
        imported = self._phrases.put(collection, lines)
        saved = [each.name for each in imported.results if each.status in ("created", "changed") and each.name]
        matched = self._match(collection, sorted(set(saved)) if backfill else [])
        return converted(imported, ImportedPhrases, rematched=matched.rematched, task=matched.task)

    def _match(self, collection: str, names: Sequence[str]) -> Backfill:
        active = unpaused(self._catalog, collection, names)
        if not active:
            return NO_BACKFILL
        weight = sum(_JUDGED if is_judged else 1 for is_judged in active.values())
        if weight * self._catalog.collection(collection).units <= self._at_once:
            try:
                return Backfill(self._jobs.backfill(collection, list(active)))
            except CollectionBusy:
                pass  # the task waits for the other writer
        options: dict[str, JsonValue] = {"phrases": list(active), "saved": True}
        size = sum(map(len, active))
        return Backfill(task=self._tasks.add("backfill", collection, options, size).id)
