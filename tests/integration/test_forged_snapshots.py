"""Snapshots that somebody forged: refused with a reason, and nothing is left of them."""

import hashlib
import json
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.collections.documents import DocumentService
from app.collections.service import CollectionService
from app.services import Services, open_store
from app.settings import Settings
from indexer.archives.archive import CATALOG
from indexer.archives.create import create_archive
from indexer.archives.restore import RESTORING, restore_archive
from indexer.catalog.calibrations import add_calibration
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.catalog.schema import upgrade
from indexer.catalog.tables import OF_INSTALLATION, metadata
from indexer.catalog.thresholds import set_threshold
from indexer.errors import SnapshotInvalid
from indexer.indexing.deletion import delete_collection
from indexer.indexing.verification import verify_store
from indexer.phrases import PhraseDraft
from indexer.tuning import CalibrationDraft
from models.encoders.registry import EncoderOptions, is_configured
from models.errors import SpanseekError
from tests.examples import examples
from tests.forging import Change, forge, members
from tests.workspace import Workspace, document

PAGE = 4_096  # of SQLite
NOBODY = "0" * 32
TABLES = [table for table in metadata.sorted_tables if table not in OF_INSTALLATION]
COLUMNS = [(table.name, column.name) for table in TABLES for column in table.columns]
VALUES: list[Any] = [
    None, -1, 0, 1, 65, 2**31, 2**62, 2**63 - 1, 0.5, 1e300, "", "x", "9", NOBODY, "../../../etc", "a" * 100_000,
    b"", b"\xff\x00", "[]", "[1]", "{}", "{bad", "null", '{"words": 3}', '{"x": {"fingerprint": "y"}}',
    "[" * 5_000, "never", "2026-02-31 00:00:00.000000", "nul\0",
]  # fmt: skip


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A collection that has rows in every table."""
    with Workspace(tmp_path_factory.mktemp("forged") / "data", nugget_ratio=0.5, words=True) as made:
        made.index([document("a", "Where is my parcel?", year=2024), document("b", "Please cancel my plan.")])
        made.index([document("gone", "Cancel my plan now.")])
        catalog, recipe = made.catalog, made.catalog.collection("c").recipe
        draft = CalibrationDraft("best_span", recipe.fingerprint, recipe.bounds, ((0, 0), (0.9, 0.5), (1, 1)), "x", 20)
        add_calibration(catalog, "c", draft, activate=True)
        set_threshold(catalog, "c", "best_span", 0.6)
        made.phrases.add("c", PhraseDraft("plan", "cancel my plan", threshold=0.8), backfill=True)
        with lease(made.catalog, "c") as held:
            remove(made.catalog, held, ["gone"])
        yield made


@pytest.fixture(scope="module")
def good(workspace: Workspace) -> Path:
    path = workspace.store.data_dir.parent / "good.tar"
    create_archive(workspace.store, "c", path)
    return path


def refused(workspace: Workspace, path: Path) -> str:
    """The reason for which a snapshot is refused; nothing is left of it."""
    with pytest.raises(SnapshotInvalid, match="is no valid snapshot: ") as caught:
        restore_archive(workspace.store, path, "forged")
    assert len(str(caught.value)) < 1_000
    assert [each.name for each in workspace.catalog.collections()] == ["c"]
    assert list((workspace.store.data_dir / RESTORING).iterdir()) == []
    assert len(list((workspace.store.data_dir / "collections").iterdir())) == 1
    return str(caught.value)


def test_the_collection_has_rows_in_every_table(good: Path, tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(members(good)[CATALOG])
    with sqlite3.connect(tmp_path / "rows") as connection:
        for table in TABLES:
            assert connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0], table.name
    connection.close()


VIEW = """
    ALTER TABLE documents RENAME TO d0;
    CREATE VIEW documents AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
    SELECT (SELECT id FROM collections) AS collection_id, 'd' || i AS document_id,
        (SELECT name FROM segments) AS segment, i AS ordinal, 'h' AS content_hash FROM n;"""
FORGED: dict[str, tuple[str, str]] = {
    "a segment of another collection": (
        "UPDATE segments SET name = '../../../collections/x/' || name; "
        "UPDATE documents SET segment = '../../../collections/x/' || segment; "
        "UPDATE tombstones SET segment = '../../../collections/x/' || segment",
        "row 1 of segments is not valid: name",
    ),
    "a name that climbs": ("UPDATE collections SET name = '../x'", "its collection is not valid: name"),
    "a view without end": (VIEW, "no table 'documents'"),
    "a trigger without end": (
        "CREATE TRIGGER t AFTER UPDATE ON collections BEGIN INSERT INTO tombstones SELECT 'x', i, 1 FROM "
        "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n); END; "
        "UPDATE alembic_version SET version_num = '0006'",
        "no table 'collections'",
    ),
    "a generated column": (
        "ALTER TABLE thresholds RENAME TO t0; CREATE TABLE thresholds AS SELECT * FROM t0; "
        "ALTER TABLE thresholds DROP COLUMN note; "
        "ALTER TABLE thresholds ADD COLUMN note TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000))) VIRTUAL",
        "no table 'thresholds'",
    ),
    "a virtual table": ("DROP TABLE matches; CREATE VIRTUAL TABLE matches USING fts5(x)", "no table 'matches'"),
    "documents of an unknown segment": ("UPDATE documents SET segment = 'nowhere'", "refer to rows that are not there"),
    "no document": ("DELETE FROM documents", "have no row"),
    "a document less": ("DELETE FROM documents WHERE document_id = 'a'", "have no row"),
    "another document": ("UPDATE documents SET document_id = 'z' WHERE document_id = 'a'", "holds another document"),
    "another hash": ("UPDATE documents SET content_hash = 'z'", "holds another document"),
    "no collection": ("DELETE FROM collections", "refer to rows that are not there"),
    "two collections": (
        "INSERT INTO collections SELECT 'x', 'y', encoder, fingerprint, dim, shortest, longest, representations, "
        "generation, created_at FROM collections",
        "holds 2 collections",
    ),
    "other counts": ("UPDATE segments SET documents = 10000000, units = 99999999", "has other counts"),
    "another dimension": ("UPDATE collections SET dim = 65", "made by another recipe"),
    "details that are a list": ("UPDATE collections SET representations = '[1]'", "not valid: representations"),
    "details that are no JSON": ("UPDATE collections SET representations = '{bad'", "not valid: representations"),
    "a later version": ("UPDATE alembic_version SET version_num = '9999'", "a later version"),
    "a version that is a command": ("UPDATE alembic_version SET version_num = 'base'", "no version"),
    "a table less": ("DROP TABLE documents", "no table 'documents'"),
    "no time": ("UPDATE collections SET created_at = 'never'", "not valid: created_at"),
    "an encoder that names a folder": ("UPDATE collections SET encoder = 'untrained@/etc'", "settings do not name"),
    "an encoder of a hub": ("UPDATE collections SET encoder = 'untrained@hub:evil/model'", "settings do not name"),
    "a later generation": ("UPDATE collections SET generation = 0", "of a later generation"),
    "an active calibration of nobody": (
        f"UPDATE active_calibrations SET calibration_id = '{NOBODY}'",
        "refer to rows that are not there",
    ),
    "knots that fall": ("UPDATE calibrations SET knots = '[[0,0],[0.9,2],[1,1]]'", "calibrations is not valid: knots"),
    "a threshold before the first": ("UPDATE thresholds SET goes_back_to = 7", "goes_back_to"),
    "a vector of another length": ("UPDATE phrases SET vector = x'00000000'", "has no vector"),
    "a match of no event": ("UPDATE phrase_sets SET events = 0", "a number that was not given"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_rows_that_fit_nothing_are_refused(workspace: Workspace, good: Path, tmp_path: Path, name: str) -> None:
    sql, reason = FORGED[name]
    assert reason in refused(workspace, forge(good, tmp_path / "f.tar", sql))


def test_pages_that_lead_back_to_themselves_yield_no_more_than_their_file(
    workspace: Workspace, good: Path, tmp_path: Path
) -> None:
    """All children of an inner page are one page: a few pages can yield more rows than any disk holds."""

    def circles(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN")
        connection.execute("DELETE FROM tombstones")
        connection.executemany(
            "INSERT INTO tombstones SELECT (SELECT name FROM segments LIMIT 1), ?, 1", [(n,) for n in range(20_000)]
        )
        connection.execute("COMMIT")

    path = forge(good, tmp_path / "f.tar", circles)
    rows = bytearray(members(path)[CATALOG])
    for page in range(0, len(rows), PAGE):
        (cells,) = struct.unpack_from(">H", rows, page + 3)
        if rows[page] == 2 and cells > 10:  # an inner page of a table without row ids
            places = struct.unpack_from(f">{cells}H", rows, page + 12)
            for place in places:
                rows[page + place : page + place + 4] = rows[page + places[0] : page + places[0] + 4]
    assert rows != members(path)[CATALOG]
    assert "its rows occur twice" in refused(workspace, forge(path, tmp_path / "g.tar", files={CATALOG: bytes(rows)}))


def test_an_index_that_says_otherwise_is_refused(workspace: Workspace, good: Path, tmp_path: Path) -> None:
    for field, value in {
        "collection": "d", "encoder": "slice", "documents": 3, "units": 0, "generation": 1, "created_at": "never",
    }.items():  # fmt: skip
        refused(workspace, forge(good, tmp_path / f"{field}.tar", index={field: value}))


def test_members_that_no_row_names_are_refused(workspace: Workspace, good: Path, tmp_path: Path) -> None:
    (some, *_) = (name for name in members(good) if name.startswith("segments/"))
    for name in ("segments/more/vectors.i8", f"{some.rpartition('/')[0]}/more", "whitenings/x.safetensors"):
        refused(workspace, forge(good, tmp_path / "f.tar", files={name: b"more"}))


def test_numbers_beside_a_segment_are_refused(workspace: Workspace, good: Path, tmp_path: Path) -> None:
    """Kernels and readers rely on them: checksums fit, and the manifest does."""
    held = members(good)
    manifest = next(name for name in held if name.endswith("manifest.json"))
    folder = manifest.rpartition("/")[0]

    def forged(file: str, data: bytes, **counts: object) -> Path:
        fields = json.loads(held[manifest])
        fields["files"][file] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        body = json.dumps({**fields, **counts}).encode()
        old, new = (hashlib.sha256(each).hexdigest() for each in (held[manifest], body))
        sql = (
            f"UPDATE segments SET manifest_sha256 = '{new}', bytes = bytes + {len(body) - len(held[manifest])} "
            f"WHERE manifest_sha256 = '{old}'"
        )
        changed = {manifest: body} if "/" in file else {manifest: body, f"{folder}/{file}": data}
        return forge(good, tmp_path / "f.tar", sql, files=changed)

    def of(file: str) -> bytearray:
        return bytearray(held[f"{folder}/{file}"])

    spans = of("unit_spans.u32")
    spans[0:4] = b"\xff\xff\xff\x7f"
    assert "beside parts" in refused(workspace, forged("unit_spans.u32", bytes(spans)))
    scales = of("scales.f32")
    scales[0:4] = b"\x00\x00\xc0\x7f"
    assert "not finite" in refused(workspace, forged("scales.f32", bytes(scales)))
    blocks = of("text_blocks.u64")
    blocks[32:40] = (10**9).to_bytes(8, "little")
    assert "too long" in refused(workspace, forged("text_blocks.u64", bytes(blocks)))
    assert "is no manifest" in refused(workspace, forged("../../../../etc/passwd", b""))
    assert "is no manifest" in refused(workspace, forged("borders.u8", bytes(of("borders.u8")), units=-1))
    assert "unit_spans.u32" in refused(workspace, forged("unit_spans.u32", bytes(spans) * 2))
    refused(workspace, forged("documents.arrow", b"ARROW1\0\0" + bytes(of("documents.arrow"))[8:40]))
    refused(workspace, forged("parts.arrow", bytes(of("documents.arrow"))))


@pytest.mark.ci("long jobs")
@given(st.sampled_from(COLUMNS), st.sampled_from(VALUES), st.booleans())
@settings(max_examples=examples(160), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_column_holds_ends_in_a_sentence_or_a_collection(
    workspace: Workspace, good: Path, column: tuple[str, str], value: object, first: bool
) -> None:
    path = forge(good, good.with_name("fuzzed.tar"), changed(*column, value, first=first))
    try:
        restored = restore_archive(workspace.store, path, "fuzzed")
    except SnapshotInvalid:
        assert [each.name for each in workspace.catalog.collections()] == ["c"]
        assert list((workspace.store.data_dir / RESTORING).iterdir()) == []
        assert len(list((workspace.store.data_dir / "collections").iterdir())) == 1
        return
    try:
        assert verify_store(workspace.store).damages == ()
        assert workspace.search("cancel my plan", "fuzzed")
        workspace.index([document("more", "Cancel my plan, please.")], name="fuzzed")
        workspace.phrases.list("fuzzed", 10)
    finally:
        with lease(workspace.catalog, restored.name) as held:
            delete_collection(workspace.store, held)


def changed(table: str, column: str, value: object, *, first: bool) -> Change:
    """One row, or all rows, of a table without constraints have this value."""

    def change(connection: sqlite3.Connection) -> None:
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        listed = ", ".join(f'"{name}"' for name in names)
        connection.execute(f"ALTER TABLE {table} RENAME TO old")
        connection.execute(f"CREATE TABLE {table} ({listed})")
        connection.execute(f"INSERT INTO {table} SELECT {listed} FROM old")
        connection.execute("DROP TABLE old")
        where = "WHERE rowid = 1" if first else ""
        connection.execute(f'UPDATE {table} SET "{column}" = ? {where}', [value])

    return change


def test_only_backbones_of_the_settings_may_be_named() -> None:
    options = EncoderOptions(backbone="/srv/mine", trusted_backbones=("hub:owner/model",))
    for name in ("slice", "hashing", "untrained", "untrained@/srv/mine", "untrained@hub:owner/model"):
        assert is_configured(name, options)
    for name in ("untrained@", "untrained@/etc", "untrained@hub:evil/model", "slice@/srv/mine", "nobody", ""):
        assert not is_configured(name, options)


def test_a_collection_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    """Such as an earlier version restored from a forged snapshot."""
    for column, value in (("representations", "[1]"), ("representations", "{bad"), ("dim", "x"), ("shortest", 99)):
        with Workspace(tmp_path / f"{column}{value}"[:20], words=True) as made:
            made.index([document("a", "Please cancel my plan.")])
            made.index([document("b", "Please cancel my plan.")], name="bad")
            with made.catalog.database.write() as connection:
                connection.exec_driver_sql(f"UPDATE collections SET {column} = ? WHERE name = 'bad'", (value,))
            assert [each.name for each in made.catalog.collections()] == ["c"]
            (error,) = made.catalog.damaged()
            assert (error.collection, error.code) == ("bad", "collection_damaged")
            verified = verify_store(made.store)
            assert (verified.collections, verified.segments) == (2, 1)
            assert verified.damages == (str(error),)
            assert made.search("cancel my plan", "c")
            with pytest.raises(SpanseekError):
                made.catalog.collection("bad")


def test_such_a_collection_is_named_in_lists_and_can_be_deleted(tmp_path: Path) -> None:
    made = Settings(_env_file=None, data_dir=tmp_path, encoder="hashing", database_url="", words=False)
    upgrade(made.catalog_url)
    with closing(open_store(made)) as store:
        services = Services(made, store)
        for name in ("bad", "good"):
            services.get(DocumentService).upsert(
                services.get(CollectionService).create(name).collection.name, [document("a", "A text.")]
            )
        with store.catalog.database.write() as connection:
            connection.exec_driver_sql("UPDATE collections SET representations = '[1]' WHERE name = 'bad'")
        listed = services.get(CollectionService).list()
        assert [each.name for each in listed.collections] == ["good"]
        assert listed.damaged == (str(store.catalog.damaged()[0]),)
        assert services.get(CollectionService).list(lambda name: name != "bad").damaged is None
        services.get(CollectionService).delete("bad")
        assert services.get(CollectionService).list().damaged is None
        assert services.get(CollectionService).create("bad").is_new
