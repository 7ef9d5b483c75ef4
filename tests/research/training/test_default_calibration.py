"""An encoder's default calibration: fitted to stored spans, kept beside the weights, and where a collection starts."""

import json
import logging
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.calibration.label_scores import label_scores
from app.calibration.labels import Label, StoredSpan
from app.calibration.preview import preview
from app.encoders.default_calibrations import default_calibration
from app.encoders.encoders import Encoders
from app.requests import PreviewRequest, SearchRequest, SpanChoice
from indexer.arrays import SpanTerms
from models.encoders.base import encode_queries
from models.encoders.calibrations import FILE, DefaultCalibration, NoMatch, read_default, write_default
from models.encoders.hashing import HashingEncoder
from models.encoders.registry import EncoderOptions
from models.errors import BackboneMismatch, InvalidInput
from models.ops.calibrate import check_knots
from models.ops.span_score import COSINE, SpanScore
from models.types import SpanBounds
from research.training.default_calibration import best_of_ranges, fit_default, graded_spans, measure_no_match, span_raws
from research.training.sources import GradedPair
from research.training.texts import Texts, index_by_word
from tests.workspace import Workspace, document

WORDS = ["parcel", "late", "cancel", "plan", "please", "bill", "wrong", "call", "money", "screen", "seat", "claim"]
KNOWN = NoMatch(SpanBounds(1, 4), (100, 1000), (0.5, 0.6), (0.6, 0.7), 10, "made up")
MADE = DefaultCalibration(((0.0, 0.0), (0.7, 0.2), (1.0, 1.0)), "isotonic", 500, 13, "made up", {"error_after": 0.1})
SHIPPED = Path(__file__).parents[3] / "models/weights/slice"


@pytest.fixture(scope="module")
def texts() -> Texts:
    """Pairs that share the more words the higher they are graded, and prose to set them into."""
    rng = random.Random(5)
    pairs = []
    for number in range(120):
        query = rng.sample(WORDS, 4)
        kept = number % 5
        pairs.append(GradedPair(" ".join(query), " ".join(query[:kept] + rng.sample(WORDS, 4 - kept)), kept / 4))
    prose = {
        "made up": [f"It was said, {' '.join(rng.sample(WORDS, 5))}. Nobody knew why. So it went." for _ in range(40)]
    }
    return Texts(prose, {}, pairs, index_by_word(prose))


def test_every_pair_is_set_into_a_context_once_and_the_same_way(texts: Texts) -> None:
    spans = graded_spans(texts, SpanBounds(), seed=13)
    assert len(spans) == len(texts.pairs)
    for span, pair in zip(spans, texts.pairs, strict=True):
        said = span.sample.phrase.of(span.sample.text).lower()
        assert {span.query.lower(), said} == {pair.query, pair.paraphrase}
        assert len(span.sample.text) > len(said)
    assert spans == graded_spans(texts, SpanBounds(), seed=13) != graded_spans(texts, SpanBounds(), seed=14)
    assert graded_spans(texts, SpanBounds(1, 3), seed=13) == []


@pytest.mark.parametrize("score", [COSINE, SpanScore(0.3)])
def test_a_span_is_compared_as_a_collection_stores_it(texts: Texts, tmp_path: Path, score: SpanScore) -> None:
    spans = graded_spans(texts, SpanBounds(), seed=13)[:40]
    with Workspace(tmp_path, HashingEncoder(window=512), span_score=score) as made:
        made.index([document(f"d{n}", span.sample.text) for n, span in enumerate(spans)])
        labels = [Label("l", span.query, StoredSpan(f"d{n}", span.sample.phrase), 0.0) for n, span in enumerate(spans)]
        expected = label_scores(labels, made.store.snapshot("c"), made.service.modes["best_span"])
        assert span_raws(made.encoder, spans, score) == pytest.approx(expected, abs=1e-6)


def test_the_map_follows_the_grades(texts: Texts) -> None:
    made = fit_default(HashingEncoder(), texts, seed=13)
    check_knots(made.map)
    assert made == fit_default(HashingEncoder(), texts, seed=13)
    assert (made.pairs, made.span_score) == (len(texts.pairs), "")
    assert fit_default(HashingEncoder(), texts, seed=13, score=SpanScore(0.3)).span_score == SpanScore(0.3).fingerprint
    assert made.figures["mean_absolute_error_after"] < made.figures["mean_absolute_error_before"] / 2


def test_it_is_kept_by_fingerprint(tmp_path: Path) -> None:
    write_default(tmp_path, "a", MADE)
    other = DefaultCalibration(((0.0, 0.0), (1.0, 1.0)), "logistic", 20, 1, "other", {}, KNOWN)
    write_default(tmp_path, "b", other)
    assert read_default(tmp_path, "a") == MADE
    assert read_default(tmp_path, "b") == other


