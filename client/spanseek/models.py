"""The answers of the API, written by ``python -m docs.generate``: do not edit."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from spanseek.answers import Answer


class Actor(Answer):
    """An actor, as this server saw it last."""

    name: str
    node: str
    """The address of its node."""
    state: str
    """`joining`, `ready`, `out` or `drained`: only ready ones are asked."""
    segments: int
    """Segments that it holds."""
    units: int
    """Units of these segments."""
    waiting: int
    """Requests of this server that it has not answered."""
    answered: int
    """Requests of all servers that it has answered since it started."""
    hedged: int
    """Late requests of this server that a second actor was asked for."""
    failed: int
    """Times that it did not answer this server."""
    seconds: float
    """Median time of its recent answers to this server; 0 before the first."""
    idle_s: float | None = None
    """Seconds since a server asked it last; null if none ever did."""


class AliasDescription(Answer):
    """An alias."""

    name: str
    collection: str
    """The collection that it names."""
    changed_at: datetime


class AliasList(Answer):
    """Aliases by name."""

    aliases: list[AliasDescription]


class AppliedThreshold(Answer):
    """The threshold of a phrase's matches; a phrase whose threshold is null matches nothing."""

    value: float | None = None
    on: str
    source: str
    """phrase, collection or none."""


class Arranged(Answer):
    """The list that `sort`, `collapse`, `per_document` and `counts` make of hits."""

    hits: int
    """The number of hits that were read: all above the threshold, or the best."""
    listed: int
    """Those of them that are listed: what collapsing and `per_document` left."""
    complete: bool
    """False: there are more hits than were read."""


class AtThreshold(Answer):
    """Precision, recall and F1 of a threshold on the labels; ``found`` of them reach it."""

    raw: float
    score: float
    found: int
    """Labels that reach it."""
    precision: Share
    recall: Share
    f1: Share


class Bar(Answer):
    """A tenth of the labels, by score."""

    score: float
    """Their mean score."""
    observed: float
    """Their mean labelled degree, scaled to 1."""
    labels: int


class Bucket(Answer):
    """The hits that have a value, or one in a range or a period, in common."""

    hits: int
    documents: int
    """The documents that hold them."""
    value: bool | float | str | None = None
    """The value, or the first day of the period; absent for ranges."""
    at_least: float | None = None
    """The range's lower border, included; absent for the first."""
    below: float | None = None
    """Its upper border, excluded; absent for the last."""


class CalibrationDescription(Answer):
    """A map from raw to score, the recipe it belongs to, and the labels it was fitted to."""

    id: str
    mode: str
    active: bool
    method: str
    """isotonic or logistic, whichever has the lower cross-validated error."""
    labels: int
    note: str
    created_at: datetime
    fingerprint: str
    """The fingerprint of the encoder that it belongs to."""
    span_units: SpanUnits
    knots: list[tuple[float, float]]
    """Pairs of raw and score, interpolated linearly."""
    figures: dict[str, Any]
    """The stored part of its report."""


class CalibrationList(Answer):
    """Calibrations, the newest first."""

    calibrations: list[CalibrationDescription]


class CandidateSpan(Answer):
    """A span of a document."""

    document_id: str
    start: int
    """In code points."""
    end: int


class ChangedDocument(Answer):
    """The metadata of a document after a change."""

    id: str
    status: str
    metadata: dict[str, Any]
    generation: int
    """The first generation that contains the change."""


class Check(Answer):
    """The result of one check."""

    ok: bool
    code: str | None = None
    """The error's code; absent if all is well."""
    detail: str | None = None
    """The fault; absent if all is well."""
    hint: str | None = None
    """The remedy; absent if all is well."""


class ClusterState(Answer):
    """State of the cluster that reads the segments of collections, as this server sees it."""

    executor: str
    """The executor's name, such as `candidates`, or `ray` on a cluster."""
    unreachable_segments: int
    """Segments that no actor can be asked for; answers lack them."""
    actors: list[Actor]
    """By node and name; none where the server itself reads."""


class CollectionDescription(Answer):
    """A named set of documents, indexed with one encoder."""

    name: str
    encoder: str
    fingerprint: str
    """Architecture, weights and splitter of the encoder."""
    dim: int
    """The dimension of query vectors."""
    span_units: SpanUnits
    representations: list[str]
    """The stored representations."""
    nuggets: Nuggets | None = None
    """Null if the collection has no nuggets."""
    store_text: bool
    """False: texts of hits are restored from vectors."""
    generation: int
    """Increases with every change."""
    documents: int
    units: int
    """Stored units, deleted documents included."""
    segments: int | None = None
    """Absent for keys with a filter, which count their own documents alone."""
    bytes: int | None = None
    """Size on disk; absent for keys with a filter."""
    degraded: list[str] | None = None
    """The damage of segments that this server leaves out of searches; absent if there is none."""


