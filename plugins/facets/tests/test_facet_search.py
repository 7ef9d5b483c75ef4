"""Mode facets: exact scores, the literal floor, candidates, explanations, reindexing, and what is refused."""

from collections.abc import Iterator
from copy import copy
from pathlib import Path

import numpy as np
import pytest

from app.collections.jobs import CollectionJobs
from app.collections.recipes import CollectionOptions
from app.collections.reindexing import Reindexing
from app.collections.service import CollectionService
from app.encoders.encoders import Encoders
from app.requests import SpanChoice
from app.search.errors import ModeUnavailable
from indexer.engine.query import Filter
from indexer.errors import RecipeMismatch
from indexer.indexing.pipeline import JobHooks
from indexer.types import Recipe
from models.encoders.registry import EncoderOptions
from models.errors import InvalidInput
from spanseek_facets import scan
from spanseek_facets.mode import FacetExplanation
from spanseek_facets.model import FacetModel
from spanseek_facets.representation import stored_facets
from spanseek_facets.scores import codebook_distance
from spanseek_facets.shipped import Facets, facet_details
from tests.workspace import Workspace, document

PETS = "The dog barked at the cat."
MONEY = "The bank raised the interest rate again."
MUSIC = "She played the piano in an orchestra."


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("facets"), words=True, representations={"facets": {}}) as made:
        made.index([document("a", f"{PETS} {MONEY}", MUSIC, kind="x"), document("unknown", "Qwrtz xyzzq. Plugh!")])
        made.index([document("b", "A kitten is a young animal.", kind="y")])
        yield made


def texts(workspace: Workspace, query: str, **options: object) -> list[str]:
    return [hit.text for hit in workspace.search(query, mode="facets", **options)]


def test_sentences_are_ranked_by_what_stands_near_them(workspace: Workspace) -> None:
    assert texts(workspace, "loans and credit of banks")[0] == MONEY
    assert texts(workspace, "a violin concert")[0] == MUSIC
    assert set(texts(workspace, "puppy")[:2]) == {PETS, "A kitten is a young animal."}


def test_a_collection_without_documents_has_no_hits(workspace: Workspace) -> None:
    collections = CollectionService(workspace.store, workspace.encoders, default_encoder="hashing")
    collections.create("none", CollectionOptions(facets=True))
    assert workspace.search("puppy", "none", mode="facets") == ()


def test_raw_is_made_of_the_distance_of_facets(workspace: Workspace) -> None:
    model, query = Facets(Encoders(EncoderOptions())).sentences, "a violin concert"
    for hit in workspace.search(query, mode="facets"):
        first, second = model.encode([query, hit.text])
        assert hit.raw == pytest.approx(1 - float(codebook_distance(first, second)) / 20, abs=5e-3)  # int8


def test_own_words_come_first_and_nothing_else_scores_one(workspace: Workspace) -> None:
    first, *others = workspace.search("interest rate", mode="facets")
    assert (first.text, first.raw, first.match) == (MONEY, 1.0, "exact")
    assert all(hit.raw < 1 and hit.match is None for hit in others)
    (literal,) = (hit for hit in workspace.search("xyzzq", mode="facets"))
    assert (literal.text, literal.match) == ("Qwrtz xyzzq.", "exact")
    assert all(hit.match is None for hit in workspace.search("interest rate", mode="facets", ranking="cosine"))


def test_sentences_without_known_words_have_no_facets(workspace: Workspace) -> None:
    assert "unknown" not in {hit.document_id for hit in workspace.search("animals", mode="facets", top_k=100)}
    assert texts(workspace, "plughs") == []
    assert texts(workspace, "animals", filter=Filter({"kind": "y"})) == ["A kitten is a young animal."]


def test_explanations_have_the_words_of_facets(workspace: Workspace) -> None:
    exact, other = workspace.search("interest rate", mode="facets", explain=True, top_k=2)
    for hit in (exact, other):
        assert isinstance(hit.explanation, FacetExplanation)
        assert len(hit.explanation.query) == len(hit.explanation.hit) == 10
        assert {len(facet.words) for facet in hit.explanation.query} == {3}
        assert hit.explanation.cosine + hit.explanation.exact == pytest.approx(2 * hit.raw - 1, abs=1e-12)
    assert other.explanation.exact == 0  # type: ignore[union-attr]
    (unknown,) = workspace.search("xyzzq", mode="facets", explain=True)
    assert isinstance(unknown.explanation, FacetExplanation)
    assert unknown.explanation.hit == ()


