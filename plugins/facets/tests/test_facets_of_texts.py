"""Comparing and summarizing texts: against loops, over stored documents, hits and given texts."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from app.encoders.encoders import Encoders
from app.search.mode import load_modes
from app.texts.requests import SpanRange
from app.texts.span_answers import TooManySentences
from indexer.errors import CollectionNotFound, DocumentNotFound
from models.encoders.registry import EncoderOptions
from models.errors import InvalidInput
from models.types import Document, Part
from research.training.facet_network import FacetNetwork, facet_model
from spanseek_facets.answers import CompareRequest, StoredTexts, SummaryRequest
from spanseek_facets.comparing import CompareService
from spanseek_facets.directions import FREQUENCY
from spanseek_facets.forward import FacetShape
from spanseek_facets.scores import codebook_distance, direction, frequency_weights
from spanseek_facets.shipped import Facets
from spanseek_facets.summaries import SummaryService, sentences_of
from spanseek_facets.word_vectors import WordVectors
from tests import reference
from tests.examples import examples
from tests.workspace import Workspace, document, encoders_of

VOCABULARY = ("parcel", "plan", "cancel", "router", "slow", "the", "invoice", "late")


class SmallFacets(Facets):
    """Facets of an untrained network in a space of eight words."""

    def __init__(self) -> None:
        super().__init__(Encoders(EncoderOptions()))
        torch.manual_seed(7)
        vectors = np.random.default_rng(7).normal(size=(len(VOCABULARY), 12)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self.words = WordVectors(VOCABULARY, vectors, np.linspace(0.001, 0.1, len(VOCABULARY)))
        self.sentences = facet_model(FacetNetwork(FacetShape(3, 12, heads=2, hidden=16)), self.words)
        self.phrases = facet_model(FacetNetwork(FacetShape(1, 12, heads=2, hidden=16, attention=False)), self.words)


FACETS = SmallFacets()
TEXTS = {
    "a": ("The parcel is late. Cancel the plan!", "The router is slow."),
    "b": ("An invoice, late. Is it?", "Plan."),
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("facets"), words=True, nugget_ratio=0.5) as made:
        made.index([document(id, *parts) for id, parts in TEXTS.items()])
        yield made


def encoders_of_facets(workspace: Workspace) -> Encoders:
    encoders = encoders_of(workspace.encoder)
    encoders.share(Facets, FACETS)
    return encoders


@pytest.fixture
def summaries(workspace: Workspace) -> SummaryService:
    return SummaryService(workspace.store, encoders_of_facets(workspace))


@pytest.fixture
def comparing(workspace: Workspace) -> CompareService:
    encoders = encoders_of_facets(workspace)
    return CompareService(workspace.store, encoders, load_modes(encoders), "hashing")


@given(st.lists(st.lists(st.sampled_from([*VOCABULARY, "unheard"]), min_size=1, max_size=6), min_size=1, max_size=7))
@settings(max_examples=examples(40), deadline=None)
def test_a_summary_is_that_of_loops(workspace: Workspace, sentences: list[list[str]]) -> None:
    texts = [" ".join(words).capitalize() + "." for words in sentences]
    request = SummaryRequest(texts=(Document("t", (Part(" ".join(texts)),)),), sentences=3)
    words = [word for sentence in sentences for word in sentence if word != "unheard"]
    if not words:
        with pytest.raises(InvalidInput, match="no word"):
            SummaryService(workspace.store, encoders_of_facets(workspace)).summarize(request)
        return
    answer = SummaryService(workspace.store, encoders_of_facets(workspace)).summarize(request)
    ids = FACETS.words.ids(words)
    codebooks = FACETS.sentences.encode(texts)
    for row, sentence in enumerate(sentences):
        if set(sentence) == {"unheard"}:
            codebooks[row] = -1e9 * FACETS.words.vectors[ids].sum(axis=0)  # worse than any for every sum
    known = [row for row, sentence in enumerate(sentences) if set(sentence) != {"unheard"}]
    weights = frequency_weights(FACETS.words.shares[ids]).tolist()
    chosen = reference.cover(codebooks[known], FACETS.words.vectors[ids], weights, 3)
    ours = [sentence.text for sentence in sorted(answer.sentences, key=lambda each: each.rank)][: len(chosen)]
    assert _coverage([texts.index(text) for text in ours], codebooks, ids, weights) == pytest.approx(
        _coverage([known[row] for row in chosen], codebooks, ids, weights), abs=1e-5
    )
    assert answer.of == len(sentences)
    assert [sentence.start for sentence in answer.sentences] == sorted(each.start for each in answer.sentences)


def _coverage(rows: list[int], codebooks: np.ndarray, ids: np.ndarray, weights: list[float]) -> float:
    cosines = [[float(facet @ word) for row in rows for facet in codebooks[row]] for word in FACETS.words.vectors[ids]]
    return sum(weight * max(row) for weight, row in zip(weights, cosines, strict=True)) / sum(weights)


def test_stored_documents_and_the_sentences_of_hits(summaries: SummaryService) -> None:
    whole = summaries.summarize(SummaryRequest(StoredTexts("c", ("a", "b")), sentences=100))
    assert [(sentence.document_id, sentence.text) for sentence in whole.sentences] == [
        ("a", "The parcel is late."),
        ("a", "Cancel the plan!"),
        ("a", "The router is slow."),
        ("b", "An invoice, late."),
        ("b", "Is it?"),
        ("b", "Plan."),
    ]
    for sentence in whole.sentences:
        assert "\n".join(TEXTS[sentence.document_id])[sentence.start : sentence.end] == sentence.text
    ranked = sorted(whole.sentences, key=lambda sentence: sentence.rank)
    assert [sentence.coverage for sentence in ranked] == sorted(sentence.coverage for sentence in ranked)
    hits = StoredTexts("c", spans=(SpanRange("a", 4, 10), SpanRange("b", 3, 10), SpanRange("a", 11, 13)))
    of_hits = summaries.summarize(SummaryRequest(hits, sentences=5))
    assert [sentence.text for sentence in of_hits.sentences] == ["The parcel is late.", "An invoice, late."]


def test_offsets_are_in_the_unit_that_is_asked_for(summaries: SummaryService) -> None:
    text = "😀 parcel. Plan 😀."
    request = SummaryRequest(texts=(Document("t", (Part(text),)),), offset_unit="byte")
    source = text.encode()
    for sentence in summaries.summarize(request).sentences:
        assert source[sentence.start : sentence.end].decode() == sentence.text


def test_what_cannot_be_summarized(summaries: SummaryService) -> None:
    with pytest.raises(DocumentNotFound):
        summaries.summarize(SummaryRequest(StoredTexts("c", ("none",))))
    with pytest.raises(CollectionNotFound):
        summaries.summarize(SummaryRequest(StoredTexts("none", ("a",))))
    with pytest.raises(InvalidInput, match="no word"):
        summaries.summarize(SummaryRequest(texts=(Document("t", (Part("?! unheard"),)),)))
    with pytest.raises(TooManySentences):
        summaries.summarize(SummaryRequest(texts=(Document("t", (Part("Plan. " * 5_001),)),)))
    with pytest.raises(InvalidInput, match="No sentence of 'a' lies between 5000 and 6000"):
        summaries.summarize(SummaryRequest(StoredTexts("c", spans=(SpanRange("a", 5000, 6000),))))
    with pytest.raises(InvalidInput, match="0 sentences"):
        summaries.summarize(SummaryRequest(texts=(Document("t", (Part("Plan."),)),), sentences=0))


def test_an_empty_document_has_no_sentences() -> None:
    assert list(sentences_of(Document("a", (Part(""), Part(" "))))) == []


@pytest.mark.parametrize("collection", [None, "c"])
def test_similarities_are_those_of_the_modes(comparing: CompareService, collection: str | None) -> None:
    answer = comparing.compare(CompareRequest("cancel the plan", "The plan is late", collection))
    modes = {similarity.mode: similarity for similarity in answer.similarities}
    shared = {"best_span", "lexical", "hybrid", "maxsim"}
    assert modes.keys() == (shared if collection else {*shared, "facets", "restorable"})
    assert [each for each in answer.similarities if each.error or each.raw != each.score] == []
    same = comparing.compare(CompareRequest("cancel the plan", "Cancel; the PLAN", collection)).similarities
    assert {similarity.raw for similarity in same if similarity.mode != "restorable"} == {1.0}


def test_facets_and_direction_are_those_of_the_scores(comparing: CompareService) -> None:
    texts = ("cancel the plan", "router")
    answer = comparing.compare(CompareRequest(*texts))
    first, second = FACETS.sentences.encode(texts)
    assert answer.facets is not None
    assert answer.facets.distance == pytest.approx(float(codebook_distance(first, second)), abs=1e-5)
    assert [facet.words[0] for facet in answer.facets.second] == [
        near[0][0] for near in FACETS.words.nearest(second, 1)
    ]
    one, other = FACETS.phrases.encode(texts)
    of_words = [FACETS.words.vectors[FACETS.words.text_ids(text)] for text in texts]
    logs = [np.log(FACETS.words.shares[FACETS.words.text_ids(text)]).mean() for text in texts]
    expected = float(direction(one, of_words[0], other, of_words[1])) + FREQUENCY * (logs[0] - logs[1])
    assert answer.direction is not None
    assert answer.direction.difference == pytest.approx(expected, abs=1e-5)
    assert answer.direction.more_general == ("first" if expected > 0 else "second")
    swapped = comparing.compare(CompareRequest(*reversed(texts))).direction
    assert swapped is not None
    assert swapped.difference == pytest.approx(-answer.direction.difference, abs=1e-5)


def test_texts_without_known_words_have_no_facets(comparing: CompareService) -> None:
    answer = comparing.compare(CompareRequest("unheard", "plan"))
    assert (answer.facets, answer.direction) == (None, None)
    assert answer.similarities


def test_a_mode_that_cannot_read_a_text_says_so(comparing: CompareService) -> None:
    answer = comparing.compare(CompareRequest("plan", "plan late " * 300))
    errors = {similarity.mode: similarity.error for similarity in answer.similarities}
    assert errors["best_span"] is not None
    assert errors["best_span"].code == "invalid_input"
    assert errors["maxsim"] is None
    with pytest.raises(InvalidInput, match="empty"):
        comparing.compare(CompareRequest(" ", "plan"))