class CollectionList(Answer):
    """Collections by name."""

    collections: list[CollectionDescription]
    damaged: list[str] | None = None
    """What is wrong with collections whose rows cannot be read; absent if there are none."""


class CollectionsAnswer(Answer):
    """The best hits of several collections, best first, each with its `collection`."""

    hits: list[Hit]
    collections: list[SearchedCollection]
    """In the order of the request."""
    took_ms: float


class CompareAnswer(Answer):
    """The similarity of two texts in every mode, their facets and their direction."""

    similarities: list[ModeSimilarity]
    facets: FacetComparison | None = None
    """Null where a text has no word that the word vectors have."""
    direction: Direction | None = None
    """Null in the same case."""


class Context(Answer):
    """The hit's surroundings within its part; `text[start:end]` of them, in code points, is the hit."""

    text: str
    start: int
    end: int


class CreatedKey(Answer):
    """A new key and its token."""

    token: str
    """The key itself, as callers send it. It is shown once."""
    key: KeyDescription


class DeadLetter(Answer):
    """A delivery that failed for too long. Its events are read again when it is sent."""

    number: int
    kind: str
    content: dict[str, Any]
    """Of `matches` the range of events, of `task` the task."""
    error: DeliveryError | None = None
    at: datetime
    """When it was made."""


class DeadLetterPage(Answer):
    """Dead letters, the oldest first."""

    dead_letters: list[DeadLetter]
    more: bool
    """True if there are more: ask again with `after`, the last number."""


class DeletedByFilter(Answer):
    """The documents that passed the filter."""

    deleted: int
    """The number of documents; with `dry_run`, of those that would be deleted."""
    dry_run: bool
    generation: int
    """The first generation without the documents."""


class DeletedCalibration(Answer):
    """The calibration that was deleted."""

    id: str
    status: str | None = None


class DeletedCollection(Answer):
    """The collection that was deleted."""

    name: str
    status: str | None = None


class DeletedDocument(Answer):
    """The result of one id."""

    id: str
    status: str


class DeletedDocuments(Answer):
    """The result of every id, in request order."""

    results: list[DeletedDocument]
    generation: int
    """The first generation without the documents."""


class DeletedPhrase(Answer):
    """The phrase that was deleted."""

    name: str
    status: str | None = None


class DeletedWebhook(Answer):
    """The webhook that was deleted."""

    id: str
    status: str | None = None


class DeliveryError(Answer):
    """The reason for a failed delivery."""

    code: str
    """`timeout`, `unreachable`, `refused` (a status other than 2xx), `redirected`, `address_refused`,
    `webhook_key_lost` or `internal_error`.
    """
    detail: str


class Direction(Answer):
    """The more general one of two phrases."""

    more_general: str | None = None
    """Null where nothing tells."""
    difference: float
    """Above 0 where the first is more general: Diff of eq. 8, and the frequencies of words."""


class DocumentPage(Answer):
    """A page of documents, by id."""

    documents: list[ListedDocument]
    total: int
    """The documents of all pages."""
    cursor: str | None = None
    """The cursor of the next page; null at the end."""
    generation: int
    degraded: list[str] | None = None
    """The damage of segments whose documents are left out; absent if there is none."""


class Event(Answer):
    """A match that was added or withdrawn."""

    event: str
    match: int
    """The match's number in its collection: the same in both of its events."""
    at: datetime
    """The time of the event."""
    phrase: str
    """The phrase's name."""
    tags: list[str]
    """The phrase's tags; of a withdrawn match those that it had."""
    document_id: str
    start: int
    """In code points."""
    end: int
    text: str | None = None
    """The span's text; null for a withdrawn match, empty where texts are not stored."""
    score: float
    """The score at the time of the match."""
    raw: float
    calibration: str | None = None
    """The calibration of the score; null: score equals raw."""
    generation: int
    """The first generation that contains the document."""
    reason: str | None = None
    """Why it was withdrawn; null for `matched`."""
    link: str
    """The path of the match with its text and its neighbours, below the API's address."""
    exact: bool | None = None
    """The span has the phrase's own words in their order; `match` is a number."""
    probability: float | None = None
    """That the sentence of the match says the phrase; absent where it was not judged."""
    verdict: str | None = None
    """`match` from a probability of 0.5 on, as in a search."""


