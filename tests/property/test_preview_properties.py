"""A preview is what searching with that threshold, and counting, would tell."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.calibration.preview import STEPS, preview
from app.requests import PreviewRequest, SearchRequest
from app.search.answers import Hit
from indexer.catalog.calibrations import add_calibration, deactivate_calibration
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.engine.query import Filter
from indexer.errors import PhraseNotFound
from indexer.phrases import PhraseDraft
from indexer.tuning import CalibrationDraft
from models.errors import InvalidInput
from models.ops.span_score import SpanScore
from models.types import Document, Part, SpanBounds
from tests.examples import examples
from tests.strategies import knots
from tests.workspace import Workspace

WORDS = ["parcel", "late", "cancel", "my", "plan", "please", "😀"]
FILTERS = [Filter(), Filter({"kind": 1}), Filter({}, {"speaker": "agent"})]
EVERYTHING = 10**9
SCORE = SpanScore(0.15, (-0.06, -0.03, 0, 0, 0, 0), (-0.05, -0.02, 0, 0, 0, 0))


def documents() -> Iterator[Document]:
    """A few dozen that say much the same, so that scores tie and spans overlap."""
    for number in range(40):
        words = [WORDS[(number * step + step * step) % 7] for step in range(number % 9)]
        parts = Part(" ".join(words), {"speaker": ["agent", "customer"][number % 2]}), Part(WORDS[number % 7])
        yield Document(f"d{number:02d}", parts, {"kind": number % 3})


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("preview"), span_score=SCORE) as made:
        made.index(documents(), bounds=SpanBounds(1, 4), segment_units=60)
        with lease(made.catalog, "c") as held:
            remove(made.catalog, held, ["d07", "d08"])
        yield made


def calibrated(workspace: Workspace, drawn: Any, ranking: str) -> str:
    recipe = workspace.catalog.collection("c").recipe
    fingerprint = recipe.fingerprint if ranking == "cosine" else SCORE.fingerprint_of(recipe.fingerprint)
    points = tuple((float(raw), float(score)) for raw, score in drawn)
    draft = CalibrationDraft("best_span", fingerprint, recipe.bounds, points, "isotonic", 20)
    return add_calibration(workspace.catalog, "c", draft, fingerprint=fingerprint, activate=True).id


phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
scales = st.sampled_from(["score", "raw"])
rankings = st.sampled_from(["span_score", "span_score", "cosine"])


@settings(max_examples=examples(25))
@given(knots, phrases, st.floats(0, 1), st.floats(0, 1), scales, st.sampled_from(FILTERS), st.integers(0, 40), rankings)
def test_it_counts_what_searches_find(workspace, drawn, phrase, threshold, under, on, wanted, place, ranking) -> None:
    made = calibrated(workspace, drawn, ranking)
    try:

        def search(value: float, scale: str, group_by: str) -> list[Hit]:
            asked = {"threshold": value, "threshold_on": scale, "group_by": group_by, "filter": wanted}
            asked["ranking"] = ranking
            (answer,) = workspace.service.search(SearchRequest("c", text=phrase, top_k=EVERYTHING, **asked))
            return list(answer.hits)

        everything = search(0.0, on, "document")
        if place < len(everything):  # a threshold that a document just reaches
            threshold = getattr(everything[place], on)
        floor = threshold * under
        asked = PreviewRequest(
            "c",
            phrases=(phrase,),
            threshold=threshold,
            threshold_on=on,
            floor=floor,
            filter=wanted,
            examples=3,
            ranking=ranking,
        )
        found = preview(workspace.service, asked)
        (told,) = found.phrases
        assert (found.threshold.value, found.threshold.on, found.threshold.calibration) == (threshold, on, made)
        assert told.with_spans == len(everything)
        assert told.documents == len(search(threshold, on, "document"))
        assert told.spans == len(search(threshold, on, "span"))
        lowest = floor if on == "score" else workspace.store.tunings.present("c", "best_span").score(floor)
        for number in range(0, len(STEPS), 20):
            step = float(STEPS[number])
            assert told.documents_above[number] == len(search(step, "score", "document"))
            assert told.spans_above[number] == (len(search(step, "score", "span")) if step >= lowest else None)
        assert sum(told.histogram) == len(everything)
        scores = [hit.score for hit in everything]
        assert told.histogram[80] == sum(STEPS[80] <= score < STEPS[81] for score in scores)
        assert told.histogram[99] == sum(STEPS[99] <= score for score in scores)
        values = [getattr(hit, on) for hit in everything]
        assert [getattr(hit, on) for hit in told.above] == sorted(value for value in values if value >= threshold)[:3]
        assert [getattr(hit, on) for hit in told.below] == sorted((v for v in values if v < threshold), reverse=True)[
            :3
        ]
        by_id = {hit.document_id: hit for hit in everything}
        for example in told.above + told.below:
            hit = by_id[example.document_id]
            assert (example.start, example.end, example.text) == (hit.start, hit.end, hit.text)
            assert (example.score, example.raw) == (hit.score, hit.raw)
    finally:
        deactivate_calibration(workspace.catalog, "c", made)


def test_without_a_threshold_documents_are_counted_and_spans_are_not(workspace) -> None:
    (told,) = preview(workspace.service, PreviewRequest("c", phrases=("my plan",))).phrases
    assert (told.documents, told.spans, told.above, told.below) == (None, None, (), ())
    assert told.documents_above[0] == told.with_spans == sum(told.histogram) > 30
    assert set(told.spans_above) == {None}


def test_the_collections_threshold_is_previewed_and_is_the_floor(tmp_path: Path) -> None:
    with Workspace(tmp_path) as made:
        made.index(documents())
        made.thresholds.set("c", "best_span", 0.8, "raw", "")
        found = preview(made.service, PreviewRequest("c", phrases=("my plan", "late parcel")))
        assert (found.threshold.source, found.threshold.value, found.floor) == ("collection", 0.8, 0.8)
        assert [told.phrase for told in found.phrases] == ["my plan", "late parcel"]
        for told in found.phrases:
            assert told.documents == told.documents_above[80] > 0
            assert told.spans == told.spans_above[80] >= told.documents
            assert told.spans_above[79] is None


def test_an_empty_collection(tmp_path: Path) -> None:
    with Workspace(tmp_path) as made:
        made.index([])
        (told,) = preview(made.service, PreviewRequest("c", phrases=("plan",), threshold=0.5)).phrases
        assert (told.with_spans, told.documents, told.spans, told.above) == (0, 0, 0, ())


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"phrases": ()}, "phrases"),
        ({"phrases": ("a",) * 101}, "phrases"),
        ({"phrases": (" ",)}, "text"),
        ({"threshold": 1.2}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"floor": -0.1}, "floor"),
        ({"floor": float("nan")}, "floor"),
        ({"mode": "maxsim"}, "mode"),
    ],
)
def test_what_cannot_be_previewed_is_refused(workspace, asked, field) -> None:
    with pytest.raises(InvalidInput) as refused:
        preview(workspace.service, PreviewRequest(**{"collection": "c", "phrases": ("plan",)} | asked))
    assert refused.value.field == field


def test_saved_phrases_are_counted_with_their_own_thresholds_and_filters(tmp_path: Path) -> None:
    with Workspace(tmp_path) as made:
        made.index(documents())
        made.thresholds.set("c", "best_span", 0.8, "raw", "")
        drafts = [
            PhraseDraft("own", "my plan", 0.9, "score", Filter({"kind": 1})),
            PhraseDraft("shared", "late parcel"),
        ]
        made.phrases.put("c", drafts)
        found = made.thresholds.preview(PreviewRequest("c", phrases=("cancel",), saved="all"))
        assert (found.threshold.source, found.floor) == ("collection", 0.8)
        told = [(each.saved, each.threshold.source, each.threshold.value, each.floor) for each in found.phrases]
        assert told == [
            (None, "collection", 0.8, 0.8),
            ("own", "phrase", 0.9, 0.9),
            ("shared", "collection", 0.8, 0.8),
        ]
        hits = made.search("my plan", threshold=0.9, filter=Filter({"kind": 1}), top_k=EVERYTHING)
        assert found.phrases[1].spans == len(hits) > 0
        one = made.thresholds.preview(PreviewRequest("c", phrases=(), threshold=0.7, saved=("own",)))
        assert (one.phrases[0].threshold.source, one.phrases[0].threshold.value) == ("request", 0.7)
        with pytest.raises(PhraseNotFound):
            made.thresholds.preview(PreviewRequest("c", phrases=(), saved=("none",)))
        made.phrases.put("c", [PhraseDraft(f"p{number}", "plan") for number in range(100)])
        with pytest.raises(InvalidInput, match="More than 100 phrases are saved"):
            made.thresholds.preview(PreviewRequest("c", phrases=(), saved="all"))
