"""Damage of every file of a segment, found without ``spanseek verify``: no answer is wrong without saying so."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest

import indexer.indexing.maintenance
import indexer.nuggets.files
import indexer.segments.manifest
from app.requests import SearchRequest
from app.search.answers import SearchAnswer
from app.search.service import encode
from indexer.ann.candidates import CandidateExecutor
from indexer.catalog.leases import lease
from indexer.errors import SegmentCorrupt
from indexer.indexing.maintenance import optimize
from indexer.indexing.matching import rematch
from indexer.segments import layout, opened
from indexer.segments.manifest import read_manifest
from indexer.segments.reader import Segment
from models.types import Document, Part
from tests.workspace import Workspace

VERIFY = opened.verify
MODES = ("best_span", "maxsim")
QUERY = "the parcel never came to my door"
WORDS = [*QUERY.split(), "invoice", "cancel", "router", "slow", "again", "please"]
# FAISS needs a few thousand vectors to train on.
DOCUMENTS = 120


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are verified like large ones, small segments have indexes, and nothing runs in the background."""
    monkeypatch.setattr(indexer.segments.manifest, "_LARGE", 1)
    monkeypatch.setattr(indexer.nuggets.files, "WORTH_INDEX", 100)
    monkeypatch.setattr(indexer.indexing.maintenance, "WORTH_WINDOWS", 100)
    monkeypatch.setattr(opened._verifier, "submit", lambda segment: None)


def documents(first: int) -> Iterator[Document]:
    rng = random.Random(first)
    for number in range(first, first + DOCUMENTS):
        parts = tuple(Part(" ".join(rng.choices(WORDS, k=40)), {"turn": turn}) for turn in range(2))
        yield Document(f"d{number}", parts, {"number": number})


@contextmanager
def workspace(folder: Path) -> Iterator[Workspace]:
    with Workspace(folder, executor=CandidateExecutor(few_blocks=0), nugget_ratio=0.5) as made:
        made.store.candidates_from = 1
        yield made


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two segments with every kind of file."""
    folder = tmp_path_factory.mktemp("written")
    with pytest.MonkeyPatch.context() as patch:
        small_is_large.__wrapped__(patch)  # type: ignore[attr-defined]
        with workspace(folder) as made:
            for first in (0, DOCUMENTS):
                made.index(documents(first))
                with lease(made.catalog, "c") as held:
                    indexer.indexing.maintenance.add_windows(made.store, held)
                    indexer.indexing.maintenance.sweep(made.store, held)
            assert len(made.live()) == 2
    return folder


@pytest.fixture
def damaged(written: Path, tmp_path: Path) -> Iterator[tuple[Workspace, Path, str]]:
    """A copy of the store, the folder of its first segment, and its manifest's checksum."""
    shutil.copytree(written, tmp_path / "store")
    with workspace(tmp_path / "store") as made:
        info = made.catalog.live_generation("c").segments[0].info
        yield made, made.store.folder(made.catalog.collection("c")) / info.name, info.manifest_sha256


def answer(made: Workspace, mode: str) -> SearchAnswer:
    (answer,) = made.service.search(SearchRequest("c", text=QUERY, mode=mode, top_k=30, explain=True))
    return answer


def verify_opened(made: Workspace) -> None:
    for view in made.store.snapshot("c").views:
        opened.verify(view.segment)


def flip(at: float) -> Callable[[bytes], bytes]:
    def flipped(body: bytes) -> bytes:
        position = min(int(at * len(body)), len(body) - 1)
        return body[:position] + bytes([body[position] ^ 0x10]) + body[position + 1 :]

    return flipped