class EventPage(Answer):
    """Events, in their order."""

    events: list[Event]
    cursor: str
    """Send it with the next request: each event is read once, and none is skipped."""
    more: bool
    """True if there are more events."""


class Example(Answer):
    """The best span of a document near the threshold; the document itself in mode maxsim."""

    document_id: str
    start: int
    """In code points."""
    end: int
    text: str
    score: float
    raw: float
    match: str | None = None
    """`exact`: the phrase's own words in their order."""


class ExecutorState(Answer):
    """The executor, which reads the segments of collections."""

    name: str
    """The executor's name."""
    ready: bool
    """Whether segments can be read; `checks` says why not."""
    segments: int
    """The number of segments that it keeps in memory of its own, such as a GPU's."""


class Facet(Answer):
    """A facet by the words nearest to it."""

    words: list[str]


class FacetComparison(Answer):
    """The facets of two texts."""

    distance: float
    """SC of the paper's eq. 5: how badly the facets of either make the other's."""
    first: list[Facet]
    second: list[Facet]


class FailedQuery(Answer):
    """A query of a batch that cannot be answered; the others are."""

    error: QueryError


class Failing(Answer):
    """Failed tries of the next delivery: their number and start, the next try and the last error."""

    tries: int
    since: datetime
    next_try: datetime
    error: DeliveryError


class FieldCounts(Answer):
    """A key of the metadata of documents or of parts: how many values it has, and the most frequent of
    them.

    ``types`` are the kinds of its values, and of the elements of lists; strings that read as dates are also
    dates.
    """

    level: str
    name: str
    distinct: int
    values: list[ValueCount]
    types: list[str]


class FilterDescription(Answer):
    """A filter as requests take it."""

    document: dict[str, Any]
    part: dict[str, Any]
    expression: str | None = None
    """The expression as a string; absent without one."""


class Filtered(Answer):
    """The documents that pass a filter, whether or not they hold a hit."""

    documents: int
    """Documents that pass the filter; of `part`, those with a part that does."""
    of: int
    """All documents of the collection."""
    unknown_keys: list[str]
    """Keys of the filter that no document has, such as `document.kidn`."""


class FittedCalibration(Answer):
    """The stored calibration, and the report on it."""

    calibration: CalibrationDescription
    report: Report


class Hit(Answer):
    """A span or, in modes that rank documents, a whole document. `text` is its text from `start` to `end`."""

    document_id: str
    start: int
    """Where the span starts in the document, in `offset_unit`s."""
    end: int
    """Where it ends, exclusive."""
    text: str
    score: float
    """Calibrated similarity, 0 to 1."""
    raw: float
    """(1 + span score) / 2, from 0 to 1; of the cosine with `ranking: cosine` and of documents; the share
    of the highest BM25 score in mode lexical. Hits are ordered by it.
    """
    mode: str
    rank: int
    """1 is the best."""
    metadata: dict[str, Any]
    """The document's metadata."""
    part_metadata: dict[str, Any] | None = None
    """The part's metadata; absent if empty."""
    context: Context | None = None
    """Absent unless requested."""
    polarity: str | None = None
    """`negated`: the hit is denied, the query is not, and its verdict is no match. English only."""
    explanation: dict[str, Any] | None = None
    """Absent unless requested; what the score is made of, which depends on the mode."""
    match: str | None = None
    """`exact`: the query's own words in their order; case, white space and punctuation aside."""
    restored: bool | None = None
    """The collection does not store texts: `text` is restored from vectors, and may differ."""
    confidence: float | None = None
    """Of a restored text: the probability of its least certain token, 0 to 1."""
    cut: bool | None = None
    """What was found is longer than 10,000 characters: `start`, `end` and `text` are of the part that
    holds most of the query's words.
    """
    highlights: list[TextSpan] | None = None
    """The query's words in the hit; in mode lexical alone."""
    probability: float | None = None
    """That the sentence of the hit says the phrase, 0 to 1; only of hits that took the second look, of
    which likely ones come first.
    """
    verdict: str | None = None
    """`match` from a probability of 0.5 on, else `differs` (near, but not the same) or `unrelated`."""
    differs: list[str] | None = None
    """In what a hit that differs does, the likeliest first."""
    copies: int | None = None
    """The number of hits that this one stands for, itself included; absent without `collapse`."""
    clause: TextSpan | None = None
    """What the second look read of the hit: its whole sentence; of a document the nearest one."""
    collection: str | None = None
    """The hit's collection; only where several were searched."""


class ImportedPhrase(Answer):
    """The result of one phrase."""

    name: str | None = None
    """Null without a valid name."""
    status: str
    error: ItemError | None = None
    """Absent unless it failed."""


