"""The catalog's collections and their live segments. The modules beside it change what is in them."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int
from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Row, Select, Text, cast, false, func, insert, select, true

from indexer.catalog.calibration_rows import insert_calibration
from indexer.catalog.database import Database
from indexer.catalog.names import checked_collection_name, is_collection_name, possible_ids
from indexer.catalog.sql import Clock, listed, utc_now
from indexer.catalog.tables import aliases, collections, documents, segments, tombstones
from indexer.errors import AliasExists, CollectionDamaged, CollectionNotFound, RecipeMismatch
from indexer.patience import Busy, refuse
from indexer.representations.details import RecipeFields, first_fault, with_units
from indexer.tuning import CalibrationDraft
from indexer.types import Collection, Details, Generation, LiveSegment, Recipe, SegmentInfo, SegmentPlace
from models.fields import converted

_NAMES_IN_HINT = 20


class Catalog:
    """All collections and their live segments. Safe to share between threads.

    >>> import tempfile
    >>> from indexer.catalog.schema import upgrade
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     url = f"sqlite:///{folder}/catalog.db"
    ...     upgrade(url)
    ...     catalog = Catalog(url)
    ...     collection = catalog.create_collection("calls", Recipe("hashing", "f1", dim=64))
    ...     print(collection.name, collection.generation, catalog.live_generation("calls").segments)
    ...     catalog.close()
    calls 0 ()
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Clock = utc_now,
        data_dir: Path | None = None,
        patience: Callable[[], Busy] = lambda: refuse,
    ) -> None:
        self.database = Database(url, data_dir)
        self.clock = clock
        self.patience = patience  # of each writer, with others
        # By collection id the last generation that this process has published: it shows that one from then on.
        self.published: dict[str, int] = {}

    def close(self) -> None:
        """Closes all connections."""
        self.database.close()

    def create_collection(self, name: str, recipe: Recipe, calibration: CalibrationDraft | None = None) -> Collection:
        """The collection of this name, created if there is none, with ``calibration`` as its active one.

        Raises ``RecipeMismatch`` if it exists and was made with another recipe.
        """
        checked_collection_name(name)
        collection = self._find(name) or self._insert(name, recipe, calibration)
        if collection.name != name:
            raise _is_alias(name, collection.name)
        if collection.recipe != recipe:
            raise _mismatch(collection, recipe)
        return collection

    def collection(self, name: str) -> Collection:
        """The collection of this name, with the sizes of its live segments."""
        with self.database.read() as connection:
            return find_collection(connection, name)

    def collections(self) -> tuple[Collection, ...]:
        """All collections whose rows can be read, by name."""
        return tuple(each for each in self._all() if isinstance(each, Collection))

    def damaged(self) -> tuple[CollectionDamaged, ...]:
        """The errors of the collections whose rows cannot be read, by name."""
        return tuple(each for each in self._all() if not isinstance(each, Collection))

    def _all(self) -> list[Collection | CollectionDamaged]:
        with self.database.read() as connection:
            rows = connection.execute(_summaries().order_by(collections.c.name)).all()
        return list(map(_read, rows))

    def by_id(self, id: str) -> Collection:
        """The collection of an id. Raises ``CollectionNotFound``."""
        with self.database.read() as connection:
            row = connection.execute(_summaries(collections.c.id == id)).first()
        if row is None:
            raise CollectionNotFound("The collection was deleted.", field="collection")
        return _collection(row)

    def generation(self, name: str) -> int:
        """The number of the newest generation."""
        return self.version(name)[1]

    def version(self, name: str) -> tuple[str, int]:
        """The collection's id, which tells it from a deleted one of the same name, and the newest generation.

        Cheap: servers poll it.
        """
        with self.database.read() as connection:
            row = connection.execute(select(collections.c.id, collections.c.generation).where(named(name))).first()
            if row is None:
                raise not_found(connection, name)
        return row.id, int(row.generation)

    def note_published(self, collection_id: str, generation: int) -> int:
        """Note a generation that this process has committed; returns it."""
        self.published[collection_id] = generation
        return generation

    def ids(self) -> frozenset[str]:
        """The ids of all collections."""
        with self.database.read() as connection:
            return frozenset(connection.scalars(select(collections.c.id)))

    def live_generation(self, name: str) -> Generation:
        """The live segments and their tombstones, of one generation."""
        with self.database.snapshot() as connection:
            generation = generation_of(connection, named(name))
            if generation is None:
                raise not_found(connection, name)
        return generation

    def retired_segments(self, collection_id: str) -> tuple[SegmentInfo, ...]:
        """Segments that are no longer live, but whose files are kept for readers of older generations."""
        with self.database.read() as connection:
            return tuple(retired_segments(connection, collection_id))

    def segment_places(self) -> frozenset[SegmentPlace]:
        """All segments of all collections, retired ones included."""
        with self.database.read() as connection:
            rows = connection.execute(select(segments.c.collection_id, segments.c.name))
            return frozenset(SegmentPlace(*row) for row in rows)

    def content_hashes(self, name: str, ids: Iterable[str]) -> dict[str, str]:
        """The content hashes of the live documents among these."""
        with self.database.snapshot() as connection:
            return _hashes(connection, collection_id(connection, name), ids)

    @contextmanager
    def locked(self, name: str) -> Iterator[tuple[Connection, str]]:
        """A transaction that excludes other changes of the collection, and the collection's id."""
        with self.database.write() as connection:
            yield connection, lock_collection(connection, name)[0]

    @contextmanager
    def reading(self, name: str) -> Iterator[tuple[Connection, str]]:
        """A snapshot, and the collection's id."""
        with self.database.snapshot() as connection:
            yield connection, collection_id(connection, name)

    def require_own_name(self, name: str) -> None:
        """Raise ``AliasExists`` for an alias, and ``CollectionNotFound`` where nothing has the name."""
        own = self.own_name(name)
        if own != name:
            raise _is_alias(name, own)

    def own_name(self, name: str) -> str:
        """The name of the collection that has this name or alias. Raises ``CollectionNotFound``."""
        with self.database.read() as connection:
            own = connection.scalar(select(collections.c.name).where(named(name)))
            if own is None:
                raise not_found(connection, name)
        return str(own)

    def _find(self, name: str) -> Collection | None:
        with self.database.read() as connection:
            return _first(connection, name)

    def _insert(self, name: str, recipe: Recipe, calibration: CalibrationDraft | None) -> Collection:
        """Insert a collection, unless another process was faster: its collection is returned then."""
        with self.database.write() as connection:
            lock_names(connection)
            existing = _first(connection, name)
            if existing is not None:
                return existing
            id, now = uuid.uuid4().hex, self.clock()
            row = {"id": id, "name": name, **recipe_columns(recipe), "generation": 0, "created_at": now}
            connection.execute(insert(collections).values(row))
            if calibration is not None:
                insert_calibration(connection, id, calibration, now, activate=True)
            return find_collection(connection, name)