def test_weights_without_one_start_from_raw_and_other_weights_are_told_of(tmp_path: Path, caplog) -> None:
    assert read_default(tmp_path, "a") is None
    assert not caplog.records
    write_default(tmp_path, "a", MADE)
    with caplog.at_level(logging.WARNING):
        assert read_default(tmp_path, "new weights") is None
    assert "made for other weights than new weights" in caplog.text


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"a": {}}', '{"a": {"knots": [[0, 0], [0, 1], [1, 1]]}}', '{"a": {"knots": 7}}']
)
def test_a_broken_file_is_an_error_and_not_another_scale(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(BackboneMismatch, match="is not a calibration"):
        read_default(tmp_path, "a")


def test_what_is_shipped_can_be_read() -> None:
    if not (SHIPPED / FILE).is_file():
        pytest.skip("no default calibration is shipped")
    for fingerprint in json.loads((SHIPPED / FILE).read_text("utf-8")):
        found = read_default(SHIPPED, fingerprint)
        check_knots(found.map)
        assert found.pairs > 1000
        if found.no_match:
            assert all(b > a for a, b in pairwise(found.no_match.median))


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_more_text_never_lowers_what_no_match_scores(fewer, more) -> None:
    fewer, more = sorted((fewer, more))
    assert all(0 <= a <= b <= 1 for a, b in zip(KNOWN.at(fewer), KNOWN.at(more), strict=True))
    assert KNOWN.at(100) == pytest.approx((0.5, 0.6))
    assert KNOWN.at(1000) == pytest.approx((0.6, 0.7))


class _Known(Encoders):
    """Encoders of which the hashing one has a default calibration."""

    def default_calibration(self, name: str) -> DefaultCalibration | None:
        return MADE if name == "hashing" else None


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path) as made:
        encoders = _Known(EncoderOptions())
        recipe = made.collection("plain", SpanBounds(1, 4)).recipe
        made.catalog.create_collection("c", recipe, default_calibration(encoders, recipe))
        for name in ("c", "plain"):
            texts = [document(f"d{n}", " ".join(WORDS[n % 7 : n % 7 + 5])) for n in range(30)]
            made.index(texts, name=name, bounds=SpanBounds(1, 4))
        yield made


def test_a_collection_starts_with_it_and_the_order_is_that_of_raw(workspace: Workspace) -> None:
    (start,) = workspace.thresholds.calibrations("c")
    recipe = workspace.catalog.collection("c").recipe
    assert start.fingerprint == recipe.fingerprint
    assert (start.active, start.knots, start.labels, start.mode) == (True, MADE.knots, MADE.pairs, "best_span")
    mine, plain = (
        workspace.service.search(SearchRequest(name, text="late plan", top_k=100))[0] for name in ("c", "plain")
    )
    assert mine.threshold.calibration == start.id
    assert [(hit.document_id, hit.start, hit.raw) for hit in mine.hits] == [
        (hit.document_id, hit.start, hit.raw) for hit in plain.hits
    ]
    assert [hit.score for hit in plain.hits] == [hit.raw for hit in plain.hits]
    assert all(hit.score < hit.raw for hit in mine.hits if 0 < hit.raw < 0.999)


def test_an_old_collection_keeps_its_scale_and_any_may_go_back_to_raw(workspace: Workspace) -> None:
    recipe = workspace.catalog.collection("plain").recipe
    again = workspace.catalog.create_collection("plain", recipe, default_calibration(_Known(EncoderOptions()), recipe))
    assert again.name == "plain"
    assert workspace.thresholds.calibrations("plain") == ()
    (start,) = workspace.thresholds.calibrations("c")
    workspace.thresholds.deactivate("c", start.id)
    hits = workspace.search("late plan")
    assert [hit.score for hit in hits] == [hit.raw for hit in hits]


def test_an_encoder_without_weights_has_no_default() -> None:
    assert Encoders(EncoderOptions()).default_calibration("hashing") is None


def test_a_preview_says_what_no_match_looks_like(workspace: Workspace) -> None:
    told = preview(workspace.service, PreviewRequest("c", phrases=("late plan",)), unrelated=KNOWN).no_match
    assert told.units == workspace.store.snapshot("c").units == 150
    assert (told.median_raw, told.high_raw) == KNOWN.at(150)
    tuning = workspace.store.tunings.present("c", "best_span")
    assert (told.median, told.high) == (tuning.score(told.median_raw), tuning.score(told.high_raw))
    elsewhere = NoMatch(SpanBounds(1, 20), KNOWN.units, KNOWN.median, KNOWN.high, 10, "made up")
    assert preview(workspace.service, PreviewRequest("c", phrases=("late plan",)), unrelated=elsewhere).no_match is None
    assert preview(workspace.service, PreviewRequest("c", phrases=("late plan",))).no_match is None
    for spans in (SpanChoice(max_units=2), SpanChoice(boundaries="sentence")):
        asked = PreviewRequest("c", phrases=("late plan",), spans=spans)
        assert preview(workspace.service, asked, unrelated=KNOWN).no_match is None


def test_growth_is_that_of_the_best_spans(workspace: Workspace) -> None:
    snapshot = workspace.store.snapshot("c")
    (query,) = encode_queries(workspace.encoder, ["late money"])
    best = best_of_ranges(snapshot, query, [5, 150])
    terms = SpanTerms.of(SpanScore(0.2), np.array([2]))
    assert best[150][0] - 0.15 < best_of_ranges(snapshot, query, [150], terms)[150][0] <= best[150][0]
    (top,) = workspace.search("late money", top_k=1)
    assert best[150] == pytest.approx([2 * top.raw - 1], abs=0.004)
    assert len(best[5]) == 30
    assert best[5].max() == best[150][0]
    found = measure_no_match({"c": snapshot}, workspace.encoder, ["late money", "seat", "claim"], (5, 50, 150, 10**6))
    assert (found.units, found.phrases, found.bounds) == ((5, 50, 150), 3, SpanBounds(1, 4))
    assert all(np.diff(found.median) >= 0)
    assert all(high >= median for median, high in zip(found.median, found.high, strict=True))
    with pytest.raises(InvalidInput, match="too small"):
        measure_no_match({"c": snapshot}, workspace.encoder, ["late money"], (5, 10**6))