class ImportedPhrases(Answer):
    """The result of every phrase, in request order."""

    results: list[ImportedPhrase]
    rematched: Rematched | None = None
    """Null unless existing documents were matched at once."""
    task: str | None = None
    """The id of the task that matches the existing documents; absent unless there is one."""


class ItemError(Answer):
    """The error of one item."""

    code: str
    """A stable error code."""
    detail: str


class KeyCounts(Answer):
    """All hits above the threshold, counted by a key of the metadata."""

    key: str
    """As the request has it."""
    buckets: list[Bucket]
    """The 100 most frequent values; the last 1,000 periods that have hits, in order; or all ranges."""
    distinct: int
    """The number of buckets with hits, of which some may be left out."""
    without: int
    """Hits that have no value of the kind that is counted."""


class KeyDescription(Answer):
    """An API key, without its secret."""

    id: str
    name: str
    scopes: list[str]
    collections: list[str] | None = None
    """Null for all collections."""
    filter: str | None = None
    """The expression that always holds; null without one."""
    rate: int | None = None
    """Most requests a minute; null for any number."""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


class KeyList(Answer):
    """API keys, the oldest first; revoked ones are among them."""

    keys: list[KeyDescription]


class LabelCandidate(Answer):
    """A pair to label, in the form of a label that lacks `match` or `degree`."""

    phrase: str
    span: CandidateSpan
    says: str
    """The span's text."""
    context: str
    """The span with the text around it."""
    context_start: int
    """The start of the span in the context."""
    score: float
    raw: float
    stratum: int
    """Send it back with the label."""
    probability: float
    """The probability of being drawn. Send it back with the label."""
    exact: bool | None = None
    """The span has the phrase's own words in their order; `match` is the label's."""


class LabelCandidates(Answer):
    """A stratified sample of pairs to label, in random order, so that the first half is a sample of every
    stratum, too.

    The same request on the same generation draws the same pairs.
    """

    collection: str
    mode: str
    generation: int
    seed: int
    threshold: UsedThreshold
    near: float
    """The raw around which the strata lie."""
    strata: list[Stratum]
    candidates: list[LabelCandidate]
    took_ms: float


class LetterStatus(Answer):
    """The new status of a dead letter: queued for another delivery, or deleted."""

    number: int
    status: str


class LikelyMatches(Answer):
    """Likely matches: those that are shown, and those of the whole collection, in sentences."""

    shown: int
    """Those that are among the hits of this answer."""
    estimated: int
    """Sentences of the collection, within the filter, that are likely matches."""
    interval: tuple[int, int]
    """Where that number lies with a probability of 95 %; both are equal where all were judged."""


class LineError(Answer):
    """An invalid line of an upload."""

    line: int
    """The line, from 1; of CSV the row after the header, from 1."""
    id: str | None = None
    """The document's id; null without a valid one."""
    code: str
    """A stable error code."""
    detail: str


class ListedDocument(Answer):
    """A document in a list, without its text."""

    id: str
    metadata: dict[str, Any]
    parts: int
    """The number of parts."""
    characters: int
    """The length of the text in code points."""
    beginning: str
    """The first 200 code points of the text; none where texts are not stored."""


class Live(Answer):
    """The process runs and answers."""

    status: str | None = None


class MatchText(Answer):
    """A match that stands, with the text around it. Texts are empty where they are not stored."""

    match: int
    """The match's number in its collection."""
    at: datetime
    """When it was added."""
    phrase: str
    """The phrase's name."""
    tags: list[str]
    document_id: str
    start: int
    """In code points."""
    end: int
    before: str
    """The text before the span, up to `context` code points."""
    text: str
    after: str
    """The text behind the span, up to `context` code points."""
    score: float
    """The score at the time of the match."""
    raw: float
    calibration: str | None = None
    """The calibration of the score; null: score equals raw."""
    link: str
    """The path of the whole document, below the API's address."""
    probability: float | None = None
    """That the sentence of the match says the phrase; absent where it was not judged."""
    verdict: str | None = None
    """`match` from a probability of 0.5 on, as in a search."""


class MetadataCounts(Answer):
    """The metadata of a collection's documents and parts, with exact counts of documents."""

    fields: list[FieldCounts]
    """The keys of documents, then the keys of parts, each in order of names."""
    documents: int
    """The documents that pass the filter."""
    generation: int
    degraded: list[str] | None = None
    """The damage of segments whose documents are left out; absent if there is none."""


class ModeSimilarity(Answer):
    """The similarity of two texts in one mode: the first is the query, the second the text."""

    mode: str
    raw: float | None = None
    """From 0 to 1, as a search has it."""
    score: float | None = None
    """By the calibration that applies; raw without one."""
    error: ItemError | None = None
    """Why the mode cannot compare them."""


