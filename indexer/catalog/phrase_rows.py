"""The rows of saved phrases."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, Select, func, insert, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.matches import phrase_version
from indexer.catalog.names import is_phrase_name
from indexer.catalog.sql import listed
from indexer.catalog.tables import collections, phrase_sets, phrase_thresholds, phrases
from indexer.catalog.thresholds import History, threshold, tuning_of
from indexer.engine.query import Filter
from indexer.errors import PhraseNotFound
from indexer.filters.strings import printed, restored
from indexer.phrases import MODE, Phrase, PhraseSet
from indexer.representations.details import of_units
from indexer.tuning import Tuning
from models.fields import converted
from models.ops.span_score import SpanScore
from models.text.borders import count_sentences
from models.text.units import TextForm, split
from models.text.words import words

PhraseRow = Row[*tuple[Any, ...]]


def phrases_of(collection_id: str) -> Select[*tuple[Any, ...]]:
    """Select the phrases of a collection with their own thresholds, as they were set."""
    c, t = phrases.c, phrase_thresholds.c
    newest = (
        select(func.max(t.number))
        .where(t.collection_id == c.collection_id, t.phrase == c.name)
        .correlate(phrases)
        .scalar_subquery()
    )
    own = (t.collection_id == c.collection_id) & (t.phrase == c.name) & (t.number == newest)
    return (
        select(phrases, t.value, t.scale, t.raw, t.calibration_id)
        .outerjoin_from(phrases, phrase_thresholds, own)
        .where(c.collection_id == collection_id)
    )


def filter_of(row: PhraseRow) -> Filter:
    """The filter of a row."""
    expression = restored(row.filter_expression) if row.filter_expression else None
    return Filter(row.document_filter, row.part_filter, expression)


def filter_columns(filter: Filter) -> dict[str, Any]:
    """The columns of a filter."""
    expression = "" if filter.expression is None else printed(filter.expression)
    return {
        "document_filter": dict(filter.document),
        "part_filter": dict(filter.part),
        "filter_expression": expression,
    }


def existing_phrases(connection: Connection, collection_id: str, names: Iterable[str]) -> dict[str, PhraseRow]:
    """The rows of the named phrases that exist."""
    # Text that cannot be a name is not sent to the database: not every text can be.
    condition: ColumnElement[bool] = phrases.c.name.in_(listed(connection, filter(is_phrase_name, names)))
    return {row.name: row for row in connection.execute(phrases_of(collection_id).where(condition))}


def find_phrase(connection: Connection, collection_id: str, collection: str, name: str) -> PhraseRow:
    """The row of a phrase. Raises ``PhraseNotFound``."""
    return find_phrases(connection, collection_id, collection, [name])[name]


def find_phrases(
    connection: Connection, collection_id: str, collection: str, names: Sequence[str]
) -> dict[str, PhraseRow]:
    """The rows of phrases. Raises ``PhraseNotFound`` for the first that does not exist."""
    rows = existing_phrases(connection, collection_id, names)
    for name in names:
        if name not in rows:
            raise PhraseNotFound(
                f"The collection {collection} has no phrase {name[:200]!r}.",
                hint="List the phrases of the collection.",
                field="phrase",
            )
    return rows


def read_phrase(connection: Connection, collection_id: str, collection: str, name: str) -> Phrase:
    """A phrase. Raises ``PhraseNotFound``."""
    row = find_phrase(connection, collection_id, collection, name)
    return phrase_from(row, tuning_of(connection, collection_id, MODE))


def phrase_from(row: PhraseRow, tuning: Tuning) -> Phrase:
    """The phrase of a row and its collection's tuning."""
    own, tags = own_tuning(row, tuning), tuple(row.tags)
    return converted(row, Phrase, filter=filter_of(row), tags=tags, own=own, collection=tuning)


def own_tuning(row: PhraseRow, tuning: Tuning) -> Tuning:
    """A phrase's own threshold, under the collection's calibration."""
    return Tuning(threshold(row), tuning.calibration_id, tuning.knots)


def history_of(collection_id: str, phrase: str) -> History:
    """The history of a phrase's own threshold."""
    return History(phrase_thresholds, {"collection_id": collection_id, "phrase": phrase})


def next_version(connection: Connection, collection_id: str) -> int:
    """Increment the version of the collection's phrases, and return it."""
    version = phrase_version(connection, collection_id) + 1
    if version == 1:
        connection.execute(insert(phrase_sets).values(collection_id=collection_id, version=version, events=0))
    else:
        row = phrase_sets.c.collection_id == collection_id
        connection.execute(update(phrase_sets).where(row).values(version=version))
    return version


# The span score of an encoder, given its name and fingerprint.
SpanScores = Callable[[str, str], SpanScore]


def read_phrase_set(
    catalog: Catalog, span_scores: SpanScores, collection_id: str, previous: PhraseSet | None = None
) -> PhraseSet:
    """Read the phrases that are not paused, and the tuning, at one moment; ``previous`` is reused if it is current.

    A calibration of other scores than the collection's is left out of the tuning.
    """
    with catalog.database.snapshot() as connection:
        version = phrase_version(connection, collection_id)
        if not version:
            return PhraseSet(0, (), (), (), (), np.zeros((0, 0), np.float32), Tuning())
        c = collections.c
        columns = select(c.encoder, c.fingerprint, c.representations).where(c.id == collection_id)
        encoder, fingerprint, representations = connection.execute(columns).one()
        form, details = of_units(representations)
        has_words = "words" in details
        score = span_scores(encoder, fingerprint)
        tuning = tuning_of(connection, collection_id, MODE).made_for(score.fingerprint_of(fingerprint))
        if previous is None or previous.version != version or (previous.terms is not None) != has_words:
            phrases = _read(connection, collection_id, version, tuning, score, form)
            return phrases if has_words else replace(phrases, terms=None)
    return previous if previous.tuning.same_as(tuning) else previous.with_tuning(tuning)


def _read(
    connection: Connection, collection_id: str, version: int, tuning: Tuning, score: SpanScore, form: TextForm
) -> PhraseSet:
    active = phrases_of(collection_id).where(phrases.c.paused.is_(False))
    rows = connection.execute(active.order_by(phrases.c.name)).all()
    counts = np.array([(0, 1) if score.is_cosine else _counts(row.text, form) for row in rows], np.int64).reshape(-1, 2)
    numbers = np.frombuffer(b"".join(row.vector for row in rows), "<f4").astype(np.float32)
    return PhraseSet(
        version=version,
        names=tuple(row.name for row in rows),
        filters=tuple(map(filter_of, rows)),
        thresholds=tuple(map(threshold, rows)),
        changed_in=tuple(row.changed_in for row in rows),
        vectors=numbers.reshape(len(rows), -1) if rows else numbers.reshape(0, 0),
        tuning=tuning,
        units=counts[:, 0],
        sentences=counts[:, 1],
        score=score,
        terms=tuple(words(row.text, form) for row in rows),
        tags=tuple(tuple(row.tags) for row in rows),
        texts=tuple(row.text for row in rows),
        likely_only=tuple(row.likely_only for row in rows),
    )


def _counts(text: str, form: TextForm) -> tuple[int, int]:
    """The units and the sentences of a text."""
    units = split(text, form)
    return len(units), count_sentences(text, units, form)
