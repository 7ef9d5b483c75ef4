"""An exception for every error code of the API, written by ``python -m docs.generate``: do not edit."""

from typing import Final

from spanseek.errors import ApiError


class AddressUnavailable(ApiError):
    """`spanseek serve` cannot listen on the address and port."""

    code = "address_unavailable"


class AliasExists(ApiError):
    """The name is an alias, and collections are created and deleted by their own names."""

    code = "alias_exists"


class AliasNotFound(ApiError):
    """No alias has this name."""

    code = "alias_not_found"


class BackboneMismatch(ApiError):
    """The weights are not the expected ones, a file differs from its checksum in `SHA256SUMS`, or the
    `calibration.json` beside them cannot be read; or a model asks for a pooling, layers or prompts that
    vectors of spans cannot honour.
    """

    code = "backbone_mismatch"


class BackboneMissing(ApiError):
    """There is no model, or no trained weights, where the settings point to; or no whitening of a
    collection's nuggets in the data folder.
    """

    code = "backbone_missing"


class BackupFailed(ApiError):
    """The backup failed: segments that the catalog names are missing, or were removed too fast."""

    code = "backup_failed"


class BadJson(ApiError):
    """The body is not JSON, or not UTF-8."""

    code = "bad_json"


class BodyTooLarge(ApiError):
    """The body is larger than `SPANSEEK_BODY_LIMIT_BYTES`, an upload than `SPANSEEK_TASK_BACKLOG_BYTES`."""

    code = "body_too_large"


class BordersMissing(ApiError):
    """The collection was written before version 0.3: where its clauses and sentences begin is not stored."""

    code = "borders_missing"


class CalibrationActive(ApiError):
    """The calibration is active and cannot be deleted."""

    code = "calibration_active"


class CalibrationMismatch(ApiError):
    """The calibration belongs to another encoder or to other span bounds."""

    code = "calibration_mismatch"


class CalibrationNotFound(ApiError):
    """The collection has no calibration with this id."""

    code = "calibration_not_found"


class CatalogNotInitialised(ApiError):
    """The database answers, but its tables are missing or of another version; or the data folder has no
    catalog or is not there, as its name is misspelt.
    """

    code = "catalog_not_initialised"


class CatalogReadOnly(ApiError):
    """The catalog, or its folder, is read-only for this process. Searches are answered."""

    code = "catalog_read_only"


class CatalogUnavailable(ApiError):
    """The database does not answer, or its URL is invalid."""

    code = "catalog_unavailable"


class ClusterBusy(ApiError):
    """`SPANSEEK_RAY_QUEUE` requests of this server wait for each actor that holds a segment."""

    code = "cluster_busy"


class CollectionAliased(ApiError):
    """The collection cannot be deleted while an alias names it."""

    code = "collection_aliased"


class CollectionBusy(ApiError):
    """Another process is writing to the collection, an indexing job or another server, for longer than
    `SPANSEEK_LEASE_WAIT_S`.
    """

    code = "collection_busy"


class CollectionDamaged(ApiError):
    """The catalog's row of a collection says what no collection can be. All others are served."""

    code = "collection_damaged"


class CollectionExists(ApiError):
    """The alias would have the name of a collection, or a collection or an alias has the name of the one
    to restore.
    """

    code = "collection_exists"


class CollectionNotFound(ApiError):
    """No collection has this name, or the key is not valid for it: both are answered alike."""

    code = "collection_not_found"


class CursorExpired(ApiError):
    """The entries behind the cursor are no longer kept. Of matches: it precedes withdrawals that were
    deleted after `SPANSEEK_WITHDRAWN_DAYS`. Of hits: the collection changed more than
    `SPANSEEK_GRACE_S` ago, or its threshold or calibration did.
    """

    code = "cursor_expired"


class DataFolderLost(ApiError):
    """The data folder, or the SQLite catalog in it, was removed or replaced while the process was using
    it. Nothing is read or written.
    """

    code = "data_folder_lost"


class DeadLetterNotFound(ApiError):
    """The webhook has no dead letter of this number."""

    code = "dead_letter_not_found"


class DeadlineExceeded(ApiError):
    """No answer within `SPANSEEK_DEADLINE_S` (`SPANSEEK_WRITE_DEADLINE_S` for documents, spans of texts,
    previews and calibrations); work that had not started was dropped, a write that had started
    continues.
    """

    code = "deadline_exceeded"


class DeviceMemoryExhausted(ApiError):
    """The device has too little memory for the segments that a search reads, or for the smallest batch of
    an encoder.
    """

    code = "device_memory_exhausted"