class ModeThreshold(Answer):
    """The default threshold of searches in one mode."""

    mode: str
    threshold: Threshold | None = None
    """The threshold in force; null without one."""
    as_set: Threshold | None = None
    """The threshold as it was set, possibly under another calibration."""
    calibration: str | None = None
    """The active calibration."""


class ModeThresholds(Answer):
    """The thresholds of a collection, by mode."""

    thresholds: list[ModeThreshold]


class NoMatchHere(Answer):
    """The best scores of phrases without a match in a collection of this size."""

    units: int
    """The units that the collection holds."""
    median: float
    """The median of the best score."""
    high: float
    """Its 95th percentile."""
    median_raw: float
    high_raw: float


class Nuggets(Answer):
    """The nuggets of a collection."""

    ratio: float
    """Of n tokens of a window, ceil(n * ratio) are nuggets."""
    fingerprint: str
    """Architecture and weights of the nuggets' encoder."""
    dim: int
    """The dimension of query vectors in mode maxsim."""


class PhraseDescription(Answer):
    """A saved phrase."""

    name: str
    text: str
    threshold: Threshold | None = None
    """Its own threshold under the active calibration; null: the collection's applies."""
    as_set: Threshold | None = None
    """Its own threshold as it was set, possibly under another calibration."""
    applies: AppliedThreshold
    filter: FilterDescription
    note: str
    tags: list[str]
    """The groups that it belongs to, in order."""
    paused: bool
    """A paused phrase keeps its matches, and gets no further ones."""
    likely_only: bool
    """Matches that the second look does not call likely are left out."""
    created_at: datetime
    changed_at: datetime
    rematched: Rematched | None = None
    """What matching the existing documents changed; absent unless this request did it."""
    task: str | None = None
    """The id of the task that matches the existing documents; absent unless there is one."""


class PhrasePage(Answer):
    """A page of phrases, by name."""

    phrases: list[PhraseDescription]
    cursor: str | None = None
    """The cursor of the next page; null at the end."""


class PhrasePreview(Answer):
    """The counts of one phrase."""

    phrase: str
    saved: str | None = None
    """Its name, if it is a saved phrase."""
    threshold: UsedThreshold
    """The threshold of the counts: a saved phrase may have its own."""
    floor: float | None = None
    """On this threshold's scale."""
    with_spans: int
    """Documents that have at least one span."""
    documents: int | None = None
    """Documents whose best span reaches the threshold; null without one."""
    spans: int | None = None
    """Spans that reach it and do not overlap; null if it is below the floor."""
    documents_above: list[int]
    """One for each of `scores`."""
    spans_above: list[int | None]
    """As `documents_above`, for spans; null below the floor."""
    histogram: list[int]
    """Documents whose best score lies from one of `scores` up to the next."""
    above: list[Example]
    """Documents just above the threshold, the nearest first."""
    below: list[Example]
    """Documents just below it, the nearest first."""


class PhraseThreshold(Answer):
    """The threshold that gives one phrase a precision, and what few labels tell of that precision."""

    phrase: str
    labels: int
    matches: int
    raw: float | None = None
    """Null if no threshold is likely to reach the precision."""
    score: float | None = None
    """The same threshold on the scale of score."""
    precision: Share | None = None
    """The expected precision, and its 95 % interval."""
    found: int | None = None
    """Documents that reach it."""


class PhraseThresholds(Answer):
    """The proposed threshold of every labelled phrase."""

    thresholds: list[PhraseThreshold]


class Preview(Answer):
    """Exact counts, all from one generation and under one calibration."""

    collection: str
    mode: str
    generation: int
    threshold: UsedThreshold
    floor: float | None = None
    """On the threshold's scale."""
    scores: list[float]
    """The scores of the counts: 0, 0.01, ... 1."""
    no_match: NoMatchHere | None = None
    """Null without figures for unrelated text: in other modes, for other spans."""
    phrases: list[PhrasePreview]
    took_ms: float


class Progress(Answer):
    """The progress of a task: only what is published counts."""

    done: int
    total: int | None = None
    """Null while it is unknown."""
    unit: str
    """What `done` and `total` count."""


class Provider(Answer):
    """An identity provider (OpenID Connect), and the public client that the page uses there."""

    issuer: str
    """The issuer, whose discovery document has its addresses."""
    client_id: str
    """The public client, which has no secret."""
    scope: str
    """The scopes to ask for."""