def test_candidates_are_rescored_exactly(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = {hit.text: hit.raw for hit in workspace.search("a violin concert", mode="facets")}
    monkeypatch.setattr(scan, "EXACT_UP_TO", 0)
    monkeypatch.setattr(scan, "CANDIDATES", 2)
    monkeypatch.setattr(scan, "_CANDIDATES_A_HIT", 1)
    hits = workspace.search("a violin concert", mode="facets", top_k=1)
    assert {hit.text: hit.raw for hit in hits} == {MUSIC: everything[MUSIC]}
    grouped = workspace.search("a violin concert", mode="facets", top_k=3, group_by="document", threshold=0)
    assert {hit.document_id for hit in grouped} == {"a", "b"}  # both nearest sentences are of one document
    monkeypatch.setattr(scan, "CANDIDATES", 100)
    assert {hit.text: hit.raw for hit in workspace.search("a violin concert", mode="facets")} == everything


def test_a_sentence_in_several_windows_has_facets_of_all_its_words(tmp_path: Path) -> None:
    sentence = " ".join(["Music"] * 300 + ["bank"] * 300) + "."
    with Workspace(tmp_path, representations={"facets": {}}) as made:
        made.index([document("long", f"Hello. {sentence} The end.")])
        (view,) = made.store.snapshot("c").views
        stored = stored_facets(view.segment)
        assert len(stored) == 3
        expected = Facets(Encoders(EncoderOptions())).sentences.encode([sentence])[0]
        np.testing.assert_allclose(stored.vectors(np.array([1]))[0], expected, atol=0.02)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"text": None, "vector": (1.0,) * 64}, "vector"),
        ({"spans": SpanChoice(boundaries="clause")}, "spans"),
        ({"query_units": 3}, "query_units"),
        ({"stemming": "english"}, "stemming"),
    ],
)
def test_what_facets_cannot_do_is_refused(workspace: Workspace, options: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        workspace.search(**{"text": "dogs", "mode": "facets"} | options)  # type: ignore[arg-type]
    assert refused.value.field == field


def test_lengths_of_sentences_are_chosen(workspace: Workspace) -> None:
    assert PETS not in texts(workspace, "puppy", spans=SpanChoice(min_units=8), threshold=0)
    assert MONEY in texts(workspace, "puppy", spans=SpanChoice(min_units=8), threshold=0)


def test_other_weights_are_refused() -> None:
    model = Facets(Encoders(EncoderOptions())).sentences
    other = FacetModel({}, model.shape, model.words, "other weights")
    recipe = Recipe("hashing", "f", 64, details={"facets": facet_details(other)})
    with pytest.raises(RecipeMismatch, match="facets"):
        Encoders(EncoderOptions()).shared(Facets).matching(recipe)


def test_reindexing_adds_facets_to_stored_texts_and_removes_them(tmp_path: Path) -> None:
    with Workspace(tmp_path, words=True) as made:
        made.index([document("a", f"{PETS} {MONEY}", MUSIC)])
        encoders = Encoders.of({"hashing": made.encoder})
        collections = CollectionService(made.store, encoders, default_encoder="hashing")
        for facets in (True, None, False):  # None: as before
            options = CollectionOptions(facets=facets)
            jobs = CollectionJobs(made.store, encoders, segment_units=1_000)
            job = Reindexing(made.store, encoders, collections, jobs, made.service.modes, "c", options)
            assert job.run(job.documents(), JobHooks()) is not None
            assert ("facets" in made.catalog.collection("c").recipe.details) == (facets is not False)
            if facets is not False:
                assert texts(made, "a violin concert")[0] == MUSIC
        with pytest.raises(ModeUnavailable, match="facets"):
            texts(made, "a violin concert")


def test_facets_of_earlier_weights_are_refused_and_made_anew(tmp_path: Path) -> None:
    with Workspace(tmp_path) as made:
        made.index([document("a", PETS, MUSIC)])
        now, before = (Encoders.of({"hashing": made.encoder}) for _ in range(2))
        model = copy(before.shared(Facets).sentences)
        model.sha256 = "earlier weights"
        before.shared(Facets).__dict__["sentences"] = model
        for encoders, facets in ((before, True), (now, None)):
            collections = CollectionService(made.store, encoders, default_encoder="hashing")
            jobs, options = CollectionJobs(made.store, encoders, segment_units=1_000), CollectionOptions(facets=facets)
            job = Reindexing(made.store, encoders, collections, jobs, made.service.modes, "c", options)
            job.run(job.documents(), JobHooks())
            if encoders is before:
                with pytest.raises(RecipeMismatch, match="facets"):
                    texts(made, "a violin concert")
        assert texts(made, "a violin concert")[0] == MUSIC