HARMS = {
    "first byte": flip(0.0),
    "a third": flip(0.33),
    "two thirds": flip(0.67),
    "last byte": flip(1.0),
    "a page of zeros": lambda body: bytes(min(4096, len(body))) + body[4096:],
    "ones from the middle on": lambda body: body[: len(body) // 2] + b"\xff" * len(body[len(body) // 2 :]),
}
FILES = [
    layout.MANIFEST,
    layout.VECTORS,
    layout.SCALES,
    layout.NORM_CODES,
    layout.NORM_AFFINE,
    layout.NORM_ERRORS,
    layout.UNIT_SPANS,
    layout.BORDERS,
    layout.PARTS,
    layout.DOCUMENTS,
    layout.TEXT,
    layout.TEXT_BLOCKS,
    layout.WINDOWS,
    *indexer.nuggets.files.COLUMNS,
    indexer.nuggets.files.INDEX,
]


def test_the_files_are_all(damaged: tuple[Workspace, Path, str]) -> None:
    _, folder, sha256 = damaged
    names = {path.name for path in folder.iterdir()}
    assert names == set(FILES) == {layout.MANIFEST, *read_manifest(folder, sha256).files}


# In a short run one harm, for one file of each kind: parsed, numbers, text.
SHORT = "two thirds"
SHORT_FILES = {layout.DOCUMENTS, layout.VECTORS, layout.TEXT}
EVERY = [
    harm if harm == SHORT else pytest.param(harm, marks=pytest.mark.slow("every file and every damage"))
    for harm in HARMS
]


def shortened(names: list[str]) -> list[Any]:
    """All names; a short run takes those of ``SHORT_FILES``."""
    return [
        name if name in SHORT_FILES else pytest.param(name, marks=pytest.mark.slow("every file and every damage"))
        for name in names
    ]


LARGE = [name for name in FILES if Path(name).suffix in indexer.segments.manifest._LARGE_KINDS]


@pytest.mark.parametrize("harm", EVERY)
@pytest.mark.parametrize("name", shortened(FILES))
def test_damage_before_opening(damaged: tuple[Workspace, Path, str], name: str, harm: str) -> None:
    check(*damaged[:2], name, HARMS[harm], opened_before=False)


@pytest.mark.parametrize("harm", EVERY)
@pytest.mark.parametrize("name", shortened(LARGE))
def test_damage_of_an_opened_segment(damaged: tuple[Workspace, Path, str], name: str, harm: str) -> None:
    check(*damaged[:2], name, HARMS[harm], opened_before=True)


def check(made: Workspace, folder: Path, name: str, harm: Callable[[bytes], bytes], *, opened_before: bool) -> None:
    """Damage a file: unverified it raises nothing unforeseen, verified its segment is left out, restored it is back."""
    whole = {mode: answer(made, mode) for mode in MODES}
    assert all(each.degraded is None for each in whole.values())
    path = folder / name
    body = path.read_bytes()
    if not opened_before:
        forget(made)
    path.write_bytes(harm(body))
    for mode in MODES:
        with suppress(SegmentCorrupt):
            answer(made, mode)
    verify_opened(made)
    for mode in MODES:
        degraded = answer(made, mode)
        assert [folder.name in damage for damage in degraded.degraded or ()] == [True]
        assert {hit.document_id for hit in degraded.hits} <= {
            f"d{number}" for number in range(DOCUMENTS, 2 * DOCUMENTS)
        }
    with pytest.raises(SegmentCorrupt, match=folder.name):
        made.service.count(encode([made.service.prepare(SearchRequest("c", text=QUERY))])[0], None)
    path.write_bytes(body)
    assert {mode: (answer(made, mode).hits, answer(made, mode).degraded) for mode in MODES} == {
        mode: (each.hits, None) for mode, each in whole.items()
    }


def forget(made: Workspace) -> None:
    """Let the next search open all files anew, as another process would."""
    made.store.forget("c")
    opened._opened.clear()


def test_a_file_that_is_cut_under_an_open_segment(damaged: tuple[Workspace, Path, str]) -> None:
    made, folder, _ = damaged
    answer(made, "best_span")
    os.truncate(folder / layout.VECTORS, 64)
    assert answer(made, "best_span").degraded


def test_with_nothing_left_the_search_fails(damaged: tuple[Workspace, Path, str]) -> None:
    made, folder, _ = damaged
    for segment in folder.parent.iterdir():
        (segment / layout.SCALES).unlink()
    with pytest.raises(SegmentCorrupt, match="scales"):
        answer(made, "best_span")


def test_what_must_be_complete_is_refused(damaged: tuple[Workspace, Path, str]) -> None:
    made, folder, _ = damaged
    path = folder / layout.VECTORS
    path.write_bytes(flip(0.5)(path.read_bytes()))
    answer(made, "best_span")
    verify_opened(made)
    assert answer(made, "best_span").degraded
    with lease(made.catalog, "c") as held:
        with pytest.raises(SegmentCorrupt, match="vectors"):
            rematch(made.store, held, ())
        with pytest.raises(SegmentCorrupt, match="vectors"):
            optimize(made.store, held)
    assert made.store.damages(made.catalog.collection("c"))


def test_large_files_are_verified_in_the_background(
    damaged: tuple[Workspace, Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, folder, _ = damaged
    path = folder / layout.VECTORS
    path.write_bytes(flip(0.5)(path.read_bytes()))
    verified = Semaphore(0)

    def verify(segment: Segment) -> None:
        VERIFY(segment)
        verified.release()

    monkeypatch.setattr(opened, "verify", verify)
    monkeypatch.setattr(opened._verifier, "submit", opened._Verifier.submit.__get__(opened._verifier))
    forget(made)
    answer(made, "best_span")
    assert verified.acquire(timeout=60)
    assert verified.acquire(timeout=60)
    assert answer(made, "best_span").degraded