class DeviceUnavailable(ApiError):
    """The requested device is not available on this machine."""

    code = "device_unavailable"


class DocumentNotFound(ApiError):
    """The collection has no document with this id."""

    code = "document_not_found"


class ExecutorUnavailable(ApiError):
    """What reads the segments, or encodes for a job, cannot work: a GPU is lost; there is no Ray cluster
    at `SPANSEEK_RAY_ADDRESS`, or Ray is not installed; or no actor of a job starts, or actors end one
    after the other. `/health/ready` says it of a server.
    """

    code = "executor_unavailable"


class ExtraMissing(ApiError):
    """A plug-in is needed, and not installed."""

    code = "extra_missing"


class Forbidden(ApiError):
    """The key lacks the scope, or may not give this name to a collection or an alias."""

    code = "forbidden"


class HeadersTooLarge(ApiError):
    """The URL and the headers are larger than `SPANSEEK_HEADER_LIMIT_BYTES`."""

    code = "headers_too_large"


class HostNotAllowed(ApiError):
    """The server has no API keys, and `Host` is neither localhost nor in `SPANSEEK_ALLOWED_HOSTS`."""

    code = "host_not_allowed"


class InternalError(ApiError):
    """An unexpected error. The answer contains no details."""

    code = "internal_error"


class Interrupted(ApiError):
    """The reason why a task waits: the process that ran it ended, more than once, before it had made
    progress.
    """

    code = "interrupted"


class InvalidDocument(ApiError):
    """One document cannot be indexed; the others can."""

    code = "invalid_document"


class InvalidFilter(ApiError):
    """A filter expression cannot be read, names a key that no document has, compares values that do not
    compare, or is nested too deeply.
    """

    code = "invalid_filter"


class InvalidInput(ApiError):
    """A field is missing, unknown, of the wrong type, out of bounds, blank, too long, NaN, or holds NUL or
    a lone surrogate.
    """

    code = "invalid_input"


class IssuerUnavailable(ApiError):
    """A token came, and the keys of its issuer could not be fetched yet, or are being fetched. API keys
    are answered.
    """

    code = "issuer_unavailable"


class KeyConfined(ApiError):
    """The key has a filter that always holds, and it cannot hold in what was asked."""

    code = "key_confined"


class KeyNotFound(ApiError):
    """There is no API key of this id."""

    code = "key_not_found"


class KeysRequired(ApiError):
    """`spanseek serve` would listen on the network without any API key."""

    code = "keys_required"


class LabelsRefused(ApiError):
    """The labels cannot be used: one is invalid or belongs to no document, two contradict each other,
    there are fewer than 20, all are of one class, only some have a probability, or degrees do not
    increase with raw. Nothing was saved.
    """

    code = "labels_refused"


class LeaseLost(ApiError):
    """The lease of a writer expired and was taken over; nothing was published."""

    code = "lease_lost"


class MatchNotFound(ApiError):
    """The collection has no match of this number, or it was withdrawn."""

    code = "match_not_found"


class McpMissing(ApiError):
    """`spanseek mcp` needs the SDK of the Model Context Protocol, which is not installed."""

    code = "mcp_missing"


class MethodNotAllowed(ApiError):
    """The path does not support this method."""

    code = "method_not_allowed"


class ModeUnavailable(ApiError):
    """The collection does not hold what this mode searches."""

    code = "mode_unavailable"


class NoText(ApiError):
    """A file holds no text at all; nothing was lost with it."""

    code = "no_text"


class NotAcceptable(ApiError):
    """The header `Accept` has no media type of the answer."""

    code = "not_acceptable"


class NotReady(ApiError):
    """`/health/ready`: a check fails."""

    code = "not_ready"


class NothingToUndo(ApiError):
    """The threshold has no change to undo."""

    code = "nothing_to_undo"


class OriginNotAllowed(ApiError):
    """The server has no API keys, and the request comes from a page of another site (`Origin`)."""

    code = "origin_not_allowed"


class PhraseExists(ApiError):
    """The collection already has a saved phrase with this name."""

    code = "phrase_exists"


class PhraseNotFound(ApiError):
    """The collection has no saved phrase with this name."""

    code = "phrase_not_found"


class PhrasePaused(ApiError):
    """The saved phrase is paused, and is not matched."""

    code = "phrase_paused"


class PurgeIncomplete(ApiError):
    """After a purge, data of deleted documents is still on the disk."""

    code = "purge_incomplete"