class QueryError(Answer):
    """The error of one query of a batch."""

    code: str
    """A stable error code."""
    detail: str
    hint: str
    field: str | None = None
    """The field of the query that is at fault, if one is."""


class Ready(Answer):
    """The server can answer searches."""

    status: str
    checks: dict[str, Any]
    damaged_segments: int
    """Segments that are left out of searches. See spanseek verify."""
    executor: ExecutorState


class Rematched(Answer):
    """The changes of a backfill."""

    added: int
    """Added matches."""
    withdrawn: int
    """Matches that no longer reach the threshold."""


class Report(Answer):
    """The report on a calibration. Errors and reliability `after` are cross-validated.

    Precision, recall and F1 are `weighted` by the inverse probabilities of the labels where these are known:
    they
    then describe all pairs that the labels were drawn from. The map is not weighted: sampling by raw does not
    bias it.
    """

    method: str
    labels: int
    matches: int
    weighted: bool
    """Precision, recall and F1 describe the population that the labels were drawn from."""
    squared_errors: dict[str, float]
    """Cross-validated mean squared error of each method."""
    error_before: float
    """The expected calibration error of raw."""
    error_after: float
    """The expected calibration error of score."""
    reliability_before: list[Bar]
    reliability_after: list[Bar]
    suggested: list[Suggested]
    thresholds: list[AtThreshold]
    """Precision and recall at the raw of every label."""
    warnings: list[str]
    """Figures for which there are too few labels."""


class RestoreAnswer(Answer):
    """The restored texts, in the order of the request."""

    texts: list[RestoredTextAnswer]
    fingerprint: str
    """Identifies the model; vectors of another are refused."""


class RestoredTextAnswer(Answer):
    """A restored text."""

    text: str
    confidence: float
    """The confidence of its least certain token."""
    tokens: list[TokenAnswer]
    warning: str | None = None
    """The confidence is below `warn_below`."""
    document_id: str | None = None
    """Of a stored span."""
    start: int | None = None
    """Where its sentences start in the document, in code points."""
    end: int | None = None
    """Where they end."""


class RevokedKey(Answer):
    """The key that no longer opens anything."""

    id: str
    status: str | None = None
    """`revoked`."""


class SearchAnswer(Answer):
    """Hits, best first, all from one generation of the collection."""

    hits: list[Hit]
    generation: int
    threshold: UsedThreshold
    took_ms: float
    degraded: list[str] | None = None
    """The damage of segments that were not searched; absent if all were."""
    filtered: Filtered | None = None
    """What the filter left; absent without a filter."""
    total: Total | None = None
    """Absent unless requested."""
    verified: Verified | bool | None = None
    """False: the second look had no room or no time; absent where none was asked for, or there is none."""
    likely: LikelyMatches | None = None
    """Absent unless requested by `estimate`."""
    notice: str | None = None
    """Said of a query without words; absent for all others."""
    arranged: Arranged | None = None
    """Absent without `sort`, `collapse`, `per_document` and `counts`."""
    counts: list[KeyCounts] | None = None
    """One for each of `counts`; absent without."""
    cursor: str | None = None
    """The cursor of the next page; absent on the last."""


class SearchAnswers(Answer):
    """One answer or error for every query, in their order."""

    results: list[dict[str, Any] | None]


class SearchedCollection(Answer):
    """One of several collections in an answer: its generation, threshold and counts."""

    name: str
    generation: int
    threshold: UsedThreshold
    degraded: list[str] | None = None
    """The damage of segments that were not searched; absent if all were."""
    filtered: Filtered | None = None
    """What the filter left; absent without a filter."""
    total: Total | None = None
    """Absent unless requested."""
    verified: Verified | bool | None = None
    """False: the second look had no room or no time; absent where none was asked for, or there is none."""
    likely: LikelyMatches | None = None
    """Absent unless requested by `estimate`."""


class Share(Answer):
    """A share, and its 95 % interval."""

    value: float
    low: float
    high: float


class SignIn(Answer):
    """The sign-in options of a person, in addition to API keys."""

    provider: Provider | None = None
    """The identity provider; null if there is none."""


class SnapshotDescription(Answer):
    """A snapshot of a collection."""

    id: str
    """Names the snapshot among the collection's."""
    collection: str
    """The collection that it was made of."""
    encoder: str
    documents: int
    units: int
    generation: int
    """The generation of the collection that it holds."""
    bytes: int
    """The size of its file."""
    created_at: datetime


class SnapshotList(Answer):
    """The snapshots of a collection, the newest first."""

    snapshots: list[SnapshotDescription]


class SpanUnits(Answer):
    """The bounds of a span's length in units, both included."""

    shortest: int
    longest: int


