"""Damage at random places of every file of a collection: it is found, and what is answered is right."""

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import indexer.indexing.maintenance
import indexer.nuggets.files
import indexer.segments.manifest
from app.requests import SearchRequest
from app.search.answers import SearchAnswer
from indexer.ann.candidates import CandidateExecutor
from indexer.catalog.leases import lease
from indexer.indexing.verification import verify_collection
from indexer.segments import opened
from tests.faults.places import ROUNDS
from tests.integration.test_damaged_segments import DOCUMENTS, QUERY, documents
from tests.workspace import Workspace

_PAGE = 4096
MODES = ("best_span", "lexical", "maxsim")
Harm = Callable[[bytes, random.Random], bytes]


def flip(body: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(body))
    return body[:at] + bytes([body[at] ^ (1 << chance.randrange(8))]) + body[at + 1 :]


def truncate(body: bytes, chance: random.Random) -> bytes:
    return body[: chance.randrange(len(body))]


def zero_a_page(body: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(0, len(body), _PAGE)
    page = body[begin : begin + _PAGE]
    return body[:begin] + bytes(len(page)) + body[begin + _PAGE :]


# Each with its number: in the short form, and in one round of the long one.
HARMS: Mapping[Harm, tuple[int, int]] = {flip: (12, 1000), truncate: (6, 200), zero_a_page: (6, 100)}


@pytest.fixture(scope="module", autouse=True)
def small_is_large() -> Iterator[None]:
    """Small files are verified like large ones, small segments have indexes, and nothing runs in the background."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexer.segments.manifest, "_LARGE", 1)
        patch.setattr(indexer.nuggets.files, "WORTH_INDEX", 100)
        patch.setattr(indexer.indexing.maintenance, "WORTH_WINDOWS", 100)
        patch.setattr(opened._verifier, "submit", lambda segment: None)
        yield


def store_of(folder: Path, *firsts: int) -> Workspace:
    """A store with a segment for each of these first documents."""
    folder.mkdir()
    made = Workspace(folder, executor=CandidateExecutor(few_blocks=0), nugget_ratio=0.5, words=True)
    made.store.candidates_from = 1
    for first in firsts:
        made.index(documents(first))
        with lease(made.catalog, "c") as held:
            indexer.indexing.maintenance.add_windows(made.store, held)
            indexer.indexing.maintenance.sweep(made.store, held)
    return made


def answers(made: Workspace) -> dict[str, SearchAnswer]:
    """What a process answers that opens all files anew, and has verified them."""
    made.store.forget("c")
    opened._opened.clear()
    for view in made.store.snapshot("c").views:
        opened.verify(view.segment)
    requests = (SearchRequest("c", text=QUERY, mode=mode, top_k=20) for mode in MODES)
    return {request.mode or "": made.service.search(request)[0] for request in requests}


def found(answer: SearchAnswer) -> list[Any]:
    return [(hit.document_id, hit.start, hit.end, hit.text, hit.score, hit.metadata) for hit in answer.hits]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with store_of(tmp_path_factory.mktemp("whole") / "data", 0, DOCUMENTS) as made:
        yield made


@pytest.fixture(scope="module")
def without(whole: Workspace, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[Any]]]:
    """The oracle: what a store without one segment's documents answers, by the name of that segment."""
    names, oracle = [live.info.name for live in whole.catalog.live_generation("c").segments], {}
    for name, other in zip(names, (DOCUMENTS, 0), strict=True):
        with store_of(tmp_path_factory.mktemp("other") / "data", other) as made:
            oracle[name] = {mode: found(answer) for mode, answer in answers(made).items()}
    return oracle


@pytest.mark.ci("many damages")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("harm", HARMS)
def test_damage_is_found_and_nothing_wrong_is_answered(harm: Harm, whole: Workspace, without: Any) -> None:
    chance, (short, long) = random.Random(harm.__name__), HARMS[harm]
    collection = whole.catalog.collection("c")
    files = sorted(path for path in whole.store.folder(collection).rglob("*") if path.is_file())
    for _ in range(long * ROUNDS or short):
        path = chance.choice(files)
        body = path.read_bytes()
        if not body or (harmed := harm(body, chance)) == body:
            continue
        path.write_bytes(harmed)
        try:
            (damage,) = {sentence.partition(":")[0] for sentence in verify_collection(whole.store, collection)}
            assert damage == path.parent.name
            for mode, answer in answers(whole).items():
                assert answer.degraded, f"{path.name} in mode {mode}"
                assert found(answer) == without[path.parent.name][mode], f"{path.name} in mode {mode}"
        finally:
            path.write_bytes(body)
    assert all(answer.degraded is None for answer in answers(whole).values())
