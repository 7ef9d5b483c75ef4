"""``weighting: importance``: queries whose words count by their importance, in every service that searches spans."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.calibration.preview import PreviewRequest
from app.encoders.encoders import Encoders
from app.encoders.facets import Facets
from app.search.mode import load_modes
from app.search.types import WEIGHTING_MODES, Explanation, HybridExplanation, SearchRequest, Weighting
from app.texts.span_answers import SpansRequest
from app.texts.spans import SpanService
from indexer.engine.scan import ScanEngine
from models.encoders.base import tokenize_units
from models.encoders.facets.weighting import importance_of_units
from models.encoders.hashing import HashingEncoder
from models.encoders.registry import EncoderOptions
from models.errors import BackboneMissing, InvalidInput
from models.ops.pooling import pool
from models.text.tokens import unit_shares
from models.text.units import split
from tests.workspace import Workspace, document

QUERY = "😀 Reset the router, the naïve router!"
TEXTS = ("Please reset it.", "The router is in the hall, and the hall is dark.", "A naïve question about the router.")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("weighting"), words=True) as made:
        made.index([document(str(number), text) for number, text in enumerate(TEXTS)])
        yield made


def _request(weighting: Weighting) -> SearchRequest:
    return SearchRequest("c", text=QUERY, weighting=weighting, threshold=0)


def weighted_vector(query: str) -> tuple[float, ...]:
    """The sum of the vectors of the query's units, each times its weight."""
    encoder = HashingEncoder()
    (units,) = tokenize_units(encoder, [query])
    (tokens,) = encoder.forward_query([units.tokens.ids])
    vectors = pool(tokens, *unit_shares(units, 0, len(units)))
    weights = importance_of_units(Facets().sentences, query, units.spans)
    total = np.zeros(vectors.shape[1])
    for weight, vector in zip(weights, vectors, strict=True):
        total += weight * vector
    return tuple(total.tolist())


def test_hits_are_those_of_the_weighted_vector(workspace: Workspace) -> None:
    options = {"top_k": 50, "threshold": 0.0, "ranking": "cosine"}
    hits = workspace.search(QUERY, weighting="importance", **options)
    expected = workspace.search(vector=weighted_vector(QUERY), **options)
    assert [(hit.document_id, hit.start, hit.end) for hit in hits] == [
        (hit.document_id, hit.start, hit.end) for hit in expected
    ]
    assert [hit.raw for hit in hits] == pytest.approx([hit.raw for hit in expected], abs=1e-6)
    assert [hit.raw for hit in hits] != [hit.raw for hit in workspace.search(QUERY, **options)]


@pytest.mark.parametrize("mode", WEIGHTING_MODES)
@pytest.mark.parametrize("unit", ["codepoint", "utf16", "byte"])
def test_explanations_have_the_weights_of_the_words(workspace: Workspace, mode: str, unit: str) -> None:
    first, *_ = workspace.search(QUERY, mode=mode, weighting="importance", explain=True, threshold=0, offset_unit=unit)
    assert isinstance(first.explanation, Explanation | HybridExplanation)
    words = first.explanation.query
    assert words is not None
    assert [word.text for word in words] == [QUERY[start:end] for start, end in split(QUERY).tolist()]
    encoding, size = {"codepoint": ("utf-32-le", 4), "utf16": ("utf-16-le", 2), "byte": ("utf-8", 1)}[unit]
    whole = QUERY.encode(encoding)
    assert [whole[size * word.start : size * word.end].decode(encoding) for word in words] == [w.text for w in words]
    weights = {word.text: word.weight for word in words}
    assert weights["the"] < weights["router"]
    assert weights["😀"] == weights[","] == 1
    (plain, *_) = workspace.search(QUERY, mode=mode, explain=True, threshold=0)
    assert isinstance(plain.explanation, Explanation | HybridExplanation)
    assert plain.explanation.query is None


def test_a_batch_mixes_weightings(workspace: Workspace) -> None:
    alone = [workspace.search(QUERY, weighting=weighting, threshold=0) for weighting in ("uniform", "importance")]
    encoded = workspace.service.encode(
        [workspace.service.prepare(_request(weighting)) for weighting in ("uniform", "importance")]
    )
    answers = [
        workspace.service.finish(one, results).hits
        for one, results in zip(encoded, workspace.service.scan(encoded), strict=True)
    ]
    assert [[hit.raw for hit in hits] for hits in answers] == [
        pytest.approx([hit.raw for hit in hits], abs=1e-6) for hits in alone
    ]


def test_previews_count_what_weighted_searches_find(workspace: Workspace) -> None:
    hits = workspace.search(QUERY, weighting="importance", threshold=0, group_by="document")
    raws = [hit.raw for hit in hits]
    assert len(set(raws)) > 1
    for raw in set(raws):
        request = PreviewRequest("c", (QUERY,), threshold=raw, weighting="importance")
        (phrase,) = workspace.thresholds.preview(request).phrases
        above = sorted(each for each in raws if each >= raw)
        assert phrase.documents == len(above)
        assert [example.raw for example in phrase.above] == pytest.approx(above)


def test_spans_of_texts_are_those_of_a_collection(workspace: Workspace) -> None:
    encoders = Encoders.of({"hashing": workspace.encoder})
    service = SpanService(encoders, "hashing", load_modes(encoders, ScanEngine())["best_span"])
    texts = tuple(document(str(number), text) for number, text in enumerate(TEXTS))
    answer = service.find(SpansRequest(weighting="importance", explain=True, phrases=(QUERY,), texts=texts, limit=1))
    best = {hit.document_id: hit for text in answer.results for hit in text.hits}
    for hit in workspace.search(QUERY, weighting="importance", threshold=0, group_by="document"):
        assert best[hit.document_id].raw == pytest.approx(hit.raw, abs=1e-6)
    assert isinstance(best["0"].explanation, Explanation)
    assert best["0"].explanation.query


@pytest.mark.parametrize("options", [{"text": QUERY, "mode": "lexical"}, {"vector": (1.0,) * 64}])
def test_what_has_no_words_to_weigh_is_refused(workspace: Workspace, options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as refused:
        workspace.search(weighting="importance", **options)
    assert refused.value.field == "weighting"


def test_a_folder_without_facets_is_named(workspace: Workspace, tmp_path: Path) -> None:
    encoders = Encoders(EncoderOptions(), facet_weights=tmp_path)
    mode = load_modes(encoders, ScanEngine())["best_span"]
    snapshot = workspace.store.snapshot("c")
    with pytest.raises(BackboneMissing, match="facets-k10") as missing:
        mode.read(_request("importance"), snapshot.recipe)
    assert "SPANSEEK_FACET_WEIGHTS" in missing.value.hint
    mode.read(_request("uniform"), snapshot.recipe)
