"""Cursors of hits: whatever is written between pages, they are slices of the list that the first page began."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.requests import SearchRequest
from app.search.answers import Hit
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.errors import CursorExpired
from indexer.indexing.maintenance import optimize
from tests.examples import examples
from tests.workspace import Workspace, document

WORDS = ["parcel", "late", "cancel", "my", "plan"]
ids = st.sampled_from("abcdefgh")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
# Documents to write, ids to delete, or None: merge everything.
writes = st.dictionaries(ids, texts, min_size=1, max_size=3) | st.sets(ids, min_size=1, max_size=3) | st.none()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    # The clock leaps one second a look.
    with Workspace(tmp_path_factory.mktemp("cursors"), grace_s=10_000.0) as made:
        yield made


def write(workspace: Workspace, change: dict[str, str] | set[str] | None) -> None:
    if isinstance(change, dict):
        workspace.index((document(id, text) for id, text in change.items()), merge=False)
        return
    with lease(workspace.catalog, "c") as held:
        if change is None:
            optimize(workspace.store, held, sleep=lambda seconds: None)  # their files go at once
        else:
            remove(workspace.catalog, held, change)


def places(hits: tuple[Hit, ...]) -> list[tuple[str, int, int, str]]:
    return [(hit.document_id, hit.start, hit.end, hit.text) for hit in hits]


@settings(max_examples=examples(40))
@given(
    st.dictionaries(ids, texts, min_size=3, max_size=8),
    st.lists(writes, min_size=1, max_size=3),
    st.integers(2, 6),
)
def test_pages_are_slices_of_one_list_whatever_is_written(
    workspace: Workspace, contents: dict[str, str], changes: list[dict[str, str] | set[str] | None], size: int
) -> None:
    write(workspace, contents)
    asked = {"text": "cancel my plan", "threshold": 0.3, "threshold_on": "raw", "per_document": 2}
    whole = places(workspace.search(top_k=1000, **asked))
    paged: list[tuple[str, int, int, str]] = []
    cursor = None
    for change in [*changes, *[{}] * len(whole)]:
        (answer,) = workspace.service.search(SearchRequest("c", top_k=size, cursor=cursor, **asked))
        paged += places(answer.hits)
        cursor = answer.cursor
        if cursor is None:
            break
        if change != {}:
            write(workspace, change)
    assert cursor is None
    assert paged == whole


def test_a_generation_is_kept_for_its_time(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Workspace(tmp_path_factory.mktemp("expiring"), grace_s=8.0) as workspace:
        write(workspace, {"a": "cancel my plan", "b": "my late parcel"})
        request = SearchRequest("c", text="cancel", top_k=1)
        (answer,) = workspace.service.search(request)
        write(workspace, {"a": "late"})
        (following,) = workspace.service.search(replace(request, cursor=answer.cursor))
        assert (following.generation, following.hits[0].rank) == (answer.generation, 2)
        for _ in range(8):  # seconds of the store's clock
            workspace.search("cancel")
        later = workspace.store.catalog.clock() + timedelta(seconds=8)
        workspace.store.catalog.clock = lambda: later
        with pytest.raises(CursorExpired):
            workspace.service.search(replace(request, cursor=answer.cursor))
