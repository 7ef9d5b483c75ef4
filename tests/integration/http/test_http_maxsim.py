"""``POST /search`` in mode maxsim, over a collection with nuggets that is written to by HTTP."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.services import open_store
from indexer.catalog.schema import upgrade
from indexer.indexing.pipeline import IndexJob
from indexer.types import Recipe
from models.encoders.nuggets.forward_pass import NuggetPass
from models.encoders.passes import UnitPass
from models.encoders.registry import load_encoder, load_nuggets
from tests.integration.http.conftest import DOCUMENTS, Client, settings_of

PHRASE = "please cancel my subscription 😀, my parcel never came"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    settings = settings_of(Path(tmp_path_factory.mktemp("nuggets")))
    upgrade(settings.catalog_url)
    store, encoder = open_store(settings), load_encoder("hashing")
    nuggets = NuggetPass(load_nuggets("hashing", base=encoder), 0.25)
    with closing(store.catalog):
        plain = Recipe("hashing", encoder.fingerprint, encoder.dim)
        recipe = replace(plain, details={"nuggets": nuggets.maker.details})
        made = store.catalog.create_collection("sample", recipe)
        IndexJob(store, encoder, made, forward=UnitPass(encoder, {"nuggets": nuggets.maker})).run(DOCUMENTS)
        IndexJob(store, encoder, store.catalog.create_collection("plain", plain)).run(DOCUMENTS[:1])
    with Client(settings) as started:
        yield started


@pytest.mark.smoke
def test_documents_with_the_pairs_that_explain_them(client: Client) -> None:
    answer = client.search(text=PHRASE, mode="maxsim", top_k=2, explain=True, offset_unit="byte")
    texts = {document.id: document.text.encode() for document in DOCUMENTS}
    assert len(answer["hits"]) == 2
    for hit in answer["hits"]:
        assert hit["mode"] == "maxsim"
        assert (hit["start"], hit["end"]) == (0, len(texts[hit["document_id"]]))
        assert hit["text"].encode() == texts[hit["document_id"]]
        told = hit["explanation"]
        assert told.keys() == {"cosine", "pairs", "best_sentence", "exact"}
        assert told["cosine"] == pytest.approx(2 * hit["raw"] - 1)
        assert sum(pair["contribution"] for pair in told["pairs"]) == pytest.approx(told["cosine"])
        for pair in told["pairs"]:
            assert pair["stretch"] == pair["segment_text"]
            assert pair.keys() == {"query", "nugget", "segment_text", "stretch", "cosine", "contribution"}
            query = pair["query"]
            assert PHRASE.encode()[query["start"] : query["end"]].decode() == query["text"]
            for place in (pair["nugget"], pair["segment_text"]):
                assert texts[hit["document_id"]][place["start"] : place["end"]].decode() == place["text"]


def test_a_query_may_be_a_long_document(client: Client) -> None:
    text = "I want to cancel my subscription. " * 600
    assert len(text) > 20_000
    assert client.search(text=text, mode="maxsim", top_k=1)["hits"]
    assert "at most" in client.refused(422, "invalid_input", text=text)["detail"]
    client.refused(422, "invalid_input", text="a " * 60_000, mode="maxsim")


def test_a_collection_without_nuggets_says_how_to_get_them(client: Client) -> None:
    body = client.refused(422, "mode_unavailable", collection="plain", text="x", mode="maxsim")
    assert "spanseek index --nugget-ratio" in body["hint"]
    assert body["errors"][0]["field"] == "mode"


@pytest.mark.parametrize(("wrong", "field"), [({"group_by": "part"}, "group_by"), ({"context": 5}, "context")])
def test_what_makes_no_sense_of_documents(client: Client, wrong: dict, field: str) -> None:
    body = client.refused(422, "invalid_input", text="x", mode="maxsim", **wrong)
    assert body["errors"][0]["field"] == field
    batch = client.post(
        "/search/batch", {"queries": [{"collection": "sample", "text": "x", "mode": "maxsim", **wrong}]}
    )
    assert batch.json()["results"][0]["error"]["field"] == field


def test_collections_say_how_their_nuggets_were_made(client: Client) -> None:
    sample, plain = (client.get(f"/collections/{name}").json() for name in ("sample", "plain"))
    assert sample["representations"] == ["units", "nuggets"]
    assert sample["nuggets"]["ratio"] == 0.25
    assert sample["nuggets"]["dim"] == 64
    assert plain["nuggets"] is None


def test_what_is_added_by_http_is_found_and_what_is_deleted_is_not(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexer.freshness.FRESH_S", -1.0)
    unheard = "zebras juggle violet pianos under water"
    added = client.post("/collections/sample/documents", {"id": "new", "text": unheard}).json()
    assert added["results"][0]["status"] == "indexed"

    wanted = {"text": unheard, "mode": "maxsim", "threshold": 0.99}
    assert [hit["document_id"] for hit in client.search(**wanted)["hits"]] == ["new"]
    client.run(client.http.delete("/collections/sample/documents/new"))
    assert client.search(**wanted)["hits"] == []
    modes = client.get("/admin/collections/sample/thresholds").json()["thresholds"]
    assert {"best_span", "maxsim"} <= {each["mode"] for each in modes}