class SpansAnswer(Answer):
    """The best spans of every text, in the order of the texts."""

    results: list[TextSpans]
    threshold: UsedThreshold
    took_ms: float
    verified: list[Verified] | None = None
    """The hits of every phrase that were read, counted; absent without the second look."""


class StoredDocument(Answer):
    """A document as it was indexed."""

    id: str
    text: str
    """The parts, joined by a newline; the offsets of hits refer to it."""
    parts: list[StoredPart]
    metadata: dict[str, Any]
    offset_unit: str
    generation: int
    restored: bool | None = None
    """The collection does not store texts: the text, to which the parts refer, is restored from vectors."""
    confidence: float | None = None
    """Of a restored text: the probability of its least certain token, 0 to 1."""
    text_start: int | None = None
    """Where `text` begins, if a part of it was asked for."""
    length: int | None = None
    """The length of the whole text, if a part of it was asked for."""


class StoredPart(Answer):
    """A part of a document: `text[start:end]` of the document's text, in the offset unit."""

    start: int
    end: int
    metadata: dict[str, Any]


class Stratum(Answer):
    """Pairs with a raw from `low` up to `high`."""

    number: int
    """1 is the highest."""
    low: float
    high: float
    population: int
    """The number of pairs."""
    drawn: int
    """The number of pairs drawn."""


class Suggested(Answer):
    """The threshold for a target, such as `precision 0.9`, which `wish` names."""

    wish: str
    threshold: AtThreshold | None = None
    """Null if no threshold reaches the target."""


class SummaryAnswer(Answer):
    """The chosen sentences, in the order of the texts."""

    sentences: list[SummarySentence]
    of: int
    """The number of sentences to choose from."""


class SummarySentence(Answer):
    """A chosen sentence, with offsets in its document."""

    document_id: str
    start: int
    end: int
    text: str
    rank: int
    """1 was chosen first."""
    coverage: float
    """How well the words are covered by the sentences up to this rank, up to 1."""


class TaskDescription(Answer):
    """A task: its status, how far it is, and its outcome."""

    id: str
    kind: str
    collection: str
    status: str
    progress: Progress
    counts: dict[str, int]
    """Of an upload: lines by result, up to the last published one."""
    errors: list[LineError]
    """The first 100 errors by line; all are in its results."""
    result: dict[str, Any] | None = None
    """The outcome, once it is done; its fields depend on the kind."""
    cancel_requested: bool
    starts: int
    """How often it was started; more than once where it was interrupted."""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    error: TaskFailure | None = None
    """Absent unless it failed, or waits after an error."""
    waiting: TaskWaiting | None = None
    """Absent unless it waits after an error."""


class TaskFailure(Answer):
    """The error that ended a task."""

    code: str
    """A stable error code."""
    detail: str
    hint: str


class TaskPage(Answer):
    """A page of tasks, the newest first."""

    tasks: list[TaskDescription]
    cursor: str | None = None
    """The cursor of the next page; null at the end."""


class TaskWaiting(Answer):
    """The error that a queued task waits for to pass: it is tried again, and loses nothing."""

    code: str
    """A stable error code."""
    detail: str
    hint: str
    since: datetime
    """Since when it has made no progress."""
    next_try: datetime
    """When it is tried again; the pauses grow from a second to five minutes."""


class TextHit(Answer):
    """A span of a text, with the fields of a hit of a search; ``document_id`` is the text's id."""

    document_id: str
    start: int
    """Where the span starts in the document, in `offset_unit`s."""
    end: int
    """Where it ends, exclusive."""
    text: str
    score: float
    """Calibrated similarity, 0 to 1."""
    raw: float
    """(1 + span score) / 2, from 0 to 1; of the cosine with `ranking: cosine` and of documents; the share
    of the highest BM25 score in mode lexical. Hits are ordered by it.
    """
    mode: str
    rank: int
    """1 is the best."""
    metadata: dict[str, Any]
    """The document's metadata."""
    part_metadata: dict[str, Any] | None = None
    """The part's metadata; absent if empty."""
    context: Context | None = None
    """Absent unless requested."""
    polarity: str | None = None
    """`negated`: the hit is denied, the query is not, and its verdict is no match. English only."""
    explanation: dict[str, Any] | None = None
    """Absent unless requested; what the score is made of, which depends on the mode."""
    match: str | None = None
    """`exact`: the query's own words in their order; case, white space and punctuation aside."""
    restored: bool | None = None
    """The collection does not store texts: `text` is restored from vectors, and may differ."""
    confidence: float | None = None
    """Of a restored text: the probability of its least certain token, 0 to 1."""
    cut: bool | None = None
    """What was found is longer than 10,000 characters: `start`, `end` and `text` are of the part that
    holds most of the query's words.
    """
    highlights: list[TextSpan] | None = None
    """The query's words in the hit; in mode lexical alone."""
    probability: float | None = None
    """That the sentence of the hit says the phrase, 0 to 1; only of hits that took the second look, of
    which likely ones come first.
    """
    verdict: str | None = None
    """`match` from a probability of 0.5 on, else `differs` (near, but not the same) or `unrelated`."""
    differs: list[str] | None = None
    """In what a hit that differs does, the likeliest first."""
    copies: int | None = None
    """The number of hits that this one stands for, itself included; absent without `collapse`."""
    clause: TextSpan | None = None
    """What the second look read of the hit: its whole sentence; of a document the nearest one."""
    collection: str | None = None
    """The hit's collection; only where several were searched."""
    phrase: int | None = None
    """The number of its phrase in the request, from 0."""


