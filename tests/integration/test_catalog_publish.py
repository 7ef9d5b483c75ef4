"""What readers see before, while and after a segment is published or documents are removed."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import text

from indexer.catalog import publish as publish_module
from indexer.catalog.leases import holding, lease
from indexer.catalog.publish import forget_old, publish, remove, retire
from indexer.errors import InvalidDocument
from indexer.types import DocumentRow, Recipe, SegmentInfo
from models.errors import InvalidInput

RECIPE = Recipe("hashing", "f1", 64)


@pytest.fixture
def held(catalog):
    catalog.create_collection("calls", RECIPE)
    with lease(catalog, "calls") as held:
        yield held


def tombstones(catalog, name="calls"):
    return {segment.info.name: segment.tombstones.tolist() for segment in catalog.live_generation(name).segments}


def test_a_published_segment_is_live(catalog, held):
    info = SegmentInfo("s1", "sha", documents=2, parts=3, units=40, bytes=512)
    assert publish(catalog, held, info, [DocumentRow("a", 0, "ha"), DocumentRow("b", 1, "hb")]) == 1
    generation = catalog.live_generation("calls")
    assert generation.number == catalog.generation("calls") == 1
    assert [segment.info for segment in generation.segments] == [info]
    assert generation.segments[0].tombstones.dtype == np.int64
    assert catalog.content_hashes("calls", ["a", "b", "c"]) == {"a": "ha", "b": "hb"}


def test_segments_are_in_the_order_of_publishing(catalog, held, put):
    for name in ("z", "a", "m"):
        put(catalog, held, f"document of {name}", segment=name)
    assert list(tombstones(catalog)) == ["z", "a", "m"]


def test_a_replaced_document_is_dead_where_it_was(catalog, held, put):
    put(catalog, held, "a", "b", "c", segment="s1")
    put(catalog, held, "c", "a", segment="s2", content="new")
    put(catalog, held, "c", segment="s3", content="newest")
    assert tombstones(catalog) == {"s1": [0, 2], "s2": [0], "s3": []}
    assert catalog.content_hashes("calls", "abc") == {"a": "new", "b": "h", "c": "newest"}


def test_of_an_id_that_occurs_twice_the_last_lives(catalog, held):
    rows = [DocumentRow(id, ordinal, f"h{ordinal}") for ordinal, id in enumerate("abacab")]
    publish(catalog, held, SegmentInfo("s1", "sha", 6, 6, 6, 6), rows)
    assert tombstones(catalog) == {"s1": [0, 1, 2]}
    assert catalog.content_hashes("calls", "abc") == {"a": "h4", "b": "h5", "c": "h3"}
    assert catalog.collection("calls").documents == 3


def test_publishing_again_changes_nothing(catalog, held, put):
    put(catalog, held, "a", "b", segment="s1", content="old")
    put(catalog, held, "b", segment="s2", content="new")
    before = catalog.collection("calls"), catalog.content_hashes("calls", "ab"), tombstones(catalog)
    assert put(catalog, held, "a", "b", segment="s1", content="old") == 2
    assert (catalog.collection("calls"), catalog.content_hashes("calls", "ab"), tombstones(catalog)) == before


def test_another_segment_cannot_have_a_taken_name(catalog, held, put):
    put(catalog, held, "a", segment="s1")
    with pytest.raises(InvalidInput, match="s1"):
        publish(catalog, held, SegmentInfo("s1", "another sha", 1, 1, 1, 1), [DocumentRow("b", 0, "h")])
    assert catalog.content_hashes("calls", "ab") == {"a": "h"}


def test_removing(catalog, held, put):
    put(catalog, held, "a", "b", "c", segment="s1")
    assert remove(catalog, held, ["c", "a", "a", "never there"]) == ({"a", "c"}, 2)
    assert tombstones(catalog) == {"s1": [0, 2]}
    assert catalog.generation("calls") == 2
    assert catalog.content_hashes("calls", "abc") == {"b": "h"}


def test_removing_nothing_makes_no_generation(catalog, held, put):
    put(catalog, held, "a")
    assert remove(catalog, held, ["b", "", "\0", "\ud800"]) == (set(), 1)
    assert remove(catalog, held, []) == (set(), 1)
    assert catalog.generation("calls") == 1


def test_a_removed_document_can_come_back(catalog, held, put):
    put(catalog, held, "a", segment="s1")
    remove(catalog, held, ["a"])
    put(catalog, held, "a", segment="s2")
    assert tombstones(catalog) == {"s1": [0], "s2": []}
    assert catalog.content_hashes("calls", "a") == {"a": "h"}


def test_tombstones_know_the_generation_from_which_on_they_count(catalog, held, put):
    put(catalog, held, "a", "b", segment="s1")
    put(catalog, held, "b", segment="s2")
    remove(catalog, held, ["a"])
    with catalog.database.read() as connection:
        rows = connection.execute(text("SELECT segment, ordinal, generation FROM tombstones ORDER BY generation"))
        assert [tuple(row) for row in rows] == [("s1", 1, 2), ("s1", 0, 3)]


def test_collections_do_not_share_documents(catalog, held, put):
    catalog.create_collection("contracts", RECIPE)
    put(catalog, held, "a", content="call")
    with lease(catalog, "contracts") as other:
        put(catalog, other, "a", content="contract")
        remove(catalog, other, ["a"])
    assert catalog.content_hashes("calls", "a") == {"a": "call"}
    assert catalog.content_hashes("contracts", "a") == {}
    assert catalog.generation("calls") == 1


def test_an_empty_segment_is_a_generation_like_any_other(catalog, held, put):
    assert put(catalog, held, segment="s1") == 1
    assert tombstones(catalog) == {"s1": []}


def merged(catalog, held, *ids, retires):
    rows = [DocumentRow(id, ordinal, "h") for ordinal, id in enumerate(ids)]
    return publish(catalog, held, SegmentInfo("merged", "sha", len(ids), 1, 1, 1), rows, retires=retires)


def retired(catalog, name="calls"):
    return [segment.name for segment in catalog.retired_segments(catalog.collection(name).id)]


def test_a_merged_segment_takes_the_place_of_others(catalog, held, put):
    put(catalog, held, "a", "b", segment="s1")
    put(catalog, held, "b", "c", segment="s2")
    put(catalog, held, "d", segment="s3")
    remove(catalog, held, ["c"])
    before = catalog.content_hashes("calls", "abcd")
    assert merged(catalog, held, "a", "b", retires=["s1", "s2"]) == 5
    assert tombstones(catalog) == {"s3": [], "merged": []}
    assert catalog.content_hashes("calls", "abcd") == before
    assert (catalog.collection("calls").documents, catalog.collection("calls").segments) == (3, 2)
    assert retired(catalog) == ["s1", "s2"]
    assert merged(catalog, held, "a", "b", retires=["s1", "s2"]) == 5
    remove(catalog, held, ["b"])
    assert tombstones(catalog) == {"s3": [], "merged": [1]}


def test_a_segment_with_live_documents_is_not_retired(catalog, held, put):
    put(catalog, held, "a", "b", segment="s1")
    for attempt in (lambda: merged(catalog, held, "a", retires=["s1"]), lambda: retire(catalog, held, ["s1"])):
        with pytest.raises(InvalidInput, match=r"\d live documents"):
            attempt()
    assert tombstones(catalog) == {"s1": []}
    assert catalog.generation("calls") == 1


def test_a_segment_of_which_all_is_dead_is_retired_by_itself(catalog, held, put):
    put(catalog, held, "a", segment="s1")
    put(catalog, held, "b", segment="s2")
    remove(catalog, held, ["a"])
    assert retire(catalog, held, ["s1"]) == 4
    assert tombstones(catalog) == {"s2": []}
    assert retired(catalog) == ["s1"]


def test_retired_segments_are_forgotten_when_their_time_has_come(catalog, held, put, clock):
    catalog.create_collection("contracts", RECIPE)
    for seconds, name in ((10, "s1"), (20, "s2")):
        put(catalog, held, "a", segment=name)
        remove(catalog, held, ["a"])
        clock.advance(seconds)
        retire(catalog, held, [name])
    with lease(catalog, "contracts") as other:
        put(catalog, other, "a", segment="o1")
        remove(catalog, other, ["a"])
        retire(catalog, other, ["o1"])
    kept = forget_old(catalog, held, retired_until=clock() - timedelta(seconds=21), withdrawn_until=clock())
    assert (kept.live, kept.retired) == (set(), {"s1", "s2"})
    assert retired(catalog) == ["s1", "s2"]
    forget_old(catalog, held, retired_until=clock() - timedelta(seconds=20), withdrawn_until=clock())
    assert retired(catalog) == ["s2"]
    forget_old(catalog, held, retired_until=clock(), withdrawn_until=clock())
    assert retired(catalog) == []
    assert retired(catalog, "contracts") == ["o1"]


def test_rows_that_are_not_those_of_the_segment_are_refused(catalog, held):
    segment = SegmentInfo("s1", "sha", 2, 2, 2, 2)
    for ordinals in ([0], [0, 1, 2], [0, 0], [1, 2]):
        rows = [DocumentRow(f"d{place}", ordinal, "h") for place, ordinal in enumerate(ordinals)]
        with pytest.raises(InvalidInput, match="s1"):
            publish(catalog, held, segment, rows)
    assert catalog.generation("calls") == 0


def test_an_id_that_cannot_be_stored_is_refused(catalog, held, put):
    for id in ("", "x" * 513, "a\0b", "\ud800"):
        with pytest.raises(InvalidDocument) as caught:
            put(catalog, held, "good", id)
        assert caught.value.field == "id"
    assert catalog.generation("calls") == 0


def test_unusual_ids_come_back_as_they_are(catalog, held, put):
    ids = ["'; DROP TABLE keys; --", '"', "\\u0041", "\n\t\x01", "{}", "😀" * 512, "Ä", "A\u0308", "a", "A"]
    put(catalog, held, *ids)
    assert set(catalog.content_hashes("calls", ids)) == set(ids)
    assert remove(catalog, held, ids)[0] == set(ids)


def test_nobody_sees_half_a_generation(catalog, held, put, monkeypatch):
    put(catalog, held, "a", segment="s1")
    seen = []

    def look(*arguments):
        seen.append((catalog.generation("calls"), tombstones(catalog), catalog.content_hashes("calls", "ab")))
        raise RuntimeError("the power went")

    with monkeypatch.context() as patch:
        patch.setattr(publish_module, "_set_generation", look)
        with pytest.raises(RuntimeError, match="the power went"):
            put(catalog, held, "a", "b", segment="s2")
    before = (1, {"s1": []}, {"a": "h"})
    assert seen == [before]
    assert (catalog.generation("calls"), tombstones(catalog), catalog.content_hashes("calls", "ab")) == before


@pytest.mark.ci("many documents")
def test_every_generation_that_readers_see_is_whole(catalog, held, put):
    put(catalog, held, "a", "b", "c")

    def write():
        for _ in range(8):
            put(catalog, held, "c", "a")
            remove(catalog, held, ["b"])
            put(catalog, held, "b")

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        seen = []
        while not writing.done():
            seen.append(catalog.live_generation("calls"))
        writing.result()
    for generation in seen:
        living = sum(segment.info.documents - len(segment.tombstones) for segment in generation.segments)
        assert living == (2 if generation.number % 3 == 0 else 3)
    assert [generation.number for generation in seen] == sorted(generation.number for generation in seen)


def test_racing_to_publish_numbers_every_generation_once(catalog, held, put):
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(lambda n: put(catalog, held, "same", f"d{n}"), range(8)))
    assert sorted(numbers) == list(range(1, 9))
    assert catalog.collection("calls").documents == 9


def test_racing_to_publish_the_same_segment_publishes_it_once(catalog, held, put):
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(lambda _: put(catalog, held, "a", segment="s1"), range(4)))
    assert numbers == [1, 1, 1, 1]


def test_writers_of_two_collections_do_not_wait_for_each_other(catalog, held, put, backend):
    if backend == "sqlite":
        pytest.skip("SQLite has one writer for the whole file")
    catalog.create_collection("contracts", RECIPE)
    with holding(catalog, held), lease(catalog, "contracts") as other:
        assert put(catalog, other, "a") == 1


def test_a_large_segment_is_published_and_replaced(catalog, held, put):
    ids = [f"document {number}" for number in range(5_000)]
    put(catalog, held, *ids, content="old")
    put(catalog, held, *ids, content="new")
    assert catalog.content_hashes("calls", ids) == dict.fromkeys(ids, "new")
    first, second = catalog.live_generation("calls").segments
    assert np.array_equal(first.tombstones, np.arange(5_000))
    assert len(second.tombstones) == 0
