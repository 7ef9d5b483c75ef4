"""Mode maxsim: documents found by their nuggets, what is said of them, and what is refused."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.calibration.labels import Label, LabelsRefused, StoredSpan
from app.calibration.service import CalibrationRequest
from app.encoders.encoders import Encoders
from app.requests import PreviewRequest, SearchRequest
from app.search.answers import Hit
from app.search.errors import ModeUnavailable
from app.search.mode import load_modes
from app.search.modes.maxsim.hits import PairedExplanation
from app.search.modes.maxsim.nugget_queries import encode_nugget_queries
from app.search.service import SearchService
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.engine.query import Filter
from indexer.errors import RecipeMismatch
from indexer.indexing.maintenance import optimize
from indexer.nuggets.recipe import NuggetRecipe, with_nuggets
from indexer.nuggets.representation import stored_nuggets
from indexer.types import Recipe
from models.encoders.nuggets.forward_pass import NuggetPass
from models.encoders.registry import load_nuggets
from models.errors import InvalidInput
from models.ops.quantization import dequantize
from models.types import CharSpan, Document, Part
from tests import reference
from tests.workspace import Workspace, document

DOCUMENTS = [
    Document(
        "call-1",
        (
            Part("I want to cancel my subscription 😀 right now", {"speaker": "customer"}),
            Part("may I ask why you want to leave us", {"speaker": "agent"}),
        ),
        {"lang": "en"},
    ),
    Document("call-2", (Part("my parcel never came and nobody answers the telephone"),), {"lang": "de"}),
    Document("call-3", (Part("how do I change the address of my contract, please?"),), {"lang": "de"}),
    Document("empty", (Part(" "),), {"lang": "en"}),
]


def nuggets_of(workspace: Workspace) -> NuggetPass:
    return NuggetPass(load_nuggets("hashing", base=workspace.encoder), workspace.options.nugget_ratio)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("maxsim"), nugget_ratio=0.3) as made:
        made.index(DOCUMENTS[:2])
        made.index(DOCUMENTS[2:])
        yield made


def documents(workspace: Workspace, text: str = "cancel my subscription", **options: Any) -> tuple[Hit, ...]:
    return workspace.search(text, mode="maxsim", **options)


def test_hits_are_whole_documents_best_first(workspace: Workspace) -> None:
    hits = documents(workspace, DOCUMENTS[1].text)
    assert hits[0].document_id == "call-2"
    assert {hit.document_id for hit in hits} == {"call-1", "call-2", "call-3"}
    for number, hit in enumerate(hits, 1):
        (source,) = [each for each in DOCUMENTS if each.id == hit.document_id]
        assert (hit.start, hit.end, hit.text) == (0, len(source.text), source.text)
        assert (hit.mode, hit.rank, hit.metadata) == ("maxsim", number, source.metadata)
        assert (hit.part_metadata, hit.context, hit.explanation) == (None, None, None)
    assert [hit.raw for hit in hits] == sorted((hit.raw for hit in hits), reverse=True)
    assert hits[0].raw > 0.99


def test_raw_is_that_of_the_oracle(workspace: Workspace) -> None:
    text = "I want to change my address, where is my parcel?"
    (query,) = encode_nugget_queries(nuggets_of(workspace), [text])
    assert len(query.vectors) > 1
    for hit in documents(workspace, text):
        stored = [
            dequantize(stored_nuggets(view.segment).codes[a:b], stored_nuggets(view.segment).scales[a:b])
            for view in workspace.store.snapshot("c").views
            for number in range(view.segment.manifest.documents)
            if view.segment.document_id(number) == hit.document_id
            for a, b in [stored_nuggets(view.segment).document_bounds(view.segment.document_units)[number : number + 2]]
        ]
        score, _ = reference.maxsim(query.vectors, stored[0])
        assert 2 * hit.raw - 1 == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("unit", ["codepoint", "utf16", "byte"])
def test_explanations_name_the_pairs_and_add_up(workspace: Workspace, unit: str) -> None:
    text = "please 😀 cancel my subscription, nobody answers the telephone"
    for hit in documents(workspace, text, explain=True, offset_unit=unit):
        told = hit.explanation
        assert isinstance(told, PairedExplanation)
        assert told.cosine == pytest.approx(2 * hit.raw - 1, abs=1e-9)
        assert sum(pair.contribution for pair in told.pairs) == pytest.approx(told.cosine, abs=1e-9)
        asked = 0
        for pair in told.pairs:
            assert pair.contribution == pytest.approx(pair.cosine / len(told.pairs))
            assert pair.query is not None
            # Stretches of the query lie one behind the other.
            assert pair.query.start == asked
            asked = pair.query.end
            assert cut(text, pair.query.start, pair.query.end, unit) == pair.query.text
            for place in (pair.nugget, pair.segment_text):
                assert cut(hit.text, place.start, place.end, unit) == place.text
            assert pair.nugget.end == pair.segment_text.end
            assert pair.segment_text.start <= pair.nugget.start
            assert "\n" not in pair.segment_text.text  # no stretch crosses parts


def test_the_best_sentence_is_that_of_loops(tmp_path: Path) -> None:
    with Workspace(tmp_path, nugget_ratio=0.4) as made:
        asked = "Nobody answers the telephone all day."
        made.index([document("a", f"Please cancel my subscription now. {asked}", "The telephone is answered by day.")])
        (hit,) = documents(made, asked, explain=True)
        assert isinstance(hit.explanation, PairedExplanation)
        best = hit.explanation.best_sentence
        assert best is not None
        assert best.text == hit.text[best.start : best.end] == asked
        assert best.cosine <= hit.explanation.cosine + 1e-6  # sums of float32
        (view,) = made.store.snapshot("c").views
        stored = stored_nuggets(view.segment)
        (query,) = encode_nugget_queries(nuggets_of(made), [asked])
        vectors = dequantize(stored.codes, stored.scales)
        bounds = view.segment.whole_spans["sentence"].tolist()
        naive = [
            reference.maxsim(query.vectors, vectors[inside])[0]
            for start, end in pairwise(bounds)
            if (inside := (stored.units >= start) & (stored.units < end)).any()
        ]
        assert len(naive) == 3
        assert best.cosine == pytest.approx(max(naive), abs=1e-6)


def cut(text: str, start: int, end: int, unit: str) -> str:
    if unit == "codepoint":
        return text[start:end]
    encoding, width = ("utf-8", 1) if unit == "byte" else ("utf-16-le", 2)
    return text.encode(encoding)[start * width : end * width].decode(encoding)


def test_stretches_of_a_document_tile_it_up_to_the_last_nugget(tmp_path: Path) -> None:
    with Workspace(tmp_path, nugget_ratio=0.4) as made:
        text = "one two three four five six seven eight nine ten"
        made.index([document("a", text)])
        (hit,) = documents(made, text, explain=True)
        assert isinstance(hit.explanation, PairedExplanation)
        pairs = sorted(hit.explanation.pairs, key=lambda pair: pair.segment_text.start)
        assert len(pairs) == 4
        assert "".join(pair.segment_text.text for pair in pairs) == text[: pairs[-1].segment_text.end]
        assert all(pair.cosine == pytest.approx(1, abs=1e-3) for pair in pairs)
        assert [pair.query and pair.query.text for pair in pairs] == [pair.segment_text.text for pair in pairs]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter({"lang": "de"}), {"call-2", "call-3"}),
        (Filter({"lang": "en"}), {"call-1"}),
        (Filter(part={"speaker": "agent"}), {"call-1"}),
        (Filter({"lang": "de"}, {"speaker": "agent"}), set()),
    ],
)
def test_filters(workspace: Workspace, wanted: Filter, expected: set[str]) -> None:
    assert {hit.document_id for hit in documents(workspace, filter=wanted)} == expected


def test_a_part_filter_looks_at_the_nuggets_of_these_parts_alone(workspace: Workspace) -> None:
    (hit,) = documents(workspace, filter=Filter(part={"speaker": "agent"}), explain=True)
    assert isinstance(hit.explanation, PairedExplanation)
    start = len(DOCUMENTS[0].parts[0].text) + 1
    assert all(pair.nugget.start >= start for pair in hit.explanation.pairs)


@pytest.mark.parametrize("on", ["raw", "score"])
def test_a_threshold_holds_and_includes_its_own_value(workspace: Workspace, on: str) -> None:
    everything = documents(workspace)
    for number, hit in enumerate(everything, 1):
        assert documents(workspace, threshold=hit.raw, threshold_on=on) == everything[:number]
        assert documents(workspace, top_k=number) == everything[:number]


def test_a_query_longer_than_a_window_is_read_whole(tmp_path: Path) -> None:
    with Workspace(tmp_path, nugget_ratio=0.1) as made:
        words = [f"w{number}" for number in range(1_000)]
        made.index([document("end", " ".join(words[900:])), document("start", " ".join(words[:100]))])
        (query,) = encode_nugget_queries(nuggets_of(made), [" ".join(words)])
        assert query.parts is not None
        assert len(query.vectors) >= 100
        assert query.parts[-1].segment_span.end > len(" ".join(words[:960]))
        hits = documents(made, " ".join(words), explain=True)
        assert {hit.document_id for hit in hits} == {"start", "end"}
        assert isinstance(hits[0].explanation, PairedExplanation)
        assert len(hits[0].explanation.pairs) == len(query.vectors)


def test_windows_of_a_query_are_of_like_length(workspace: Workspace) -> None:
    """65 words and windows of 64: not one word alone, which would count as much as the 64."""
    text = " ".join(f"w{number}" for number in range(65))
    (query,) = encode_nugget_queries(nuggets_of(workspace), [text])
    assert len(query.vectors) == 10 + 10  # of 33 and of 32 words, 0.3 of each rounded up
    assert query.parts is not None
    assert CharSpan(0, query.parts[-1].segment_span.end).of(text)


@pytest.mark.parametrize(
    ("options", "field", "reason"),
    [
        ({"text": ""}, "text", "no words"),
        ({"text": " \n"}, "text", "no words"),
        ({"text": "x", "group_by": "part"}, "group_by", "cannot be grouped by part"),
        ({"text": "x", "group_by": "span"}, "group_by", "cannot be grouped by span"),
        ({"text": "x", "context": 10}, "context", "whole documents"),
        ({"text": "x", "threshold": 1.5}, "threshold", "cannot be"),
        ({"vector": (1.0,) * 63}, "vector", "63 numbers; the collection's vectors have 64"),
        ({"vector": (0.0,) * 64}, "vector", "zero"),
        ({}, "text", "either text or vector"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    workspace: Workspace, options: dict[str, Any], field: str, reason: str
) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        workspace.service.prepare(SearchRequest("c", mode="maxsim", **options))
    assert refused.value.field == field


def test_grouping_by_document_may_be_said(workspace: Workspace) -> None:
    assert documents(workspace, group_by="document") == documents(workspace)


def test_a_vector_is_one_vector_of_a_query_and_stands_for_no_text(workspace: Workspace) -> None:
    stored = stored_nuggets(workspace.store.snapshot("c").views[0].segment)
    vector = tuple(dequantize(stored.codes[:1], stored.scales[:1])[0].astype(float) * 7)
    hits = workspace.search(vector=vector, mode="maxsim", explain=True)
    assert hits[0].raw == pytest.approx(1, abs=1e-6)
    assert isinstance(hits[0].explanation, PairedExplanation)
    (pair,) = hits[0].explanation.pairs
    assert pair.query is None


def test_many_requests_of_both_modes_are_answered_as_one_by_one(workspace: Workspace) -> None:
    requests = [
        SearchRequest("c", text="cancel my subscription", mode="maxsim"),
        SearchRequest("c", text="cancel my subscription"),
        SearchRequest("c", text="where is my parcel? it never came", mode="maxsim"),
        SearchRequest("c", vector=(1.0,) * 64, mode="maxsim"),
    ]
    for request, answer in zip(requests, workspace.service.search(*requests), strict=True):
        (alone,) = workspace.service.search(request)
        assert [(hit.document_id, hit.raw) for hit in alone.hits] == [(hit.document_id, hit.raw) for hit in answer.hits]


def test_unit_vectors_and_spans_are_those_of_a_collection_without_nuggets(workspace: Workspace, tmp_path: Path) -> None:
    with Workspace(tmp_path) as plain:
        plain.index(DOCUMENTS[:2])
        plain.index(DOCUMENTS[2:])
        pairs = zip(workspace.store.snapshot("c").views, plain.store.snapshot("c").views, strict=True)
        assert all(a.segment.vectors.tobytes() == b.segment.vectors.tobytes() for a, b in pairs)
        assert plain.search("cancel my subscription") == workspace.search("cancel my subscription")
        with pytest.raises(ModeUnavailable) as refused:
            documents(plain)
        assert "--nugget-ratio" in refused.value.hint
        assert refused.value.field == "mode"


def test_the_deleted_and_the_merged(tmp_path: Path) -> None:
    with Workspace(tmp_path, nugget_ratio=0.3) as made:
        for each in DOCUMENTS:
            made.index([each])
        before = {hit.document_id: hit.raw for hit in documents(made)}
        with lease(made.catalog, "c") as held:
            remove(made.catalog, held, ["call-2"])
            assert {hit.document_id: hit.raw for hit in documents(made)} == {
                id: raw for id, raw in before.items() if id != "call-2"
            }
            optimize(made.store, held)
        assert len(made.live()) == 1
        assert {hit.document_id: hit.raw for hit in documents(made)} == {
            id: raw for id, raw in before.items() if id != "call-2"
        }


def test_other_nugget_weights_than_the_collections(workspace: Workspace) -> None:
    recipe = with_nuggets(Recipe("hashing", workspace.encoder.fingerprint, 64), NuggetRecipe("others", 64, 0.3))
    workspace.catalog.create_collection("other", recipe)
    with pytest.raises(RecipeMismatch, match="nuggets are of others"):
        workspace.search("x", collection="other", mode="maxsim")
    assert workspace.search("x", collection="other") == ()
    assert workspace.encoder is not None
    service = SearchService(workspace.store, load_modes(Encoders.of({"hashing": workspace.encoder})))
    assert service.search(SearchRequest("c", text="x", mode="maxsim"))[0].hits


def test_thresholds_and_calibrations_are_the_modes_own(tmp_path: Path) -> None:
    with Workspace(tmp_path, nugget_ratio=0.5) as made:
        made.index(DOCUMENTS)
        assert {"best_span", "maxsim"} <= {each.mode for each in made.thresholds.thresholds("c")}
        made.thresholds.set("c", "maxsim", 0.99, "raw", "")
        assert documents(made, "unheard of") == ()
        assert made.search("unheard of")
        labels = [
            Label(
                f"labels[{n}]",
                f"word{n} and more",
                f"word{n if n % 2 else n + 50} and {'more' if n % 2 else n}",
                5.0 * (n % 2),
            )
            for n in range(24)
        ]
        kept, report = made.thresholds.calibrate("c", CalibrationRequest(labels, "maxsim", activate=True))
        assert (kept.mode, report.labels) == ("maxsim", 24)
        assert kept.fingerprint.endswith("@0.5")
        (answer,) = made.service.search(SearchRequest("c", text="my parcel", mode="maxsim", threshold=0.0))
        assert answer.threshold.calibration == kept.id
        assert any(hit.score != hit.raw for hit in answer.hits)
        (spans,) = made.service.search(SearchRequest("c", text="my parcel", threshold=0.0))
        assert spans.threshold.calibration is None
        span = Label("labels[0]", "a", StoredSpan("call-1", CharSpan(0, 4)), 5.0)
        with pytest.raises(LabelsRefused, match="not spans"):
            made.thresholds.calibrate("c", CalibrationRequest([span, *labels], "maxsim"))


def test_previews_count_what_searches_find(workspace: Workspace) -> None:
    everything = documents(workspace)
    for hit in everything:
        request = PreviewRequest("c", phrases=("cancel my subscription",), mode="maxsim", threshold=hit.raw, examples=2)
        found = workspace.thresholds.preview(request)
        (phrase,) = found.phrases
        assert phrase.documents == len(documents(workspace, threshold=hit.raw))
        assert (phrase.with_spans, phrase.spans, phrase.spans_above) == (3, None, (None,) * 101)
        assert phrase.above[0].document_id == hit.document_id
        assert phrase.above[0].text == hit.text
        np.testing.assert_allclose(phrase.above[0].raw, hit.raw)
