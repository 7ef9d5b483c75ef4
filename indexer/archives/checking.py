"""The check that an extracted snapshot is one collection: its rows, segments, recipe and index agree.

Anybody may have written it. What is wrong is a ``ValueError`` with the reason.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from jaxtyping import Bool
from pydantic import ValidationError

from indexer.archives.archive import ArchiveInfo
from indexer.archives.rows import (
    ActiveRow,
    CalibrationRow,
    CollectionRow,
    DocumentRow,
    MatchRow,
    PhraseRow,
    PhraseSetRow,
    PhraseThresholdRow,
    SegmentRow,
    ThresholdRow,
    TombstoneRow,
)
from indexer.catalog.foreign import foreign_rows
from indexer.nuggets.recipe import nugget_recipe
from indexer.representations.details import first_fault
from indexer.representations.stored import Stored
from indexer.segments.checking import check_segment
from indexer.segments.layout import MANIFEST
from indexer.segments.reader import Segment
from models.encoders.nuggets.whitened import check_whitening, whitening_path

_Row = TypeVar("_Row", bound=Stored)
# Of a vector of length 1 in float32.
_ROUNDING: Final = 1e-3


class Checking:
    """The check of one snapshot: ``catalog`` is a copy of its rows, ``folder`` has its segments."""

    def __init__(self, catalog: Path, folder: Path, info: ArchiveInfo, is_configured: Callable[[str], bool]) -> None:
        self._catalog, self._folder, self._info, self._is_configured = catalog, folder, info, is_configured

    def run(self) -> None:
        """Raise ``ValueError``, or ``SegmentCorrupt``, for the first fault."""
        self._collection = self._only_collection()
        self._segments = {row.name: row for row in self._rows("segments", SegmentRow)}
        self._check_folders()
        self._check_documents()
        self._check_totals()
        self._check_tuning()
        self._check_phrases()
        self._check_whitenings()

    def _rows(self, table: str, kind: type[_Row]) -> Iterator[_Row]:
        for number, row in enumerate(foreign_rows(self._catalog, table), 1):
            yield self._checked(f"row {number:,} of {table}", kind, row)

    def _checked(self, where: str, kind: type[_Row], row: dict[str, Any]) -> _Row:
        try:
            checked = kind.model_validate(row)
        except ValidationError as error:
            raise ValueError(f"{where} is not valid: {first_fault(error)}") from error
        if getattr(checked, "collection_id", None) not in (None, self._collection.id):
            raise ValueError(f"{where} is of another collection")
        return checked

    def _only_collection(self) -> CollectionRow:
        rows = list(foreign_rows(self._catalog, "collections"))
        if len(rows) != 1:
            raise ValueError(f"it holds {len(rows)} collections instead of 1")
        try:
            collection = CollectionRow.model_validate(rows[0])
        except ValidationError as error:
            raise ValueError(f"its collection is not valid: {first_fault(error)}") from error
        if not self._is_configured(collection.encoder):
            raise ValueError(
                f"its encoder is {collection.encoder[:200]!r}, which the settings do not name; "
                "SPANSEEK_TRUSTED_BACKBONES lists further backbones"
            )
        return collection

    def _check_folders(self) -> None:
        held = {path.name for path in (self._folder / "segments").glob("*")}
        if held != set(self._segments):
            raise ValueError("its catalog names other segments than it holds")

    def _check_documents(self) -> None:
        """Every document of a segment has one row, or one tombstone."""
        rows, dead = defaultdict(list), defaultdict(list)
        for row in self._rows("documents", DocumentRow):
            rows[row.segment].append(row)
        for tombstone in self._rows("tombstones", TombstoneRow):
            dead[tombstone.segment].append(tombstone)
            _require(tombstone.generation <= self._collection.generation, "a tombstone is of a later generation")
        _require(rows.keys() | dead.keys() <= self._segments.keys(), "documents lie in a segment that is not there")
        for name, info in self._segments.items():
            segment = self._segment(info)
            seen = np.zeros(info.documents, np.bool_)
            for tombstone in dead[name]:
                _see(seen, tombstone.ordinal, name)
            columns = [segment.document_table.column(column).to_pylist() for column in ("id", "content_hash")]
            stored = list(zip(*columns, strict=True))
            for document in rows[name]:
                _see(seen, document.ordinal, name)
                named = document.document_id, document.content_hash
                _require(stored[document.ordinal] == named, f"{name} holds another document")
            _require(bool(seen.all()), f"documents of {name} have no row")

    def _segment(self, row: SegmentRow) -> Segment:
        """A segment, opened and checked against its row and the recipe."""
        folder, recipe = self._folder / "segments" / row.name, self._collection.recipe
        segment = Segment(folder, row.manifest_sha256)
        manifest = segment.manifest
        held = {path.name for path in folder.iterdir()}
        _require(held == {MANIFEST, *manifest.files}, f"{row.name} has files that its manifest does not name")
        size = manifest.bytes + (folder / MANIFEST).stat().st_size
        counts = (manifest.documents, manifest.parts, manifest.units, size)
        _require(counts == (row.documents, row.parts, row.units, row.bytes), f"the row of {row.name} has other counts")
        _require(row.added_in <= self._collection.generation, f"{row.name} is of a later generation")
        own = manifest.recipe
        same = (own.encoder, own.fingerprint, own.dim, own.bounds) == (
            recipe.encoder,
            recipe.fingerprint,
            recipe.dim,
            recipe.bounds,
        )
        # Where words are being added, some segments have them before the recipe does.
        same &= recipe.details.items() <= own.details.items()
        _require(same and own.stores_text == recipe.stores_text, f"{row.name} was made by another recipe")
        check_segment(segment)
        return segment

    def _check_totals(self) -> None:
        collection, segments = self._collection, self._segments.values()
        documents = sum(1 for _ in foreign_rows(self._catalog, "documents"))
        totals = (collection.name, collection.encoder, documents, sum(row.units for row in segments))
        info = self._info
        named = (info.collection, info.encoder, info.documents, info.units)
        _require(totals == named and collection.generation == info.generation, "its index says otherwise than its rows")

    def _check_tuning(self) -> None:
        calibrations = {row.id: row for row in self._rows("calibrations", CalibrationRow)}
        for active in self._rows("active_calibrations", ActiveRow):
            calibration = calibrations.get(active.calibration_id)
            _require(calibration is not None and calibration.mode == active.mode, "an active calibration is not there")
        self._check_history([(row.mode, row) for row in self._rows("thresholds", ThresholdRow)])

    def _check_history(self, changes: "list[tuple[str, Any]]") -> None:
        numbers = {(key, change.number) for key, change in changes} | {(key, 0) for key, _ in changes}
        for key, change in changes:
            back = change.goes_back_to
            _require(back is None or (key, back) in numbers, "a threshold goes back to one that is not there")

    def _check_phrases(self) -> None:
        sets = list(self._rows("phrase_sets", PhraseSetRow))
        version, events = (sets[0].version, sets[0].events) if sets else (0, 0)
        phrases = set()
        for phrase in self._rows("phrases", PhraseRow):
            phrases.add(phrase.name)
            _require(0 < phrase.changed_in <= version, f"the phrase {phrase.name!r} has another version")
            self._check_vector(phrase)
        changes = [(row.phrase, row) for row in self._rows("phrase_thresholds", PhraseThresholdRow)]
        _require({phrase for phrase, _ in changes} <= phrases, "a threshold is of a phrase that is not there")
        self._check_history(changes)
        for match in self._rows("matches", MatchRow):
            last = max(match.number, match.withdrawn or 0)
            _require(last <= events, f"the match {match.number} has a number that was not given")
            _require(match.generation <= self._collection.generation, "a match is of a later generation")
            _require(match.withdrawn is not None or match.phrase in phrases, "a match is of a phrase that is not there")

    def _check_vector(self, phrase: PhraseRow) -> None:
        vector = np.frombuffer(phrase.vector, "<f4") if len(phrase.vector) % 4 == 0 else np.zeros(0)
        fits = vector.size == self._collection.dim and bool(np.isfinite(vector).all())
        length = float(np.linalg.norm(vector.astype(np.float64))) if fits else 0.0
        _require(abs(length - 1) < _ROUNDING or (fits and length == 0), f"the phrase {phrase.name!r} has no vector")

    def _check_whitenings(self) -> None:
        nuggets = nugget_recipe(self._collection.recipe)
        own = None if nuggets is None else whitening_path(nuggets.fingerprint, self._folder / "whitenings")
        held = set((self._folder / "whitenings").glob("*"))
        _require(held <= {own}, "it holds a whitening that its recipe does not name")
        for path in held:
            check_whitening(path, 0 if nuggets is None else nuggets.dim)


def _require(is_so: bool | np.bool_, fault: str) -> None:
    if not is_so:
        raise ValueError(fault)


def _see(seen: Bool[np.ndarray, " documents"], ordinal: int, segment: str) -> None:
    _require(ordinal < len(seen) and not seen[ordinal], f"two rows are of one document of {segment}, or of none")
    seen[ordinal] = True