class RateLimited(ApiError):
    """The API key has sent more requests than it allows a minute (`spanseek keys create --rate`)."""

    code = "rate_limited"


class RecipeMismatch(ApiError):
    """The collection has another encoder, other span bounds, or other nuggets."""

    code = "recipe_mismatch"


class RequestTimeout(ApiError):
    """The body did not arrive completely within `SPANSEEK_READ_TIMEOUT_S`. The connection is closed."""

    code = "request_timeout"


class ResearchMissing(ApiError):
    """The command or option comes with the research distribution, which is not installed."""

    code = "research_missing"


class ResourcesExhausted(ApiError):
    """The process has reached a limit of the machine: open files, mappings, threads or memory. Nothing is
    wrong with the request, and nothing was lost; a task waits until that has passed.
    """

    code = "resources_exhausted"


class RouteNotFound(ApiError):
    """There is nothing at this path."""

    code = "route_not_found"


class SegmentCorrupt(ApiError):
    """A file of a segment is missing, or differs from its checksum, and no other segment is left to
    search, or the answer must be complete.
    """

    code = "segment_corrupt"


class SegmentsUnavailable(ApiError):
    """The bucket of `SPANSEEK_SEGMENTS_URL` does not answer, refuses its credentials, or is another one;
    or the extra `bucket` is not installed. What is open is still searched. Nothing was published and
    nothing is lost; a task waits until that has passed.
    """

    code = "segments_unavailable"


class SegmentsUnreachable(ApiError):
    """No actor of the cluster answers for a segment. Searches that follow are answered without it and say
    so (`degraded`); what must be complete is refused until it can be asked again.
    """

    code = "segments_unreachable"


class ShuttingDown(ApiError):
    """The server is stopping."""

    code = "shutting_down"


class SnapshotInvalid(ApiError):
    """A file is no snapshot, or is damaged, truncated, of a later version, or no Spanseek wrote it: its
    rows, segments, recipe and index do not fit each other, or its encoder is not one of the settings.
    Nothing was restored. The message says which.
    """

    code = "snapshot_invalid"


class SnapshotNotFound(ApiError):
    """The collection has no snapshot of this id in the data folder."""

    code = "snapshot_not_found"


class SourceUnreadable(ApiError):
    """A source file or folder cannot be read."""

    code = "source_unreadable"


class StorageFailed(ApiError):
    """The disk failed: an error of input or output. Published data is kept; unpublished files are removed."""

    code = "storage_failed"


class StorageFull(ApiError):
    """There is no space to write: the disk, a quota or a limit on file sizes is exhausted. Published data
    is kept; unpublished files are removed.
    """

    code = "storage_full"


class TaskBacklogFull(ApiError):
    """Tasks that have not ended hold `SPANSEEK_TASK_BACKLOG_BYTES`."""

    code = "task_backlog_full"


class TaskNotFound(ApiError):
    """There is no task with this id, or it ended more than `SPANSEEK_TASK_DAYS` ago, or the key may not
    see it.
    """

    code = "task_not_found"


class TaskUnfinished(ApiError):
    """The mining has not ended well, and has no tables."""

    code = "task_unfinished"


class TextNotStored(ApiError):
    """The collection does not store its texts, and the request reads them, or would store them:
    reindexing, summaries, label candidates, uploads of any number, calibration tasks with labels by
    text, minings over HTTP, offsets other than in code points.
    """

    code = "text_not_stored"


class TooManyConnections(ApiError):
    """The server answers `SPANSEEK_CONNECTION_LIMIT` requests."""

    code = "too_many_connections"


class TooManyRequests(ApiError):
    """The queue of searches, of writes, or of previews and calibrations is full (`SPANSEEK_QUEUE_LIMIT`);
    or `SPANSEEK_UPLOAD_LIMIT` uploads arrive, or half of `SPANSEEK_CONNECTION_LIMIT` requests wait for
    tasks already.
    """

    code = "too_many_requests"


class TooManySentences(ApiError):
    """Texts to summarize have more than 5,000 sentences, or spans to restore touch more than 1,024"""

    code = "too_many_sentences"


class TooMuchText(ApiError):
    """The texts of `POST /spans` are more than 1,000, or have more than 1,000,000 characters or 20,000
    parts in all; or they could not be encoded within `SPANSEEK_WRITE_DEADLINE_S`, and the message says
    how many could.
    """

    code = "too_much_text"


class Unauthenticated(ApiError):
    """API keys are in use, and the request has none, an invalid one or a revoked or expired one."""

    code = "unauthenticated"


