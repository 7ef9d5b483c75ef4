"""Reindexing: a collection's stored texts into another recipe, while it is searched and written to.

The new segments are built in a collection beside it. They take the place of the old ones in one transaction, so that
every search is answered by one generation. An interrupted job goes on where it stopped.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Self

import numpy as np
from jaxtyping import Float32

from app.answers import described
from app.collections.jobs import CollectionJobs, built_beside
from app.collections.recipes import CollectionOptions, as_before
from app.collections.service import CollectionService
from app.encoders.default_calibrations import default_calibration
from app.encoders.encoders import Encoders
from app.search.mode import Modes, is_available
from app.search.service import SearchService
from app.services import Services
from indexer.catalog.leases import Lease, lease
from indexer.catalog.publish import remove
from indexer.catalog.replacement import (
    PhrasesChanged,
    Replacement,
    likely_phrases,
    phrase_texts,
    replace_content,
    unlike,
)
from indexer.errors import RecipeMismatch, TextNotStored
from indexer.indexing.pipeline import JobHooks
from indexer.reading.stored_documents import StoredDocuments
from indexer.store import Store
from indexer.types import Collection
from models.encoders.base import encode_all
from models.errors import InvalidInput

# The models of the new recipe are fitted to a sample of this many documents.
_SAMPLED = 20_000


@dataclass(frozen=True, slots=True)
class Reindexed:
    """A collection after it was reindexed."""

    collection: str
    documents: int
    encoder: str
    fingerprint: Annotated[str, described("Architecture, weights and splitter of the encoder.")]
    generation: Annotated[int, described("The first generation of the new recipe.")]
    phrases: Annotated[int, described("Saved phrases that were encoded anew.")]
    bytes: Annotated[int, described("Size on disk.")]
    remains: Annotated[
        tuple[str, ...], described("Where texts that the collection no longer stores remain, and until when.")
    ] = ()


class Reindexing:
    """Reindexes one collection. ``target`` is the collection that is built beside it; deleting it abandons the work."""

    def __init__(
        self,
        store: Store,
        encoders: Encoders,
        collections: CollectionService,
        jobs: CollectionJobs,
        modes: Modes,
        name: str,
        options: CollectionOptions,
    ) -> None:
        self._store, self._encoders, self._collections, self._modes = store, encoders, collections, modes
        self._jobs = jobs
        self._old = store.catalog.collection(name)
        if not self._old.recipe.stores_text:
            raise TextNotStored(
                f"The collection {name!r} does not store its texts, which reindexing encodes anew.",
                hint="Index the documents, from where they came, into a new collection.",
                field="collection",
            )
        self.target = built_beside(self._old.id)
        self._options = options

    @classmethod
    def of(cls, services: Services, name: str, options: CollectionOptions) -> Self:
        """Make it with the services of a registry."""
        collections, jobs = services.get(CollectionService), services.get(CollectionJobs)
        modes = services.get(SearchService).modes
        return cls(services.store, services.encoders, collections, jobs, modes, name, options)

    def documents(self) -> StoredDocuments:
        """The stored documents, which are indexed first."""
        return StoredDocuments(self._store.snapshot(self._old.name))

    def run(self, documents: StoredDocuments, hooks: JobHooks) -> Reindexed | None:
        """Build the new segments, and put them in place. None if ``hooks.stop`` was true: run it again to resume."""
        target = self._create(documents)
        self._jobs.index(target, documents, hooks)
        if hooks.stop():
            return None
        # Other writers wait from here on; few documents are left.
        with lease(self._store.catalog, self._old.name, again=hooks.busy) as held:
            self._catch_up(target, hooks)
            with lease(self._store.catalog, target.name, again=hooks.busy):
                return self._replace(held, self._store.catalog.collection(target.name))

    def _create(self, documents: StoredDocuments) -> Collection:
        options = self._complete(documents)
        try:
            target = self._collections.create(self.target, options).collection
        except RecipeMismatch:  # begun with other options or weights
            self._collections.delete(self.target)
            target = self._collections.create(self.target, options).collection
        self._require_second_look(target)
        return target

    def _require_second_look(self, target: Collection) -> None:
        """Raise ``InvalidInput`` if saved phrases keep likely matches alone, and nothing there would judge them."""
        likely = likely_phrases(self._store.catalog, self._old.id)
        if not likely or self._store.verifier(target.recipe):
            return
        self._collections.delete(self.target)
        raise InvalidInput(
            f"{len(likely):,} saved phrases keep likely matches alone, as {likely[0]!r}, which is said by the second "
            "look, and the collection would have none.",
            hint="Change likely_only of these phrases first, or keep the texts and the encoder.",
            field="store_text" if self._options.store_text is False else "encoder",
        )

    def _complete(self, documents: StoredDocuments) -> CollectionOptions:
        """The options, those not given as in the old recipe."""
        recipe, options = self._old.recipe, self._options
        return CollectionOptions(
            encoder=options.encoder or recipe.encoder,
            shortest=options.shortest or recipe.bounds.shortest,
            longest=options.longest or recipe.bounds.longest,
            texts=(document.text for document in islice(documents, _SAMPLED)),
            as_trained=options.as_trained,
            representations=as_before(recipe, options),
            store_text=options.store_text,
        )

    def _catch_up(self, target: Collection, hooks: JobHooks) -> None:
        """Bring over what was written to the collection since its documents were read."""
        missing, extra = unlike(self._store.catalog, self._old, target)
        if missing:
            snapshot = self._store.present(self._old.name)
            self._jobs.index(target, StoredDocuments(snapshot, missing), replace(hooks, stop=lambda: False))
        if extra:
            with lease(self._store.catalog, target.name) as held:
                remove(self._store.catalog, held, extra)

    def _replace(self, held: Lease, built: Collection) -> Reindexed:
        store, old = self._store, self._old.recipe.details
        names = [live.info.name for live in store.catalog.live_generation(built.name).segments]
        store.segments.adopt(names, built.id, self._old.id)  # a crash leaves them to the next job
        calibration = default_calibration(self._encoders, built.recipe)
        fingerprints = {
            str(name): mode.fingerprint(built.recipe)
            for name, mode in self._modes.items()
            if is_available(mode, built.recipe)
        }
        store.segments.collections.mark(built.id)
        while True:
            version, texts = phrase_texts(store.catalog, self._old.id)
            new = Replacement(built, self._encode(built, texts), version, fingerprints, calibration)
            with suppress(PhrasesChanged):
                generation = replace_content(store.catalog, held, new)
                break
        store.forget(self._old.name)
        store.forget(built.name)
        store.segments.collections.erase(built.id)
        recipe = built.recipe
        self._collections.forget({name: old[name] for name in old if old[name] != recipe.details.get(name)})
        # Without texts, those of the old segments and of matches are given up.
        remains = () if recipe.stores_text else self._jobs.erase(held).remains
        return Reindexed(
            self._old.name,
            built.documents,
            recipe.encoder,
            recipe.fingerprint,
            generation,
            len(texts),
            built.bytes,
            remains,
        )

    def _encode(self, built: Collection, texts: Mapping[str, str]) -> dict[str, Float32[np.ndarray, " dim"]]:
        encoder = self._encoders.load(built.recipe.encoder)
        return dict(zip(texts, encode_all(encoder, list(texts.values()), built.recipe.text), strict=True))
