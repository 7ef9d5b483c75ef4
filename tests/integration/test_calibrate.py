"""Calibrations from labels of a collection: learned, kept, applied, or refused with nothing kept."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.calibration.label_scores import label_scores
from app.calibration.labels import Label, LabelsRefused, StoredSpan
from app.calibration.metrics import ThresholdTargets
from app.calibration.service import CalibrationRequest, ThresholdService
from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search.errors import ModeUnavailable
from app.search.mode import load_modes
from app.search.service import SearchService
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.errors import CalibrationNotFound, CollectionNotFound, RecipeMismatch
from models.encoders.base import encode_queries
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.types import CharSpan, Document, Part, SpanBounds
from tests.examples import examples
from tests.workspace import Workspace, document

PHRASES = ["cancel my plan", "late parcel today", "please call me back", "wrong bill amount", "thank you very much"]
WORDS = ["one", "two", "three", "four", "five", "six", "seven"]
ALL = 10**6


def texts(phrase: str) -> Iterator[tuple[str, bool]]:
    """Texts that hold more and less of a phrase's words: the first few mean the same."""
    words = phrase.split()
    yield phrase, True
    yield phrase.upper(), True
    for other in WORDS[:4]:
        yield f"{phrase} {other}", True
        yield f"{words[0]} {other} {other} {words[1]} {other}", False
        yield f"{words[0]} {other} {WORDS[-1]}", False


def labels() -> list[Label]:
    found = [(phrase, text, match) for phrase in PHRASES for text, match in texts(phrase)]
    return [Label(f"l:{n}", phrase, text, 5.0 if match else 0.0) for n, (phrase, text, match) in enumerate(found, 1)]


@pytest.fixture
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("calibrate")) as made:
        made.index(
            [
                document("a", "😀 please cancel my plan now", "thank you all very much"),
                document("b", "where is my parcel, it is late today"),
                document("gone", "cancel my plan"),
            ],
            bounds=SpanBounds(1, 4),
            segment_units=8,
        )
        with lease(made.catalog, "c") as held:
            remove(made.catalog, held, ["gone"])
        yield made


def calibrate(workspace: Workspace, asked: list[Label], **options: Any) -> Any:
    return workspace.thresholds.calibrate("c", CalibrationRequest(asked, **options))


def stored(phrase: str, id: str, start: int, end: int, degree: float = 5.0) -> Label:
    return Label("l:99", phrase, StoredSpan(id, CharSpan(start, end)), degree)


def test_scores_say_what_people_said(workspace: Workspace) -> None:
    made, report = calibrate(workspace, labels(), note="by hand", activate=True)
    assert (report.labels, report.matches) == (len(labels()), 30)
    assert report.error_after < report.error_before / 2
    assert (made.active, made.note, made.labels, made.method) == (True, "by hand", len(labels()), report.method)
    assert workspace.thresholds.calibrations("c") == (made,)
    (answer,) = workspace.service.search(SearchRequest("c", text="cancel my plan", top_k=ALL))
    assert answer.threshold.calibration == made.id
    assert answer.hits[0].raw == pytest.approx(1, abs=1e-4)
    assert answer.hits[0].score > 0.8
    assert min(hit.score for hit in answer.hits if hit.raw < 0.75) < 0.2


def test_suggested_thresholds_keep_their_promises(workspace: Workspace) -> None:
    made, report = calibrate(workspace, labels(), targets=ThresholdTargets(precision=0.95, recall=0.8))
    precise, complete, best = report.suggested
    assert (precise.wish, complete.wish, best.wish) == ("precision 0.95", "recall 0.8", "best F1")
    assert precise.threshold.precision.value >= 0.95
    assert complete.threshold.recall.value >= 0.8
    assert best.threshold.f1.value == max(at.f1.value for at in report.thresholds)
    assert all(b.raw > a.raw and b.score > a.score for a, b in pairwise(report.thresholds))
    raws = _raws(workspace, labels())
    for at in report.thresholds:
        assert at.found == int((raws >= at.raw).sum())
    assert made.figures["suggested"][0]["threshold"]["raw"] == precise.threshold.raw


def _raws(workspace: Workspace, asked: list[Label]) -> np.ndarray:
    return label_scores(asked, workspace.store.snapshot("c"), workspace.service.modes["best_span"])


def test_few_labels_are_warned_of_and_many_are_not(workspace: Workspace) -> None:
    few, many = calibrate(workspace, labels()[:28])[1], calibrate(workspace, _many())[1]
    assert any("only" in warning and "matches" in warning for warning in few.warnings)
    assert not any("There are only" in warning for warning in many.warnings)
    impossible = calibrate(workspace, _many(), targets=ThresholdTargets(precision=1.0))[1]
    assert impossible.suggested[0].threshold is None
    assert "No threshold has precision 1 on these labels." in impossible.warnings


def _many() -> list[Label]:
    """Every phrase with more texts, and one that is the same and yet no match."""
    more = [
        Label(f"m:{n}", phrase, f"{phrase} {one} {two}" if match else f"{one} {two} {n}", 5.0 if match else 0.0)
        for n, (phrase, one, two, match) in enumerate(
            (phrase, one, two, match) for phrase in PHRASES for one in WORDS for two in WORDS for match in (True, False)
        )
    ]
    return [*more, Label("odd", PHRASES[0], "plan my cancel", 0.0)]


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(PHRASES), st.integers(0, 10**6))
def test_a_stored_span_is_scored_as_a_search_shows_it(workspace: Workspace, phrase: str, number: int) -> None:
    (answer,) = workspace.service.search(SearchRequest("c", text=phrase, top_k=ALL))
    hit = answer.hits[number % len(answer.hits)]
    (raw,) = _raws(workspace, [stored(phrase, hit.document_id, hit.start, hit.end)])
    assert raw == hit.raw


