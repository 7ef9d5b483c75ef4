"""A cursor of one server is honoured by another on the same catalog and data folder, and by one that starts later."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from app.requests import SearchRequest
from app.search.answers import SearchAnswer
from app.search.mode import load_modes
from app.search.service import SearchService
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.errors import CursorExpired
from indexer.indexing.maintenance import merge_segments, sweep
from indexer.indexing.merge_policy import everything
from indexer.store import Store
from tests.workspace import Workspace, document

GRACE_S = 600.0
TEXTS = [document(f"d{number}", "Please cancel my plan.") for number in range(5)]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path, grace_s=GRACE_S) as made:
        made.index(TEXTS[:2], merge=False)
        made.index(TEXTS[2:], merge=False)
        yield made


def another(workspace: Workspace, clock: Callable[[], float] | None = None) -> Store:
    """The store of a server that has opened nothing yet."""
    catalog = Catalog(str(workspace.catalog.database.url))
    return Store(workspace.store.data_dir, catalog, grace_s=GRACE_S, clock=clock or count().__next__)


def page(workspace: Workspace, store: Store, cursor: str | None = None) -> SearchAnswer:
    request = SearchRequest("c", text="cancel my plan", top_k=2, threshold=0.5, group_by="document", cursor=cursor)
    (answer,) = SearchService(store, load_modes(workspace.encoders)).search(request)
    return answer


def ids(answer: SearchAnswer) -> list[str]:
    return [hit.document_id for hit in answer.hits]


def test_pages_of_several_servers_are_of_one_list(workspace: Workspace) -> None:
    first = page(workspace, workspace.store)
    with lease(workspace.catalog, "c") as held:
        remove(workspace.catalog, held, ["d2"])
        merge_segments(workspace.store, held, everything)
        sweep(workspace.store, held)
    with closing(another(workspace)) as store:
        assert page(workspace, store).generation == first.generation + 2
        second = page(workspace, store, first.cursor)
    with closing(another(workspace)) as store:
        third = page(workspace, store, second.cursor)
        assert store.damages() == ()
    assert [ids(each) for each in (first, second, third)] == [["d0", "d1"], ["d2", "d3"], ["d4"]]
    assert {each.generation for each in (first, second, third)} == {first.generation}


def test_a_server_looks_again_before_it_refuses_a_newer_cursor(workspace: Workspace) -> None:
    with closing(another(workspace, clock=lambda: 0.0)) as store:  # what it has opened stays fresh
        page(workspace, store)
        workspace.index([document("d5", "Please cancel my plan.")], merge=False)
        first = page(workspace, workspace.store)
        assert ids(page(workspace, store, first.cursor)) == ["d2", "d3"]


def test_a_generation_ends_for_servers_that_did_not_hold_it(workspace: Workspace) -> None:
    first = page(workspace, workspace.store)
    with lease(workspace.catalog, "c") as held:
        remove(workspace.catalog, held, ["d0"])
    with closing(another(workspace)) as store:
        later = store.catalog.clock() + timedelta(seconds=GRACE_S / 2)
        store.catalog.clock = lambda: later
        with pytest.raises(CursorExpired, match="no longer kept"):
            page(workspace, store, first.cursor)
    assert ids(page(workspace, workspace.store, first.cursor)) == ["d2", "d3"]


def test_a_swept_generation_leaves_no_rows(workspace: Workspace) -> None:
    with lease(workspace.catalog, "c") as held:
        remove(workspace.catalog, held, ["d0"])
        merge_segments(workspace.store, held, everything)
        workspace.store.grace_s = 0.0
        sweep(workspace.store, held)
    with workspace.catalog.database.read() as connection:
        for table in ("past_generations", "tombstones"):
            assert connection.exec_driver_sql(f"SELECT * FROM {table}").all() == []
