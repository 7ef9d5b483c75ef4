"""Mode lexical: what BM25 finds, phrases and prefixes, highlights, cuts and explanations."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from app.requests import ModeName, SearchRequest, SpanChoice
from app.search.modes.lexical import LexicalExplanation
from indexer.catalog.leases import lease
from indexer.engine.query import Filter
from indexer.indexing.maintenance import optimize
from indexer.words.bm25 import K1, B
from indexer.words.queries import read_query
from models.errors import InvalidInput
from models.text.words import Language, stems
from tests import reference
from tests.examples import examples
from tests.workspace import Workspace, document

COUNTED = " ".join(f"w{number}" for number in range(40))
LONG = f"We met. The {COUNTED} then the invoice of may came late, said " + "so " * 30


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("lexical"), words=True) as made:
        made.index([document("a", "Please cancel my plan. My plan is too dear!", "I plan to stay.")])
        made.index([document("b", "The CANCELLATION of plans", "Cancel “my” plan, now.", kind="b")])
        made.index([document("long", LONG)])
        yield made


def texts(workspace: Workspace, query: str, **options: object) -> list[str]:
    return [hit.text for hit in workspace.search(query, mode="lexical", **options)]


def test_sentences_are_ranked_by_their_words(workspace: Workspace) -> None:
    assert texts(workspace, "cancel my plan")[:2] == ["Please cancel my plan.", "Cancel “my” plan, now."]
    assert texts(workspace, "nothing") == []


def test_phrases_must_stand_in_the_sentence(workspace: Workspace) -> None:
    holding = {"Cancel “my” plan, now.", "Please cancel my plan.", "My plan is too dear!"}
    assert set(texts(workspace, '"my plan"')) == holding
    assert texts(workspace, '"plan my"') == ["plan. My"]  # across two sentences
    assert texts(workspace, 'dear "my plan"')[0] == "My plan is too dear!"
    assert texts(workspace, 'dear "i plan"') == ["I plan to stay."]


def test_prefixes(workspace: Workspace) -> None:
    assert texts(workspace, "cancella*") == ["The CANCELLATION of plans"]
    assert len(texts(workspace, "plan*")) == 5
    assert texts(workspace, "plann*") == []


def test_highlights_are_the_words_in_the_hit(workspace: Workspace) -> None:
    (hit, *_) = workspace.search("CANCEL plan", mode="lexical", offset_unit="byte", filter=Filter({"kind": "b"}))
    assert hit.highlights is not None
    assert [word.text for word in hit.highlights] == ["Cancel", "plan"]
    source = "The CANCELLATION of plans\nCancel “my” plan, now.".encode()
    assert [source[word.start : word.end].decode() for word in hit.highlights] == ["Cancel", "plan"]


def test_a_long_sentence_is_cut_around_the_words(workspace: Workspace) -> None:
    (hit,) = workspace.search("invoice late", mode="lexical")
    assert "the invoice of may came late" in hit.text
    assert len(hit.text.split()) <= 20
    (short,) = workspace.search("invoice late", mode="lexical", spans=SpanChoice(max_units=5))
    assert short.text == "invoice of may came late"
    (whole,) = workspace.search("invoice late", mode="lexical", spans=SpanChoice(boundaries="sentence"))
    assert whole.text.startswith("The w0 w1")
    assert whole.raw == hit.raw == short.raw


def test_an_explanation_has_the_words(workspace: Workspace) -> None:
    (hit, *_) = workspace.search('"my plan" canc*', mode="lexical", explain=True)
    explanation = hit.explanation
    assert isinstance(explanation, LexicalExplanation)
    assert {word.word for word in explanation.words} == {'"my plan"', "canc*"}
    assert explanation.bm25 == pytest.approx(sum(word.contribution for word in explanation.words))
    assert hit.match or hit.raw == pytest.approx(explanation.bm25 / explanation.highest)


@pytest.mark.parametrize("text", ["?!", '""', "*", "“ ”"])
def test_a_query_without_words(workspace: Workspace, text: str) -> None:
    with pytest.raises(InvalidInput, match="holds no words"):
        texts(workspace, text)


def test_reading_queries() -> None:
    items = read_query('a "b c" d-e* a "x').items
    assert [(item.text, count) for item, count in items] == [("a", 2), ('"b c"', 1), ("d", 1), ("e*", 1), ("x", 1)]


def test_stems_stand_for_all_their_words(workspace: Workspace) -> None:
    assert texts(workspace, "cancellations") == []
    (hit, *_) = workspace.search("plans cancelled", mode="lexical", stemming="english", explain=True)
    assert hit.text in {"The CANCELLATION of plans", "Cancel “my” plan, now.", "Please cancel my plan."}
    assert hit.highlights is not None
    assert {word.text.lower() for word in hit.highlights} <= {"cancellation", "cancel", "plan", "plans"}
    assert isinstance(hit.explanation, LexicalExplanation)
    assert {word.word for word in hit.explanation.words} == {"plans", "cancelled"}
    assert texts(workspace, '"plans"', stemming="english") == ["The CANCELLATION of plans"]
    assert texts(workspace, "planner*", stemming="english") == []


@pytest.mark.parametrize("mode", ["best_span", "maxsim"])
def test_meanings_have_no_stems(tmp_path: Path, mode: ModeName) -> None:
    with Workspace(tmp_path, words=True, nugget_ratio=0.5) as made:
        made.index([document("a", "my plan")])
        with pytest.raises(InvalidInput, match="no stems") as refused:
            made.search("plan", mode=mode, stemming="english")
    assert refused.value.field == "stemming"


def test_a_calibration_does_not_apply_to_the_scores_of_stems(workspace: Workspace) -> None:
    recipe = workspace.catalog.collection("c").recipe
    for mode in (workspace.service.modes["lexical"], workspace.service.modes["hybrid"]):
        with_words, with_stems, others = (
            mode.countable.score_fingerprint(SearchRequest("c", text="plan", stemming=language), recipe)
            for language in (None, "english", "german")
        )
        assert len({with_words, with_stems, others}) == 3


FORMS = ["plan", "plans", "planned", "cancel", "cancels", "dear", "the"]
sentences_of_forms = st.lists(st.sampled_from(FORMS), min_size=1, max_size=5)


@given(st.lists(sentences_of_forms, min_size=1, max_size=8), sentences_of_forms, st.integers(1, 8))
@settings(max_examples=examples(30), deadline=None)
def test_scores_with_stems_are_those_of_stemmed_texts(sentences: list[list[str]], query: list[str], cut: int) -> None:
    stemmed = [stems(sentence, "english") for sentence in sentences]
    shares = reference.bm25_shares(stemmed, stems(query, "english"), K1, B)
    with TemporaryDirectory() as folder, Workspace(Path(folder), words=True) as made:
        documents = [document(f"{number:02}", " ".join(words)) for number, words in enumerate(sentences)]
        for some in (documents[:cut], documents[cut:]):
            made.index(some)
        hits = made.search(" ".join(query), mode="lexical", stemming="english", threshold=0, top_k=100)
    exact = [bool(reference.occurrences(sentence, query)) for sentence in sentences]
    expected = [1.0 if literal else share for literal, share in zip(exact, shares, strict=True)]
    raws = {int(hit.document_id): hit.raw for hit in hits}
    assert [raws.get(number, 0.0) for number in range(len(sentences))] == pytest.approx(expected)
    assert {int(hit.document_id) for hit in hits if hit.match} == {number for number, each in enumerate(exact) if each}


def test_the_languages_are_those_of_the_stemmers() -> None:
    older = {"porter", "dutch_porter"}
    assert set(get_args(Language)) == set(Stemmer.algorithms()) - older


words = st.lists(st.sampled_from("abcd"), min_size=1, max_size=5)


@given(st.lists(words, min_size=1, max_size=12), words, st.integers(1, 12))
@settings(max_examples=examples(60), deadline=None)
def test_scores_are_those_of_loops(sentences: list[list[str]], query: Sequence[str], cut: int) -> None:
    with TemporaryDirectory() as folder, Workspace(Path(folder), words=True) as made:
        documents = [document(f"{number:02}", " ".join(words)) for number, words in enumerate(sentences)]
        for some in (documents[:cut], documents[cut:]):
            made.index(some)
        shares = reference.bm25_shares(sentences, query, K1, B)
        exact = [bool(reference.occurrences(sentence, query)) for sentence in sentences]
        raws = [1.0 if literal else share for literal, share in zip(exact, shares, strict=True)]
        expected = {f"{number:02}": raw for number, raw in enumerate(raws) if raw > 0}
        for _ in range(2):
            hits = made.search(" ".join(query), mode="lexical", top_k=1000)
            assert {hit.document_id: hit.raw for hit in hits} == pytest.approx(expected, abs=1e-9)
            with lease(made.catalog, "c") as held:
                optimize(made.store, held, lambda seconds: None)
