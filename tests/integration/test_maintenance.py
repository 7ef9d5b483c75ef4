"""Merging changes no answer and disturbs no reader; purging leaves no byte; a crash loses nothing."""

import gc
import logging
import weakref
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import zstandard

import indexer.catalog.publish
import indexer.indexing.maintenance
import indexer.segments.local
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.errors import PurgeIncomplete, SegmentCorrupt
from indexer.indexing.maintenance import merge_segments, optimize, purge, sweep, tidy
from indexer.indexing.merge_policy import everything
from indexer.indexing.stats import collection_stats
from indexer.segments import layout
from tests.integration.test_pipeline_crashes import Crash, _patch
from tests.workspace import Workspace, document

SECRET = [
    document("secret-id-1", "the passphrase is swordfish", "and xyzzy", confidential="plugh"),
    # Longer than a compressed frame, though it has few units.
    document("secret-id-2", ("nobody expects frobnication" + " " * 9_000) * 2, codename={"deep": "quux"}),
]
OTHERS = [document(f"d{number}", f"needle{number} in some hay", number=number) for number in range(12)]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Four segments: of the documents of two of them some are dead."""
    with Workspace(tmp_path) as made:
        made.index([*OTHERS[:4], SECRET[0]])
        made.index(OTHERS[4:8])
        made.index([SECRET[1], *OTHERS[8:]])
        made.index([document("d0", "needle0 in other hay")])
        yield made


def delete(workspace: Workspace, *ids: str) -> None:
    with lease(workspace.catalog, "c") as held:
        remove(workspace.catalog, held, ids)


def answers(workspace: Workspace) -> list[str]:
    """Everything that searches can show, figures included."""
    hits = [workspace.search(text, top_k=50, explain=True, context=30) for text in ("some hay", "needle3", "other")]
    return [repr(hit) for found in hits for hit in found]


def test_merging_changes_no_answer(workspace: Workspace) -> None:
    delete(workspace, "d5", "secret-id-2")
    before = answers(workspace)
    with lease(workspace.catalog, "c") as held:
        assert len(merge_segments(workspace.store, held, everything).segments) == 1
    assert len(workspace.live()) == 1
    assert answers(workspace) == before
    assert workspace.catalog.collection("c").documents == 12
    assert workspace.index([*OTHERS[1:5], document("d0", "needle0 in other hay")]).unchanged == 5


def test_merging_where_all_is_dead_leaves_nothing(workspace: Workspace) -> None:
    delete(workspace, *(one.id for one in [*OTHERS, *SECRET]))
    with lease(workspace.catalog, "c") as held:
        tidy(workspace.store, held)
    assert workspace.live() == workspace.folders() == set()
    assert workspace.search("needle3") == ()
    workspace.index(OTHERS[:2])
    assert workspace.found("needle1") == {("d1", "needle1")}


def test_a_snapshot_outlives_the_files_it_was_opened_from(workspace: Workspace) -> None:
    """Nothing of a segment is opened late: neither texts nor metadata nor other offsets."""
    snapshot = workspace.store.snapshot("c")
    before = workspace.folders()
    with lease(workspace.catalog, "c") as held:
        optimize(workspace.store, held)
    assert before.isdisjoint(workspace.folders())
    segment = snapshot.views[2].segment
    assert segment.long_text(9_000, 9_042).split() == ["nobody", "expects"]
    assert segment.document_metadata(0) == {"codename": {"deep": "quux"}}
    assert segment.offset(0, 17_000, "byte") == 17_000


def test_retired_segments_go_when_their_grace_is_over(tmp_path: Path) -> None:
    with Workspace(tmp_path, grace_s=60) as workspace:
        workspace.index(OTHERS[:2])
        workspace.index(OTHERS[2:4])
        old, now = workspace.live(), workspace.catalog.clock
        with lease(workspace.catalog, "c") as held:
            merge_segments(workspace.store, held, everything)
            sweep(workspace.store, held)
        assert workspace.folders() == old | workspace.live()
        workspace.catalog.clock = lambda: now() + timedelta(seconds=59)
        workspace.index(OTHERS[:4])
        assert old < workspace.folders()
        assert collection_stats(workspace.store, "c").bytes_reclaimable > 0
        workspace.catalog.clock = lambda: now() + timedelta(seconds=61)
        workspace.index(OTHERS[:4])
        assert workspace.folders() == workspace.live()
        assert collection_stats(workspace.store, "c").bytes_reclaimable == 0


def test_a_server_lets_go_of_what_was_removed(workspace: Workspace) -> None:
    workspace.search("needle3", context=20)
    held_open = [weakref.ref(view.segment) for view in workspace.store.snapshot("c").views]
    with lease(workspace.catalog, "c") as held:
        optimize(workspace.store, held)
    gc.disable()  # what only the collector frees might stay mapped for hours
    try:
        workspace.store.refresh()
        assert [one() for one in held_open] == [None] * len(held_open)
    finally:
        gc.enable()


def test_opened_segments_are_shared(workspace: Workspace) -> None:
    before = workspace.store.snapshot("c")
    delete(workspace, "d3")
    after = workspace.store.snapshot("c")
    assert after is not before
    assert [view.segment for view in after.views] == [view.segment for view in before.views]


def everything_on_disk(workspace: Workspace) -> bytes:
    """All files of the data folder as they are, texts unpacked, columns decoded."""
    found = []
    for path in sorted(workspace.store.data_dir.rglob("*")):
        if path.is_file():
            found.append(path.read_bytes())
        if path.name == layout.TEXT:
            frames = np.fromfile(path.with_name(layout.TEXT_BLOCKS), "<u8").reshape(-1, 3)[:, 0].tolist()
            packed = path.read_bytes()
            assert frames[-1] == len(packed)
            found += [zstandard.ZstdDecompressor().decompress(packed[begin:end]) for begin, end in pairwise(frames)]
        if path.suffix == ".arrow":
            found.append(repr(pa.ipc.open_file(path).read_all().to_pydict()).encode())
    return b"\n".join(found)


WORDS = [b"secret-id", b"swordfish", b"xyzzy", b"plugh", b"confidential", b"frobnication", b"codename", b"quux"]


def test_a_purge_leaves_no_byte_of_what_was_deleted(workspace: Workspace) -> None:
    delete(workspace, "secret-id-1", "secret-id-2")
    before = everything_on_disk(workspace)
    assert all(word in before for word in WORDS)
    old = workspace.live()
    with lease(workspace.catalog, "c") as held:
        removed = purge(workspace.store, held)
    after = everything_on_disk(workspace)
    assert [word for word in WORDS if word in after] == []
    assert b"needle3" in after
    # The two segments without a tombstone were not touched.
    assert removed.segments == 2 == len(old - workspace.live())
    assert workspace.folders() == workspace.live()
    assert workspace.catalog.collection("c").documents == 12


def test_a_purge_takes_away_what_was_replaced(workspace: Workspace) -> None:
    workspace.index([document("secret-id-1", "nothing to see here")])
    with lease(workspace.catalog, "c") as held:
        purge(workspace.store, held)
    after = everything_on_disk(workspace)
    assert b"swordfish" not in after
    assert workspace.found("nothing") == {("secret-id-1", "nothing")}


def test_a_purge_waits_for_those_who_read_and_no_longer(tmp_path: Path) -> None:
    waits: list[float] = []
    with Workspace(tmp_path, grace_s=7) as workspace:
        workspace.index(OTHERS)
        with lease(workspace.catalog, "c") as held:
            now = workspace.catalog.clock
            assert purge(workspace.store, held, waits.append).waited_s == 0
            assert waits == []
            remove(workspace.catalog, held, ["d1"])

            def sleep(seconds: float) -> None:
                waits.append(seconds)
                workspace.catalog.clock = lambda: now() + timedelta(seconds=seconds)

            assert purge(workspace.store, held, sleep).segments == 1
        assert waits == [7]
        assert workspace.folders() == workspace.live()


def test_a_purge_that_left_something_says_so(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    delete(workspace, "secret-id-1")

    def denied(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("indexer.segments.local.shutil.rmtree", denied)
    with lease(workspace.catalog, "c") as held, pytest.raises(PurgeIncomplete, match="still there") as caught:
        purge(workspace.store, held)
    assert caught.value.hint


def flip_a_bit(workspace: Workspace) -> None:
    path = workspace.store.folder(workspace.catalog.collection("c")) / min(workspace.live()) / layout.VECTORS
    body = bytearray(path.read_bytes())
    body[7] ^= 1
    path.write_bytes(body)


def test_a_damaged_segment_is_not_copied(workspace: Workspace, caplog: pytest.LogCaptureFixture) -> None:
    flip_a_bit(workspace)
    delete(workspace, "d1", "d2", "d3", "secret-id-1")
    before = workspace.live()
    with lease(workspace.catalog, "c") as held:
        with pytest.raises(SegmentCorrupt, match=layout.VECTORS):
            merge_segments(workspace.store, held, everything)
        with caplog.at_level(logging.WARNING):
            tidy(workspace.store, held)
    assert "were not merged" not in caplog.text  # nothing of it is alive: it is retired unread
    assert workspace.live() == before - {min(before)}


def test_a_damaged_segment_does_not_stop_a_job(workspace: Workspace, caplog: pytest.LogCaptureFixture) -> None:
    flip_a_bit(workspace)
    with caplog.at_level(logging.WARNING):
        workspace.index([document("d1", "x"), document("d2", "x"), document("secret-id-1", "x")])
    assert "were not merged" in caplog.text
    assert workspace.found("x") == {("d1", "x"), ("d2", "x"), ("secret-id-1", "x")}


def test_stats(workspace: Workspace) -> None:
    delete(workspace, "secret-id-2")
    found = collection_stats(workspace.store, "c")
    assert (found.generation, found.documents, found.segments, found.tombstones) == (5, 13, 4, 2)
    assert (found.parts, found.units) == (14, 12 * 4 + 6)
    assert [(one.documents, one.tombstones) for one in found.per_segment] == [(4, 1), (4, 0), (4, 1), (1, 0)]
    assert found.bytes_live + found.bytes_reclaimable == workspace.catalog.collection("c").bytes
    sizes = [one.info.bytes for one in workspace.catalog.live_generation("c").segments]
    alive = [18 / 22, 1, 16 / 22, 1]  # of the units
    expected = [round(size * share) for size, share in zip(sizes, alive, strict=True)]
    assert [one.bytes_live for one in found.per_segment] == expected
    assert found.bytes_per_unit == round(found.bytes_live / found.units, 1)


STAGES: dict[str, Callable[[pytest.MonkeyPatch, int], None]] = {
    "before the merge": _patch(indexer.indexing.maintenance, "merge"),
    "in the merge": _patch(indexer.segments.merge, "write_norms"),
    "after the merge": _patch(indexer.indexing.maintenance, "merge", done=True),
    "between rename and publish": _patch(indexer.indexing.maintenance, "publish"),
    "in the middle of publish": _patch(indexer.catalog.publish, "retire_segments"),
    "at the end of publish": _patch(indexer.catalog.publish, "_set_generation", done=True),
    "after publish": _patch(indexer.indexing.maintenance, "publish", done=True),
    "in the sweep": _patch(indexer.indexing.maintenance, "forget_old", done=True),
    "between two folders": _patch(indexer.segments.local.shutil, "rmtree", done=True),
}


@pytest.mark.ci("many segments")
@pytest.mark.parametrize("stage", STAGES)
def test_a_crash_while_merging_loses_nothing(stage: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    delete(workspace, "d5")
    before = answers(workspace)
    with monkeypatch.context() as patches:
        STAGES[stage](patches, 0)
        with lease(workspace.catalog, "c") as held, pytest.raises(Crash):
            optimize(workspace.store, held)
    assert answers(workspace) == before
    with lease(workspace.catalog, "c") as held:
        optimize(workspace.store, held)
    assert answers(workspace) == before
    assert len(workspace.live()) == 1
    assert workspace.folders() == workspace.live()


@pytest.mark.ci("many segments")
def test_large_segments_of_a_collection_too_large_to_scan_get_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexer.indexing.maintenance.WORTH_WINDOWS", 300)
    texts = [document(f"d{number}", f"needle{number} lies in some hay here " * 20) for number in range(30)]
    with Workspace(tmp_path) as workspace:
        workspace.store.candidates_from = 3_000
        workspace.index(texts[:10])
        assert not windows(workspace)
        workspace.index(texts[10:])
        workspace.index([document("small", "needle99 in hay")])
        before = answers(workspace)
        assert [bool(size) for size in windows(workspace).values()] == [True, True]
        live = workspace.live()
        with lease(workspace.catalog, "c") as held:
            tidy(workspace.store, held)
            assert workspace.live() == live  # nothing is written twice
            remove(workspace.catalog, held, ["d3"])
            optimize(workspace.store, held)
        assert [bool(size) for size in windows(workspace).values()] == [True]
        assert len(workspace.live()) == 1
        assert workspace.found("needle3") == set()
        assert len(answers(workspace)) >= len(before) - 60


def windows(workspace: Workspace) -> dict[str, int]:
    """How large the windows are, of the live segments that have any."""
    folder = workspace.store.folder(workspace.catalog.collection("c"))
    files = {name: folder / name / layout.WINDOWS for name in workspace.live()}
    return {name: path.stat().st_size for name, path in files.items() if path.exists()}
