"""Searches under thresholds and calibrations: which one applies, what it is told, and that the order stays."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.calibration.service import ThresholdService
from app.requests import SearchRequest
from app.search.answers import SearchAnswer, UsedThreshold
from app.search.errors import ModeUnavailable
from indexer.catalog.calibrations import activate_calibration, add_calibration, deactivate_calibration
from indexer.errors import NothingToUndo
from indexer.tuning import CalibrationDraft
from models.errors import InvalidInput
from tests.examples import examples
from tests.strategies import knots
from tests.workspace import Workspace, records

TEXTS = [
    ("a", "please cancel my subscription today"),
    ("b", "cancel the parcel and my plan"),
    ("c", "nothing of the kind, my plan is late"),
]
PHRASE = "cancel my subscription"
MODE = "best_span"


@pytest.fixture
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("tuning")) as made:
        made.index(records(TEXTS))
        yield made


@pytest.fixture
def thresholds(workspace: Workspace) -> ThresholdService:
    return workspace.thresholds


def draft(workspace: Workspace, *inner: tuple[float, float]) -> CalibrationDraft:
    recipe = workspace.catalog.collection("c").recipe
    return CalibrationDraft(MODE, recipe.fingerprint, recipe.bounds, ((0.0, 0.0), *inner, (1.0, 1.0)), "isotonic", 20)


def ask(workspace: Workspace, **options: Any) -> SearchAnswer:
    (answer,) = workspace.service.search(SearchRequest("c", text=PHRASE, **{"top_k": 1000} | options))
    return answer


def test_the_collections_threshold_applies_unless_the_request_has_one(workspace, thresholds) -> None:
    everything = ask(workspace)
    assert everything.threshold == UsedThreshold(None, "score", "none", None)
    thresholds.set("c", MODE, 0.7, "score", "")
    kept = ask(workspace)
    assert kept.threshold == UsedThreshold(0.7, "score", "collection", None)
    assert kept.hits == tuple(hit for hit in everything.hits if hit.raw >= 0.7)
    assert 0 < len(kept.hits) < len(everything.hits)
    assert ask(workspace, threshold=0.0).hits == everything.hits
    assert ask(workspace, threshold=0.9).threshold == UsedThreshold(0.9, "score", "request", None)
    thresholds.set("c", MODE, 0.8, "raw", "")
    assert ask(workspace).threshold == UsedThreshold(0.8, "raw", "collection", None)
    thresholds.undo("c", MODE, "")
    assert ask(workspace).hits == kept.hits
    thresholds.set("c", MODE, None, "score", "")
    assert ask(workspace).threshold.source == "none"


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(knots, st.floats(0, 1), st.sampled_from(["span", "part", "document"]))
def test_a_calibration_changes_scores_and_nothing_else(workspace, drawn, threshold, group_by) -> None:
    before = ask(workspace, group_by=group_by)
    inner = [(float(raw), float(score)) for raw, score in drawn[1:-1]]
    made = add_calibration(workspace.catalog, "c", draft(workspace, *inner), activate=True)
    try:
        after = ask(workspace, group_by=group_by)
        assert after.threshold.calibration == made.id
        assert [(hit.document_id, hit.start, hit.end, hit.raw) for hit in after.hits] == [
            (hit.document_id, hit.start, hit.end, hit.raw) for hit in before.hits
        ]
        scores = [hit.score for hit in after.hits]
        assert scores == sorted(scores, reverse=True)
        for value in (threshold, scores[len(scores) // 2]):
            above = ask(workspace, group_by=group_by, threshold=value)
            assert above.hits == tuple(hit for hit in after.hits if hit.score >= value)
            above = ask(workspace, group_by=group_by, threshold=value, threshold_on="raw")
            assert above.hits == tuple(hit for hit in after.hits if hit.raw >= value)
    finally:
        deactivate_calibration(workspace.catalog, "c", made.id)


def test_a_threshold_means_the_same_hits_under_every_calibration(workspace, thresholds) -> None:
    low = add_calibration(workspace.catalog, "c", draft(workspace, (0.7, 0.2)), activate=True)
    high = add_calibration(workspace.catalog, "c", draft(workspace, (0.7, 0.9)))
    thresholds.set("c", MODE, 0.2, "score", "")
    under_low = ask(workspace)
    assert under_low.threshold == UsedThreshold(0.2, "score", "collection", low.id)
    activate_calibration(workspace.catalog, "c", high.id)
    under_high = ask(workspace)
    assert under_high.threshold == UsedThreshold(pytest.approx(0.9), "score", "collection", high.id)
    assert [hit.raw for hit in under_high.hits] == [hit.raw for hit in under_low.hits]
    assert [hit.score for hit in under_high.hits] != [hit.score for hit in under_low.hits]


def test_the_hit_at_the_very_border_stays_a_hit(workspace, thresholds) -> None:
    low = add_calibration(workspace.catalog, "c", draft(workspace, (0.61, 0.13), (0.83, 0.37)), activate=True)
    everything = ask(workspace)
    for number in range(0, len(everything.hits), 3):
        thresholds.set("c", MODE, everything.hits[number].score, "score", "")
        kept = [hit.raw for hit in ask(workspace).hits]
        high = add_calibration(workspace.catalog, "c", draft(workspace, (0.7, 0.91)), activate=True)
        assert [hit.raw for hit in ask(workspace).hits] == kept
        assert kept[number] == everything.hits[number].raw
        activate_calibration(workspace.catalog, "c", low.id)
        assert ask(workspace).threshold.calibration != high.id


def test_every_answer_fits_to_one_setting(workspace, thresholds) -> None:
    """Fifty changes under eight who search; threshold, scores and calibration of an answer always belong together."""
    everything = ask(workspace)
    made = [add_calibration(workspace.catalog, "c", draft(workspace, (0.7, score))) for score in (0.2, 0.5, 0.9)]
    at_raw_7 = {made[number].id: score for number, score in enumerate((0.2, 0.5, 0.9))} | {None: 0.7}
    thresholds.set("c", MODE, 0.71, "raw", "")
    done = Event()

    def search() -> list[SearchAnswer]:
        answers = [ask(workspace)]
        while not done.is_set():
            answers.append(ask(workspace))
        return answers

    with ThreadPoolExecutor(8) as pool:
        searching = [pool.submit(search) for _ in range(8)]
        try:
            for number in range(25):
                thresholds.activate("c", made[number % 3].id)
                thresholds.set("c", MODE, (0.71, 0.8, 0.9)[number % 3], "raw", "")
        finally:
            done.set()
        answers = [answer for found in searching for answer in found.result()]
    for answer in answers:
        used, bend = answer.threshold, at_raw_7[answer.threshold.calibration]
        assert (used.value in (0.71, 0.8, 0.9), used.on, used.source) == (True, "raw", "collection")
        assert [hit.raw for hit in answer.hits] == [hit.raw for hit in everything.hits if hit.raw >= used.value]
        for hit in answer.hits:
            assert hit.score == pytest.approx(bend + (hit.raw - 0.7) / 0.3 * (1 - bend))


def test_modes_that_are_not_there(thresholds) -> None:
    for ask in (
        lambda: thresholds.set("c", "maxsim", 0.5, "score", ""),
        lambda: thresholds.undo("c", "maxsim", ""),
        lambda: thresholds.history("c", "maxsim"),
    ):
        with pytest.raises(ModeUnavailable):
            ask()
    with pytest.raises(NothingToUndo):
        thresholds.undo("c", MODE, "")


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_threshold_that_is_none_is_refused(workspace, value) -> None:
    with pytest.raises(InvalidInput) as refused:
        ask(workspace, threshold=value)
    assert refused.value.field == "threshold"