def find_collection(connection: Connection, name: str) -> Collection:
    """The collection of this name, with the sizes of its live segments. Raises ``CollectionNotFound``."""
    collection = _first(connection, name)
    if collection is None:
        raise not_found(connection, name)
    return collection


def collection_id(connection: Connection, name: str) -> str:
    """The id of the collection of this name. Raises ``CollectionNotFound``."""
    id = connection.scalar(select(collections.c.id).where(named(name)))
    if id is None:
        raise not_found(connection, name)
    return str(id)


def lock_collection(connection: Connection, name: str) -> tuple[str, str]:
    """Lock a collection's row until the transaction ends; returns its id and its own name.

    Raises ``CollectionNotFound``.
    """
    # Not locked at once: PostgreSQL would pass over a row of an alias that changes meanwhile.
    id = collection_id(connection, name)
    own = connection.scalar(select(collections.c.name).where(collections.c.id == id).with_for_update())
    if own is None:  # deleted in the meantime
        raise not_found(connection, name)
    return id, str(own)


def not_found(connection: Connection, name: str) -> CollectionNotFound:
    """The error for a name that no collection has."""
    names = connection.scalars(select(collections.c.name).order_by(collections.c.name).limit(_NAMES_IN_HINT)).all()
    hint = f"There is: {', '.join(names)}." if names else "There is none yet; `spanseek index` creates one."
    return CollectionNotFound(f"There is no collection {name!r}", hint=hint, field="collection")


