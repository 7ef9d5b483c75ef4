"""The span score in searches: terms that add up, the literal cosine beside it, and calibrations that belong to one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.requests import SearchRequest
from app.search.answers import Hit
from app.search.modes.best_span import Explanation
from app.search.service import SearchService
from indexer.catalog.calibrations import add_calibration, deactivate_calibration
from indexer.errors import CalibrationMismatch
from indexer.tuning import CalibrationDraft
from models.artifacts import SHIPPED
from models.encoders.base import encode_queries
from models.encoders.span_scores import FILE, read_span_score
from models.errors import BackboneMismatch, InvalidInput
from models.ops.span_score import COSINE, SpanScore
from tests.workspace import Workspace, document

SCORE = SpanScore(0.4, (-0.06, -0.03, 0, 0, 0, 0), (-0.05, -0.02, 0, 0, 0, 0))
DOCUMENTS = [
    document("a", "please cancel my plan , thanks"),
    document("b", "cancel", "my plan is late . cancel the plan"),
    document("c", "nothing of the kind"),
]
PHRASE = "cancel my plan"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("scored"), span_score=SCORE) as made:
        made.index(DOCUMENTS)
        yield made


@pytest.fixture(scope="module")
def literal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("literal")) as made:
        made.index(DOCUMENTS)
        yield made


def places(hits: tuple[Hit, ...]) -> list[Any]:
    return [(hit.document_id, hit.start, hit.end, hit.raw) for hit in hits]


def explained(hit: Hit) -> Explanation:
    assert isinstance(hit.explanation, Explanation)
    return hit.explanation


def test_an_explanation_adds_up(workspace: Workspace) -> None:
    hits = workspace.search(PHRASE, top_k=100, explain=True)
    assert len(hits) > 5
    for hit in hits:
        parts = explained(hit)
        assert sum(unit.contribution for unit in parts.units) == pytest.approx(parts.cosine, abs=1e-4)
        total = parts.cosine + parts.length + parts.borders
        assert hit.raw == pytest.approx(max(0.0, (1 + total) / 2), abs=1e-4)
        assert parts.length == pytest.approx(-0.4 * max(0.0, np.log(3 / len(parts.units))))
    assert len({round(explained(hit).length, 3) for hit in hits}) >= 2


def test_a_single_word_no_longer_outdoes_the_phrase(workspace: Workspace, literal: Workspace) -> None:
    cosines = {hit.text: hit.raw for hit in literal.search(PHRASE, top_k=100)}
    scores = {hit.text: hit.raw for hit in workspace.search(PHRASE, top_k=100)}
    assert cosines["cancel"] > 0.75
    assert scores["cancel"] < cosines["cancel"] - 0.2


@pytest.mark.parametrize("threshold", [None, 0.0, 0.7])
def test_the_cosine_is_that_of_the_paper(workspace: Workspace, literal: Workspace, threshold: float | None) -> None:
    found = workspace.search(PHRASE, top_k=100, ranking="cosine", threshold=threshold)
    assert places(found) == places(literal.search(PHRASE, top_k=100, threshold=threshold))
    both = [SearchRequest("c", text=PHRASE, ranking=ranking) for ranking in ("cosine", "span_score")]
    together = [answer.hits for answer in workspace.service.search(*both)]
    assert places(together[0]) == places(literal.search(PHRASE))
    assert places(together[1]) == places(workspace.search(PHRASE))


def test_raw_ends_at_zero_and_loses_nobody(tmp_path: Path) -> None:
    """Scores may lie below -1: their raws are 0, a threshold of 0 takes them all, and their order is kept."""
    with Workspace(tmp_path, span_score=SpanScore(5.0, (-0.5, 0, 0, 0, 0, 0))) as made:
        made.index(DOCUMENTS)
        hits = made.search(PHRASE, top_k=100, explain=True)
        assert sum(hit.raw == 0.0 for hit in hits) > 2
        assert made.search(PHRASE, top_k=100, threshold=0.0, explain=True) == hits
        totals = [explained(hit).cosine + explained(hit).length + explained(hit).borders for hit in hits]
        assert totals == sorted(totals, reverse=True)
        assert min(totals) < -2


def vector_hits(service: SearchService, units: int | None) -> tuple[Hit, ...]:
    (vector,) = encode_queries(service.modes["best_span"]._encoders.load("hashing"), [PHRASE])
    request = SearchRequest("c", vector=tuple(vector.tolist()), top_k=100, query_units=units)
    return service.search(request)[0].hits


def test_a_vector_may_say_how_long_its_text_is(workspace: Workspace) -> None:
    hits, texts = vector_hits(workspace.service, 3), workspace.search(PHRASE, top_k=100)
    assert [place[:3] for place in places(hits)] == [place[:3] for place in places(texts)]
    np.testing.assert_allclose([hit.raw for hit in hits], [hit.raw for hit in texts], atol=1e-6)
    assert vector_hits(workspace.service, None)[0].raw > vector_hits(workspace.service, 200)[0].raw + 0.2
    with pytest.raises(InvalidInput) as refused:
        workspace.search(PHRASE, query_units=3)
    assert refused.value.field == "query_units"


def test_a_calibration_belongs_to_its_score(workspace: Workspace) -> None:
    recipe = workspace.catalog.collection("c").recipe
    knots = ((0.0, 0.0), (0.5, 0.1), (1.0, 1.0))
    of_cosine = CalibrationDraft("best_span", recipe.fingerprint, recipe.bounds, knots, "isotonic", 20)
    with pytest.raises(CalibrationMismatch):
        workspace.thresholds.adopt("c", of_cosine, activate=True)
    id = add_calibration(workspace.catalog, "c", of_cosine, activate=True).id
    try:
        requests = [SearchRequest("c", text=PHRASE, ranking=ranking) for ranking in ("cosine", "span_score")]
        cosine, score = workspace.service.search(*requests)
        assert cosine.threshold.calibration == id
        assert cosine.hits[-1].score < cosine.hits[-1].raw
        assert score.threshold.calibration is None
        assert all(hit.score == hit.raw for hit in score.hits)
    finally:
        deactivate_calibration(workspace.catalog, "c", id)


def test_parameters_lie_beside_the_weights(tmp_path: Path) -> None:
    assert read_span_score(tmp_path, "e1") is COSINE
    entry = {"discount": 0.25, "start": [-0.5, 0, 0, 0, 0, 0], "end": [0, -0.125, 0, 0, 0, 0]}
    (tmp_path / FILE).write_text(json.dumps({"e1": entry}), "utf-8")
    score = read_span_score(tmp_path, "e1")
    assert score == SpanScore(0.25, (-0.5, 0, 0, 0, 0, 0), (0, -0.125, 0, 0, 0, 0))
    assert score.fingerprint.startswith("span.v1-")
    assert read_span_score(tmp_path, "e2") is COSINE
    for wrong in ({"e1": {"discount": -1}}, {"e1": entry | {"end": [0.1] * 6}}, {"e1": 3}, [], "{"):
        (tmp_path / FILE).write_text(wrong if isinstance(wrong, str) else json.dumps(wrong), "utf-8")
        with pytest.raises(BackboneMismatch, match="is not a span score") as refused:
            read_span_score(tmp_path, "e1")
        assert refused.value.hint


def test_the_shipped_parameters_can_be_read() -> None:
    for folder in SHIPPED.iterdir():
        if (folder / FILE).is_file():
            assert all(not read_span_score(folder, name).is_cosine for name in json.loads((folder / FILE).read_text()))
