"""A data folder that version 0.1.0 wrote opens, and answers queries by vector the same.

``store.0.1.tar.gz`` holds its catalog, two collections (one with nuggets, three segments and a deleted document; one of
the hashing encoder), a whitening, a saved phrase, and ``expected.json``: the hits of version 0.1.0.
"""

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.collections.recipes import CollectionOptions
from app.collections.reindexing import Reindexing
from app.requests import SearchRequest
from app.search.answers import Hit
from app.search.modes.best_span import Explanation
from app.search.service import SearchService
from app.services import Services, open_store
from app.settings import Settings
from indexer.catalog import schema
from indexer.catalog.leases import lease
from indexer.catalog.phrases import list_phrases
from indexer.errors import BordersMissing, RecipeMismatch
from indexer.indexing.maintenance import optimize
from indexer.indexing.pipeline import JobHooks
from models.text.borders import border_codes
from models.text.units import OLDEST

ARCHIVE = Path(__file__).parent / "store.0.1.tar.gz"
# Hits of its collection "fixture" by the span score.
SPAN_SCORES = Path(__file__).parent / "span_scores.v1.json"
# Sums in double precision: another processor may add them in another order.
SAME = 1e-12
# A query's text is read by another implementation of the same network.
READ_AGAIN = 1e-5


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store-0.1")
    with tarfile.open(ARCHIVE) as archive:
        # Filters came with Python 3.11.4.
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder


@pytest.fixture(scope="module")
def settings(unpacked: Path) -> Settings:
    found = Settings(_env_file=None, data_dir=unpacked / "data")
    schema.upgrade(found.catalog_url)
    return found


@pytest.fixture(scope="module")
def search(settings: Settings) -> Iterator[SearchService]:
    store = open_store(settings)
    yield Services(settings, store).get(SearchService)
    store.catalog.close()


@pytest.fixture(scope="module")
def expected(unpacked: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((unpacked / "expected.json").read_text("utf-8"))
    return found


def assert_hits(hits: tuple[Hit, ...], expected: list[dict[str, Any]], within: float) -> None:
    assert [(hit.document_id, hit.start, hit.end, hit.text) for hit in hits] == [
        (hit["document_id"], hit["start"], hit["end"], hit["text"]) for hit in expected
    ]
    for hit, before in zip(hits, expected, strict=True):
        assert hit.raw == pytest.approx(before["raw"], abs=within)
        assert hit.score == pytest.approx(before["score"], abs=within)
        assert hit.explanation is not None
        assert hit.explanation.cosine == pytest.approx(before["cosine"], abs=within)


def test_query_vectors_have_the_same_hits_and_scores(search: SearchService, expected: dict[str, Any]) -> None:
    assert len(expected["vectors"]) >= 20
    for case in expected["vectors"]:
        request = SearchRequest(
            case["collection"],
            vector=tuple(case["vector"]),
            mode=case["mode"],
            top_k=5,
            explain=True,
            ranking="cosine",  # version 0.1.0 had no other
        )
        assert_hits(search.search(request)[0].hits, case["hits"], SAME)


def test_texts_are_compared_with_vectors_of_the_same_weights_alone(
    search: SearchService, expected: dict[str, Any]
) -> None:
    """The hashing encoder and nuggets are what they were; the SLICE weights of 0.1.0 are no longer shipped."""
    assert {case["collection"] for case in expected["texts"]} == {"fixture", "hashed"}
    for case in expected["texts"]:
        request = SearchRequest(
            case["collection"], text=case["text"], mode=case["mode"], top_k=5, explain=True, ranking="cosine"
        )
        if case["collection"] == "hashed" or case["mode"] == "maxsim":
            assert_hits(search.search(request)[0].hits, case["hits"], READ_AGAIN)
        else:
            with pytest.raises(RecipeMismatch, match="was indexed with slice"):
                search.search(request)


def test_the_span_score_ranks_by_the_parameters_of_its_encoder(search: SearchService) -> None:
    """By the parameters of the weights that indexed it, and without borders: version 0.1.0 stored none."""
    cases = json.loads(SPAN_SCORES.read_text("utf-8"))
    assert len(cases) >= 5
    for case in cases:
        request = SearchRequest(
            "fixture", vector=tuple(case["vector"]), query_units=case["query_units"], top_k=3, explain=True
        )
        (answer,) = search.search(request)
        assert answer.threshold.calibration is None  # that of the store was fitted to cosines
        assert_hits(answer.hits, case["hits"], READ_AGAIN)
        for hit, before in zip(answer.hits, case["hits"], strict=True):
            assert isinstance(hit.explanation, Explanation)
            assert hit.explanation.length == pytest.approx(before["length"], abs=SAME)
            assert hit.explanation.borders == pytest.approx(before["borders"], abs=SAME)


def test_saved_phrases_are_kept(settings: Settings) -> None:
    store = open_store(settings)
    (phrase,) = list_phrases(store.catalog, "fixture", 10)
    assert (phrase.name, phrase.text) == ("porting", "my number was not transferred")
    store.catalog.close()


@pytest.mark.ci("encodes with the shipped models")
def test_reindexing_brings_it_to_the_shipped_weights(unpacked: Path, settings: Settings, tmp_path: Path) -> None:
    shutil.copytree(unpacked / "data", tmp_path / "data")
    copied = settings.model_copy(update={"data_dir": tmp_path / "data", "grace_s": 0.0})
    services = Services(copied, open_store(copied))
    before = services.store.catalog.collection("fixture")
    job = Reindexing.of(services, "fixture", CollectionOptions())
    reindexed = job.run(job.documents(), JobHooks())
    after = services.store.catalog.collection("fixture")
    assert reindexed is not None
    assert reindexed.phrases == 1
    assert (after.documents, after.recipe.bounds) == (before.documents, before.recipe.bounds)
    assert after.recipe.fingerprint == services.encoders.load("slice").fingerprint != before.recipe.fingerprint
    assert set(after.recipe.representations) == set(before.recipe.representations)
    (answer,) = services.get(SearchService).search(SearchRequest("fixture", text="I was charged twice", top_k=1))
    assert len(answer.hits) == 1
    services.store.catalog.close()


def test_optimizing_adds_the_borders_and_changes_no_cosine(
    unpacked: Path, settings: Settings, expected: dict[str, Any], tmp_path: Path
) -> None:
    shutil.copytree(unpacked / "data", tmp_path / "data")
    copied = settings.model_copy(update={"data_dir": tmp_path / "data", "grace_s": 0.0})
    store = open_store(copied)
    for collection in store.catalog.collections():
        old = [view.segment for view in store.snapshot(collection.name).views]
        assert not any(segment.has_borders or segment.borders.any() for segment in old)
        with pytest.raises(BordersMissing, match=r"0\.3") as caught:
            _ = old[0].whole_spans
        assert "optimize" in caught.value.hint
        with lease(store.catalog, collection.name) as held:
            optimize(store, held)
        for view in open_store(copied).snapshot(collection.name).views:
            segment = view.segment
            first, last = segment.part_units[:2].tolist()
            text, spans = segment.text(0, segment.part_span(0)), segment.unit_spans[first:last].astype(np.int64)
            assert (segment.borders[first:last] == border_codes(text, spans - segment.part_span(0).start, OLDEST)).all()
            assert segment.whole_spans["part"].tolist() == sorted(set(segment.part_units.tolist()))
    test_query_vectors_have_the_same_hits_and_scores(Services(copied, open_store(copied)).get(SearchService), expected)