def _first(connection: Connection, name: str) -> Collection | None:
    row = connection.execute(_summaries(named(name))).first()
    return None if row is None else _collection(row)


# Details as text, so that those of one collection that are no JSON do not keep the others from being read.
_ROW = (*(column for column in collections.c if column.name not in ("representations", "created_at")),)
_COLLECTION = (*_ROW, cast(collections.c.representations, Text).label("representations"))


def _summaries(*conditions: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    # Equals the number of rows of `documents`, which would all be read to count them.
    dead = select(func.count()).select_from(tombstones).where(tombstones.c.segment == segments.c.name).scalar_subquery()
    return (
        select(
            *_COLLECTION,
            func.coalesce(func.sum(segments.c.documents - dead), 0).label("documents"),
            func.coalesce(func.sum(segments.c.units), 0).label("units"),
            func.count(segments.c.name).label("segments"),
            func.coalesce(func.sum(segments.c.bytes), 0).label("bytes"),
            func.coalesce(func.max(segments.c.units), 0).label("largest"),
        )
        .outerjoin_from(
            collections,
            segments,
            (segments.c.collection_id == collections.c.id) & segments.c.retired_in.is_(None),
        )
        .where(*conditions)
        .group_by(collections.c.id)
    )


def _collection(row: Row[*tuple[Any, ...]]) -> Collection:
    # PostgreSQL sums integers to decimals.
    sums = {name: int(getattr(row, name)) for name in ("documents", "units", "bytes", "largest")}
    return converted(row, Collection, recipe=_recipe(row), **sums)


def recipe_columns(recipe: Recipe) -> dict[str, object]:
    """The columns of a collection's row that hold its recipe."""
    return {
        "encoder": recipe.encoder,
        "fingerprint": recipe.fingerprint,
        "dim": recipe.dim,
        "shortest": recipe.bounds.shortest,
        "longest": recipe.bounds.longest,
        "representations": with_units(recipe),
    }


def _recipe(row: Row[*tuple[Any, ...]]) -> Recipe:
    try:
        return RecipeFields.model_validate({name: getattr(row, name) for name in RecipeFields.model_fields}).recipe
    except ValidationError as error:
        raise CollectionDamaged(row.name, first_fault(error)) from error


def _read(row: Row[*tuple[Any, ...]]) -> Collection | CollectionDamaged:
    try:
        return _collection(row)
    except CollectionDamaged as error:
        return error


def _hashes(connection: Connection, collection_id: str, ids: Iterable[str]) -> dict[str, str]:
    rows = connection.execute(
        select(documents.c.document_id, documents.c.content_hash).where(
            documents.c.collection_id == collection_id,
            documents.c.document_id.in_(listed(connection, possible_ids(ids))),
        )
    )
    return {row.document_id: row.content_hash for row in rows}


def _mismatch(collection: Collection, recipe: Recipe) -> RecipeMismatch:
    return RecipeMismatch(
        f"Collection {collection.name!r} was made with {_in_words(collection.recipe)}, not with {_in_words(recipe)}",
        hint="Use the options it was made with, or index into a collection of another name.",
        field="collection",
    )


def _in_words(recipe: Recipe) -> str:
    bounds = f"spans of {recipe.bounds.shortest} to {recipe.bounds.longest} units"
    others = (f"{name} ({_values(details)})" for name, details in sorted(recipe.details.items()))
    stored = " and ".join([f"units ({recipe.text})", *others])
    return f"{recipe.encoder} {recipe.fingerprint} ({recipe.dim} dimensions, {bounds}, stores {stored})"


def named(name: str) -> ColumnElement[bool]:
    """The condition that selects a collection by its name or an alias.

    A text that cannot be a name is not sent to the database.
    """
    if not is_collection_name(name):
        return false()
    aliased = select(aliases.c.collection_id).where(aliases.c.name == name)
    return (collections.c.name == name) | (collections.c.id == aliased.scalar_subquery())


def lock_names(connection: Connection) -> None:
    """Exclude others that give or take names until the transaction ends; readers go on."""
    if connection.dialect.name == "postgresql":  # on SQLite there is one writer
        connection.exec_driver_sql("LOCK TABLE aliases IN EXCLUSIVE MODE")


def _is_alias(name: str, collection: str) -> AliasExists:
    return AliasExists(
        f"{name!r} is an alias of the collection {collection!r}",
        hint="Name the collection itself, or choose a name that no alias has.",
        field="collection",
    )


_INFO = (
    segments.c.name,
    segments.c.manifest_sha256,
    segments.c.documents,
    segments.c.parts,
    segments.c.units,
    segments.c.bytes,
)


def generation_of(
    connection: Connection, condition: ColumnElement[bool], number: int | None = None
) -> Generation | None:
    """The generation of this number of the collection that a condition selects, or the newest; None without it.

    A past one must still be remembered, and have the recipe of the newest.
    """
    # The three statements read one generation only in a snapshot.
    collection = connection.execute(select(*_COLLECTION).where(condition)).first()
    if collection is None:
        return None
    infos = live_segments(connection, collection.id, number)
    dead = _tombstones(connection, collection.id, number)
    nothing = np.empty(0, dtype=np.int64)
    live = tuple(LiveSegment(info, dead.get(info.name, nothing)) for info in infos)
    recipe = _recipe(collection)
    return Generation(collection.generation if number is None else number, live, recipe, collection.id, collection.name)


def live_segments(connection: Connection, collection_id: str, number: int | None = None) -> list[SegmentInfo]:
    """The live segments of a collection in a generation, by default the newest; the oldest first."""
    rows = connection.execute(
        select(*_INFO)
        .where(segments.c.collection_id == collection_id, _is_live(number))
        .order_by(segments.c.added_in, segments.c.name)
    )
    return [SegmentInfo(*row) for row in rows]


def _is_live(number: int | None) -> ColumnElement[bool]:
    if number is None:
        return segments.c.retired_in.is_(None)
    retired_later = segments.c.retired_in.is_(None) | (segments.c.retired_in > number)
    return (segments.c.added_in <= number) & retired_later


def retired_segments(connection: Connection, collection_id: str) -> list[SegmentInfo]:
    """The retired segments of a collection, that retired first first."""
    rows = connection.execute(
        select(*_INFO)
        .where(segments.c.collection_id == collection_id, segments.c.retired_in.is_not(None))
        .order_by(segments.c.retired_in, segments.c.name)
    )
    return [SegmentInfo(*row) for row in rows]


def _tombstones(connection: Connection, collection_id: str, number: int | None) -> dict[str, Int[np.ndarray, " dead"]]:
    then = true() if number is None else tombstones.c.generation <= number
    rows = connection.execute(
        select(tombstones.c.segment, tombstones.c.ordinal)
        .join_from(tombstones, segments)
        .where(segments.c.collection_id == collection_id, _is_live(number), then)
        .order_by(tombstones.c.segment, tombstones.c.ordinal)
    )
    ordinals: defaultdict[str, list[int]] = defaultdict(list)
    for segment, ordinal in rows:
        ordinals[segment].append(ordinal)
    return {segment: np.array(dead, dtype=np.int64) for segment, dead in ordinals.items()}


def live_document_ids(catalog: Catalog, collection: Collection, segment: str) -> set[str]:
    """Return the ids of the live documents that the catalog places in a segment."""
    rows = select(documents.c.document_id).where(
        documents.c.collection_id == collection.id, documents.c.segment == segment
    )
    with catalog.database.read() as connection:
        return set(connection.scalars(rows))


def _values(details: Details) -> str:
    return ", ".join(f"{key} {value}" for key, value in sorted(details.items()))
