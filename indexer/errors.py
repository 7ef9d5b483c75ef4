"""Errors of storage and indexing."""

from models.errors import InvalidInput, SpanseekError


class CollectionNotFound(SpanseekError):
    """No collection has this name."""

    code = "collection_not_found"


class CollectionDamaged(SpanseekError):
    """The catalog's row of a collection says what no collection can be."""

    code = "collection_damaged"

    def __init__(self, collection: str, fault: str) -> None:
        super().__init__(
            f"The catalog's row of the collection {collection[:80]!r} is damaged: {fault}.",
            hint="Restore the catalog from a backup, or delete the collection: `spanseek collections delete`.",
            field="collection",
        )
        self.collection = collection


class DocumentNotFound(SpanseekError):
    """The collection has no document of this id."""

    code = "document_not_found"

    @classmethod
    def of(cls, collection: str, id: str) -> "DocumentNotFound":
        """The error of an id that no live document of the collection has."""
        hint = "List its documents; ids are compared to the letter."
        return cls(f"The collection {collection!r} has no document {id[:80]!r}.", hint=hint, field="id")


class KeyNotFound(SpanseekError):
    """There is no API key of this id."""

    code = "key_not_found"


class KeyConfined(SpanseekError):
    """The filter of the API key cannot hold in what was asked; nothing was done."""

    code = "key_confined"


class FilterInvalid(InvalidInput):
    """A filter expression cannot be read, or does not suit the metadata of the collection."""

    code = "invalid_filter"

    def __init__(self, message: str, place: str, hint: str = "") -> None:
        hint = hint or 'Write, for example, `duration >= 600 and not team = "B"`; docs/api/filters.md has the language.'
        super().__init__(f"{message} (at {place} of the filter).", hint=hint, field="filter")


class TextNotStored(SpanseekError):
    """The collection does not store its texts, which this request reads."""

    code = "text_not_stored"


class RecipeMismatch(SpanseekError):
    """The collection was made with another encoder, or with other span bounds."""

    code = "recipe_mismatch"


class CollectionExists(SpanseekError):
    """A collection, or an alias, has the name already."""

    code = "collection_exists"


class CollectionAliased(SpanseekError):
    """The collection cannot be deleted, because an alias names it."""

    code = "collection_aliased"


class AliasExists(SpanseekError):
    """The name is an alias, where only a collection's own name is accepted."""

    code = "alias_exists"


class AliasNotFound(SpanseekError):
    """No alias has this name."""

    code = "alias_not_found"


class CollectionBusy(SpanseekError):
    """Another writer holds the collection's lease."""

    code = "collection_busy"

    def __init__(self, message: str, *, hint: str = "", collection: str = "") -> None:
        super().__init__(message, hint=hint, field="collection")
        self.collection = collection


class LeaseLost(SpanseekError):
    """This writer's lease ran out and another writer has taken over; nothing was published."""

    code = "lease_lost"


class CalibrationNotFound(SpanseekError):
    """The collection has no calibration of this id."""

    code = "calibration_not_found"


class CalibrationMismatch(SpanseekError):
    """The calibration was made for another encoder, or for other span bounds."""

    code = "calibration_mismatch"


class CalibrationActive(SpanseekError):
    """The calibration is in use."""

    code = "calibration_active"


class PhraseNotFound(SpanseekError):
    """The collection has no saved phrase of this name."""

    code = "phrase_not_found"


class PhraseExists(SpanseekError):
    """The collection has a saved phrase of this name already."""

    code = "phrase_exists"


class PhrasePaused(SpanseekError):
    """The saved phrase is paused, and is not matched."""

    code = "phrase_paused"


class MatchNotFound(SpanseekError):
    """The collection has no match of this number, or it was withdrawn."""

    code = "match_not_found"


class NothingToUndo(SpanseekError):
    """There is no change left to undo."""

    code = "nothing_to_undo"


class CursorExpired(SpanseekError):
    """The generation of the cursor is no longer kept."""

    code = "cursor_expired"


class TaskNotFound(SpanseekError):
    """There is no task of this id."""

    code = "task_not_found"


class TaskUnfinished(SpanseekError):
    """The task has not ended well, and so has no result."""

    code = "task_unfinished"


class TaskBacklogFull(SpanseekError):
    """The tasks that wait hold as many bytes as the server accepts."""

    code = "task_backlog_full"


class TaskInterrupted(SpanseekError):
    """The process that ran the task ended, more than once, before the task had made progress."""

    code = "interrupted"


class ResourcesExhausted(SpanseekError):
    """The process has no descriptor, no thread or no memory left for this."""

    code = "resources_exhausted"


class CatalogUnavailable(SpanseekError):
    """The database does not answer."""

    code = "catalog_unavailable"


class CatalogReadOnly(CatalogUnavailable):
    """The catalog can be read, and not written."""

    code = "catalog_read_only"


class DataFolderLost(CatalogUnavailable):
    """The data folder, or the catalog in it, was removed or replaced under a running process."""

    code = "data_folder_lost"


class CatalogNotInitialised(SpanseekError):
    """The database answers, but its tables are missing or of another version."""

    code = "catalog_not_initialised"


class StorageFull(SpanseekError):
    """There is no room to write: a disk, a quota or a limit on file sizes is exhausted."""

    code = "storage_full"


class StorageFailed(SpanseekError):
    """A disk did not do what was asked of it: an error of input or output."""

    code = "storage_failed"


class SegmentCorrupt(SpanseekError):
    """A file of a segment is missing, or is not what its manifest says."""

    code = "segment_corrupt"


class SegmentsUnavailable(SpanseekError):
    """The bucket that holds the segments does not answer."""

    code = "segments_unavailable"


class BordersMissing(SpanseekError):
    """The collection was written by a version that stored no borders of clauses and sentences."""

    code = "borders_missing"


class PurgeIncomplete(SpanseekError):
    """Something of deleted documents is still on the disk after a purge."""

    code = "purge_incomplete"


class ExecutorUnavailable(SpanseekError):
    """The executor cannot read segments now, such as when its device is lost."""

    code = "executor_unavailable"


class SegmentsUnreachable(ExecutorUnavailable):
    """No node of the cluster that answers holds a segment."""

    code = "segments_unreachable"


class ClusterBusy(SpanseekError):
    """As many requests as may wait for the actors of a cluster are waiting already."""

    code = "cluster_busy"


class SourceUnreadable(InvalidInput):
    """A source file or folder cannot be read at all (a single bad line is skipped and counted instead)."""

    code = "source_unreadable"


class InvalidDocument(InvalidInput):
    """One document cannot be indexed; the others can."""

    code = "invalid_document"


class NoText(InvalidDocument):
    """A file that holds no text at all: nothing is lost with it."""

    code = "no_text"


class BackupFailed(SpanseekError):
    """A backup could not be made of a store that changes too fast, or lacks segments."""

    code = "backup_failed"


class SnapshotInvalid(InvalidInput):
    """A file is no snapshot of a collection, or is damaged; nothing was restored."""

    code = "snapshot_invalid"


class SnapshotNotFound(SpanseekError):
    """The collection has no snapshot of this id."""

    code = "snapshot_not_found"