def test_offsets_inside_units_take_in_the_whole_units(workspace: Workspace) -> None:
    whole, inside = _raws(workspace, [stored("my plan", "a", 16, 23), stored("my plan", "a", 17, 21)])
    assert whole == inside == pytest.approx(1, abs=1e-4)


def test_a_text_is_scored_by_itself(workspace: Workspace) -> None:
    (raw,) = _raws(workspace, [Label("l", "cancel my plan", "cancel the plan", 5.0)])
    one, other = encode_queries(workspace.encoder, ["cancel my plan", "cancel the plan"])
    assert raw == pytest.approx((1 + float(one @ other)) / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (stored("p", "nobody", 0, 2), "l:99 .*has no document 'nobody'"),
        (stored("p", "gone", 0, 6), "l:99 .*has no document 'gone'"),
        (stored("p", "a", 0, 999), "l:99 .*no span of a text of 51 characters"),
        (stored("p", "a", 5, 5), "l:99 .*no span of a text"),
        (stored("p", "a", -1, 5), "l:99 .*no span of a text"),
        (stored("p", "a", 1, 2), "l:99 .*touches 0 units"),
        (stored("p", "a", 2, 25), "l:99 .*touches 5 units; the collection's spans have 1 to 4"),
        (stored("p", "a", 24, 33), "l:99 .*more than one part"),
        (Label("l:99", "p", "word " * 65, 5.0), "l:99 .*65 tokens"),
        (Label("l:99", "word " * 65, "p", 5.0), "l:99 .*65 tokens"),
        (Label("l:99", "caf\udce9", "p", 5.0), "l:99 .*cannot be encoded"),
        (Label("l:99", PHRASES[0], PHRASES[0], 0.0), "l:99 .*contradicts l:1"),
    ],
)
def test_a_label_that_does_not_fit_is_named_and_nothing_is_kept(workspace: Workspace, label, reason) -> None:
    with pytest.raises(LabelsRefused, match=reason):
        calibrate(workspace, [*labels(), label], activate=True)
    assert workspace.thresholds.calibrations("c") == ()


@pytest.mark.parametrize(
    ("asked", "options", "error"),
    [
        (labels()[:19], {}, LabelsRefused),
        ([label for label in labels() if label.is_match], {}, LabelsRefused),
        ([Label(one.where, one.phrase, one.target, 5 - one.degree) for one in labels()], {}, LabelsRefused),
        (labels(), {"note": "\0"}, InvalidInput),
        (labels(), {"mode": "maxsim"}, ModeUnavailable),
        (labels(), {"targets": ThresholdTargets(precision=0)}, InvalidInput),
        (labels(), {"targets": ThresholdTargets(recall=float("nan"))}, InvalidInput),
    ],
)
def test_what_cannot_be_learned_from_is_refused_and_nothing_is_kept(workspace, asked, options, error) -> None:
    with pytest.raises(error):
        calibrate(workspace, asked, activate=True, **options)
    assert workspace.thresholds.calibrations("c") == ()
    assert workspace.store.tunings.present("c", "best_span").calibration_id is None


def test_another_encoder_is_refused(workspace: Workspace) -> None:
    encoders = Encoders.of({"hashing": HashingEncoder(dim=32)})
    search = SearchService(workspace.store, load_modes(encoders))
    other = ThresholdService(workspace.store, search, encoders)
    with pytest.raises(RecipeMismatch):
        other.calibrate("c", CalibrationRequest(labels()))
    with pytest.raises(CollectionNotFound):
        other.calibrate("no-such", CalibrationRequest(labels()))


def test_activate_deactivate_delete(workspace: Workspace) -> None:
    thresholds = workspace.thresholds
    first, second = calibrate(workspace, labels())[0], calibrate(workspace, labels())[0]
    assert thresholds.activate("c", first.id).active
    assert [one.active for one in thresholds.calibrations("c") if one.id == first.id] == [True]
    thresholds.delete("c", second.id)
    assert not thresholds.deactivate("c", first.id).active
    thresholds.delete("c", first.id)
    assert thresholds.calibrations("c") == ()
    with pytest.raises(CalibrationNotFound):
        thresholds.activate("c", first.id)


def test_the_same_labels_give_the_same_calibration(workspace: Workspace) -> None:
    (one, first), (other, second) = calibrate(workspace, labels()), calibrate(workspace, labels()[::-1])
    assert one.knots == pytest.approx(np.array(other.knots))
    assert (first.matches, first.error_before) == (second.matches, second.error_before)
    assert calibrate(workspace, labels())[1] == first


def test_long_documents_of_many_parts_are_found(tmp_path) -> None:
    parts = tuple(Part(f"number {n} is here") for n in range(300))
    with Workspace(tmp_path) as made:
        made.index([Document("long", parts), document("other", "number 7 is here")])
        text = Document("long", parts).text
        for n in (0, 150, 299):
            start = text.index(f"number {n} is here")
            (raw,) = _raws(made, [stored(f"number {n} is here", "long", start, start + len(f"number {n} is here"))])
            assert raw == pytest.approx(1, abs=1e-4)
