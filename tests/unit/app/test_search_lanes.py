"""Many searches at once, each with a deadline, none waiting for a dead one."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.http.search_lanes import SearchLanes
from app.requests import SearchRequest
from app.search.answers import SearchAnswer
from app.search.errors import DeadlineExceeded
from app.search.service import scan
from models.errors import InvalidInput
from tests.waiting import PATIENCE_S
from tests.workspace import Workspace, document


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path) as made:
        made.index([document("a", "where is my parcel"), document("b", "cancel my plan")])
        yield made


@pytest.fixture
def concurrent(workspace: Workspace) -> Iterator[SearchLanes]:
    made = SearchLanes(workspace.service)
    yield made
    made.close()


def test_answers_are_those_of_the_service(workspace: Workspace, concurrent: SearchLanes) -> None:
    requests = [SearchRequest("c", text=text) for text in ("my parcel", "my plan")]
    answers = asyncio.run(concurrent.search_each(requests, PATIENCE_S))
    assert [answer.hits[0].text for answer in answers if isinstance(answer, SearchAnswer)] == ["my parcel", "my plan"]
    assert concurrent.waiting == {"encode": 0, "scan": 0, "verify": 0, "count": 0, "restore": 0}


def test_an_error_stops_no_other_query(concurrent: SearchLanes) -> None:
    requests = [SearchRequest("c", text="my parcel"), SearchRequest("c", text="")]
    answer, error = asyncio.run(concurrent.search_each(requests, PATIENCE_S))
    assert isinstance(answer, SearchAnswer)
    assert isinstance(error, InvalidInput)
    assert error.field == "text"


def test_a_deadline_ends_the_wait(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()

    def slow(encoded: Any) -> Any:
        gate.wait(PATIENCE_S)
        return scan(encoded)

    monkeypatch.setattr("app.http.search_lanes.scan", slow)
    concurrent = SearchLanes(workspace.service)
    with pytest.raises(DeadlineExceeded, match=r"within 0\.2 s"):
        asyncio.run(concurrent.search(SearchRequest("c", text="my plan"), 0.2))
    gate.set()
    assert asyncio.run(concurrent.search(SearchRequest("c", text="my plan"), PATIENCE_S)).hits
    concurrent.close()