class UnknownEncoder(ApiError):
    """No encoder has the name given by the settings or the collection."""

    code = "unknown_encoder"


class UnsupportedMediaType(ApiError):
    """The body has another media type than the route reads, or none."""

    code = "unsupported_media_type"


class WebhookKeyLost(ApiError):
    """The key file is not the one that the secret of the webhook was made with."""

    code = "webhook_key_lost"


class WebhookNotFound(ApiError):
    """The collection has no webhook of this id."""

    code = "webhook_not_found"


BY_CODE: Final[dict[str, type[ApiError]]] = {
    "address_unavailable": AddressUnavailable,
    "alias_exists": AliasExists,
    "alias_not_found": AliasNotFound,
    "backbone_mismatch": BackboneMismatch,
    "backbone_missing": BackboneMissing,
    "backup_failed": BackupFailed,
    "bad_json": BadJson,
    "body_too_large": BodyTooLarge,
    "borders_missing": BordersMissing,
    "calibration_active": CalibrationActive,
    "calibration_mismatch": CalibrationMismatch,
    "calibration_not_found": CalibrationNotFound,
    "catalog_not_initialised": CatalogNotInitialised,
    "catalog_read_only": CatalogReadOnly,
    "catalog_unavailable": CatalogUnavailable,
    "cluster_busy": ClusterBusy,
    "collection_aliased": CollectionAliased,
    "collection_busy": CollectionBusy,
    "collection_damaged": CollectionDamaged,
    "collection_exists": CollectionExists,
    "collection_not_found": CollectionNotFound,
    "cursor_expired": CursorExpired,
    "data_folder_lost": DataFolderLost,
    "dead_letter_not_found": DeadLetterNotFound,
    "deadline_exceeded": DeadlineExceeded,
    "device_memory_exhausted": DeviceMemoryExhausted,
    "device_unavailable": DeviceUnavailable,
    "document_not_found": DocumentNotFound,
    "executor_unavailable": ExecutorUnavailable,
    "extra_missing": ExtraMissing,
    "forbidden": Forbidden,
    "headers_too_large": HeadersTooLarge,
    "host_not_allowed": HostNotAllowed,
    "internal_error": InternalError,
    "interrupted": Interrupted,
    "invalid_document": InvalidDocument,
    "invalid_filter": InvalidFilter,
    "invalid_input": InvalidInput,
    "issuer_unavailable": IssuerUnavailable,
    "key_confined": KeyConfined,
    "key_not_found": KeyNotFound,
    "keys_required": KeysRequired,
    "labels_refused": LabelsRefused,
    "lease_lost": LeaseLost,
    "match_not_found": MatchNotFound,
    "mcp_missing": McpMissing,
    "method_not_allowed": MethodNotAllowed,
    "mode_unavailable": ModeUnavailable,
    "no_text": NoText,
    "not_acceptable": NotAcceptable,
    "not_ready": NotReady,
    "nothing_to_undo": NothingToUndo,
    "origin_not_allowed": OriginNotAllowed,
    "phrase_exists": PhraseExists,
    "phrase_not_found": PhraseNotFound,
    "phrase_paused": PhrasePaused,
    "purge_incomplete": PurgeIncomplete,
    "rate_limited": RateLimited,
    "recipe_mismatch": RecipeMismatch,
    "request_timeout": RequestTimeout,
    "research_missing": ResearchMissing,
    "resources_exhausted": ResourcesExhausted,
    "route_not_found": RouteNotFound,
    "segment_corrupt": SegmentCorrupt,
    "segments_unavailable": SegmentsUnavailable,
    "segments_unreachable": SegmentsUnreachable,
    "shutting_down": ShuttingDown,
    "snapshot_invalid": SnapshotInvalid,
    "snapshot_not_found": SnapshotNotFound,
    "source_unreadable": SourceUnreadable,
    "storage_failed": StorageFailed,
    "storage_full": StorageFull,
    "task_backlog_full": TaskBacklogFull,
    "task_not_found": TaskNotFound,
    "task_unfinished": TaskUnfinished,
    "text_not_stored": TextNotStored,
    "too_many_connections": TooManyConnections,
    "too_many_requests": TooManyRequests,
    "too_many_sentences": TooManySentences,
    "too_much_text": TooMuchText,
    "unauthenticated": Unauthenticated,
    "unknown_encoder": UnknownEncoder,
    "unsupported_media_type": UnsupportedMediaType,
    "webhook_key_lost": WebhookKeyLost,
    "webhook_not_found": WebhookNotFound,
}