class TextSpan(Answer):
    """A span of a text: its offsets and its text."""

    start: int
    end: int
    text: str


class TextSpans(Answer):
    """The best spans of one text, best first; `rank` counts the spans of one phrase."""

    id: str
    """The text's id; its number in the request, from 0, where it was given none."""
    hits: list[TextHit]


class TextVectors(Answer):
    """The vectors of texts."""

    vectors: list[list[list[float]]]
    """For every text a vector for every stretch of it."""
    fingerprint: str
    dim: int
    """The length of a vector."""
    compared: int
    """How many of its first numbers searches compare."""


class Threshold(Answer):
    """A threshold as it was set, and its raw at that time."""

    value: float
    on: str
    raw: float
    """The same threshold on raw."""
    calibration: str | None = None
    """The calibration its value belongs to; null: score is raw."""


class ThresholdChange(Answer):
    """One change of a threshold; null: no threshold."""

    at: datetime
    from_: Threshold | None = Field(alias="from")
    to: Threshold | None = None
    note: str
    undo: bool
    """Whether it took another change back."""


class ThresholdHistory(Answer):
    """All changes of a threshold, the newest first."""

    changes: list[ThresholdChange]


class TokenAnswer(Answer):
    """A token of a restored text; a last one, without text, is its end."""

    text: str
    confidence: float
    """The probability that the model gave it, 0 to 1."""


class Total(Answer):
    """Exact numbers of all hits: those that reach the threshold, on all pages."""

    documents: int
    """Documents that hold one."""
    spans: int | None = None
    """Spans that do not overlap; null without a threshold, and in modes whose hits are documents."""


class UsedThreshold(Answer):
    """The threshold that was applied; null means none."""

    value: float | None = None
    on: str
    source: str
    """Whose it is: the request's, a saved phrase's, or the collection's."""
    calibration: str | None = None
    """The calibration that scores were made with; null: score is raw."""


class ValueCount(Answer):
    """A value, and how many documents have it, or a list that holds it."""

    value: bool | float | str | list[Any] | dict[str, Any] | None = None
    documents: int


class Verified(Answer):
    """The verdicts of the second look on the best hits, counted."""

    hits: int
    """The number of best hits that were read beside the phrase."""
    likely: int
    """Those of them that say it: their probability is 0.5 or more."""
    complete: bool
    """True if no more are expected: all hits were read, or the last ones are unlikely. False: ask for more
    by `verify`.
    """


class WebhookDescription(Answer):
    """A webhook."""

    id: str
    url: str
    matches: bool
    """Whether matches are sent, and their withdrawals."""
    tasks: bool
    """Whether the ends of tasks are sent."""
    phrases: list[str]
    """Only the matches of these phrases; all, if empty."""
    tags: list[str]
    """Only the matches of phrases with one of these tags; all, if empty."""
    note: str
    paused: bool
    dead_letters: int
    """Deliveries that failed for too long."""
    delivered_at: datetime | None = None
    """When something was received last."""
    created_at: datetime
    changed_at: datetime
    failing: Failing | None = None
    """Absent unless the next delivery has failed and is tried again."""
    secret: str | None = None
    """The secret of its signatures: in the answers that make one, and never again."""


class WebhookList(Answer):
    """The webhooks of a collection, the oldest first."""

    webhooks: list[WebhookDescription]


class WrittenDocument(Answer):
    """The result of one document."""

    id: str | None = None
    """The document's id; null without a valid one."""
    status: str
    error: ItemError | None = None
    """Absent unless it failed."""


class WrittenDocuments(Answer):
    """The result of every document, in request order."""

    results: list[WrittenDocument]
    generation: int
    """The first generation that contains the documents."""
