"""Thresholds and calibrations in the catalog: kept, translated, taken back, never half changed."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.catalog.calibrations import (
    activate_calibration,
    add_calibration,
    deactivate_calibration,
    delete_calibration,
    list_calibrations,
)
from indexer.catalog.thresholds import read_tuning, set_threshold, threshold_history, undo_threshold
from indexer.errors import (
    CalibrationActive,
    CalibrationMismatch,
    CalibrationNotFound,
    CollectionNotFound,
    NothingToUndo,
)
from indexer.tuning import CalibrationDraft, Threshold, Tuning, Tunings
from indexer.types import Recipe
from models.errors import InvalidInput
from models.types import SpanBounds
from tests.examples import examples

RECIPE = Recipe("hashing", "f1", 64, SpanBounds(1, 8))
MODE = "best_span"
LOW = CalibrationDraft(MODE, "f1", RECIPE.bounds, ((0.0, 0.0), (0.8, 0.4), (1.0, 1.0)), "isotonic", 200, "low")
HIGH = replace(LOW, knots=((0.0, 0.0), (0.4, 0.6), (1.0, 1.0)), note="high", figures={"error": 0.1, "notes": ["a"]})


@pytest.fixture(autouse=True)
def collection(catalog):
    return catalog.create_collection("calls", RECIPE)


def now(catalog) -> Tuning:
    return read_tuning(catalog, "calls", MODE)


def test_a_collection_begins_without_either(catalog) -> None:
    assert (now(catalog).threshold, now(catalog).calibration_id) == (None, None)
    assert now(catalog).score(0.7) == 0.7
    assert threshold_history(catalog, "calls", MODE) == ()
    assert list_calibrations(catalog, "calls") == ()


def test_a_threshold_stays_what_it_meant(catalog) -> None:
    """Set under the one calibration, it is told in the scores of the other: both are the same raw."""
    low, high = add_calibration(catalog, "calls", LOW, activate=True), add_calibration(catalog, "calls", HIGH)
    assert set_threshold(catalog, "calls", MODE, 0.4).present_threshold == Threshold(0.4, "score", 0.8, low.id)
    activate_calibration(catalog, "calls", high.id)
    translated = now(catalog).present_threshold
    assert (translated.on, translated.raw, translated.calibration) == ("score", 0.8, high.id)
    assert translated.value == pytest.approx(0.6 + 0.4 * 4 / 6)
    deactivate_calibration(catalog, "calls", high.id)
    assert now(catalog).present_threshold == Threshold(0.8, "score", 0.8, None)
    delete_calibration(catalog, "calls", high.id)
    activate_calibration(catalog, "calls", low.id)
    assert now(catalog).present_threshold.value == 0.4


def test_a_threshold_on_raw_is_left_alone(catalog) -> None:
    set_threshold(catalog, "calls", MODE, 0.7, "raw")
    add_calibration(catalog, "calls", LOW, activate=True)
    assert now(catalog).present_threshold == Threshold(0.7, "raw", 0.7, None)


def test_history_tells_when_from_and_to(catalog, clock) -> None:
    moments = [clock()]
    set_threshold(catalog, "calls", MODE, 0.8, note="to begin with")
    for change in (
        lambda: set_threshold(catalog, "calls", MODE, None, note="off"),
        lambda: undo_threshold(catalog, "calls", MODE, "on again"),
    ):
        clock.advance(60)
        moments.append(clock())
        change()
    history = threshold_history(catalog, "calls", MODE)
    first = Threshold(0.8, "score", 0.8)
    assert [change.at for change in history] == moments[::-1]
    assert [(change.before, change.after) for change in history] == [(None, first), (first, None), (None, first)]
    assert [(change.note, change.undo) for change in history] == [
        ("on again", True),
        ("off", False),
        ("to begin with", False),
    ]


steps = st.lists(st.one_of(st.just("undo"), st.none(), st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=12)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_undo_is_that_of_a_stack(catalog, steps) -> None:
    """Changes pile up, undo takes the topmost off; the history forgets none of it."""
    name = uuid.uuid4().hex
    catalog.create_collection(name, RECIPE)
    pile, entries = [None], 0
    for step in steps:
        if step == "undo" and len(pile) == 1:
            with pytest.raises(NothingToUndo):
                undo_threshold(catalog, name, MODE)
            continue
        if step == "undo":
            pile.pop()
            tuning = undo_threshold(catalog, name, MODE)
        else:
            pile.append(step)
            tuning = set_threshold(catalog, name, MODE, step)
        entries += 1
        value = None if tuning.threshold is None else tuning.threshold.value
        assert value == pile[-1]
        assert read_tuning(catalog, name, MODE).threshold == tuning.threshold
        assert len(threshold_history(catalog, name, MODE)) == entries


def test_modes_and_collections_have_their_own(catalog) -> None:
    catalog.create_collection("letters", RECIPE)
    set_threshold(catalog, "calls", MODE, 0.8)
    made = add_calibration(catalog, "calls", LOW, activate=True)
    for name, mode in (("calls", "lexical"), ("letters", MODE)):
        assert read_tuning(catalog, name, mode).threshold is None
        assert read_tuning(catalog, name, mode).calibration_id is None
    with pytest.raises(CalibrationNotFound):
        activate_calibration(catalog, "letters", made.id)
    assert list_calibrations(catalog, "letters") == ()


def test_calibrations_come_back_as_they_were_made(catalog, clock) -> None:
    low = add_calibration(catalog, "calls", LOW)
    clock.advance(1)
    high = add_calibration(catalog, "calls", HIGH, activate=True)
    assert list_calibrations(catalog, "calls") == (high, low)
    assert (high.knots, high.figures, high.active, high.created_at) == (HIGH.knots, HIGH.figures, True, clock())
    assert activate_calibration(catalog, "calls", low.id) == replace(low, active=True)
    assert list_calibrations(catalog, "calls") == (replace(high, active=False), replace(low, active=True))
    assert now(catalog).knots.tolist() == [list(knot) for knot in LOW.knots]
    assert deactivate_calibration(catalog, "calls", low.id) == deactivate_calibration(catalog, "calls", low.id) == low
    assert now(catalog).calibration_id is None


def test_a_unique_beginning_of_an_id_names_a_calibration(catalog, monkeypatch) -> None:
    ids = iter(["abcd1" + "0" * 27, "abcd2" + "0" * 27])
    monkeypatch.setattr("indexer.catalog.calibration_rows.uuid4", lambda: uuid.UUID(next(ids)))
    low, high = add_calibration(catalog, "calls", LOW), add_calibration(catalog, "calls", HIGH)
    assert activate_calibration(catalog, "calls", "abcd1").id == low.id
    assert activate_calibration(catalog, "calls", high.id).id == high.id
    with pytest.raises(InvalidInput, match="Several calibrations"):
        activate_calibration(catalog, "calls", "abcd")
    for id in ("abc", "abcd3", "", "a%", "abcd1\0"):
        with pytest.raises(CalibrationNotFound):
            deactivate_calibration(catalog, "calls", id)
    delete_calibration(catalog, "calls", "abcd1")
    assert [kept.id for kept in list_calibrations(catalog, "calls")] == [high.id]


def test_the_active_calibration_is_not_deleted(catalog) -> None:
    made = add_calibration(catalog, "calls", LOW, activate=True)
    with pytest.raises(CalibrationActive) as refused:
        delete_calibration(catalog, "calls", made.id)
    assert "Deactivate it" in refused.value.hint
    deactivate_calibration(catalog, "calls", made.id)
    delete_calibration(catalog, "calls", made.id)
    for change in (activate_calibration, deactivate_calibration, delete_calibration):
        with pytest.raises(CalibrationNotFound):
            change(catalog, "calls", made.id)


@pytest.mark.parametrize(
    ("draft", "error", "reason"),
    [
        (replace(LOW, fingerprint="f2"), CalibrationMismatch, "made for f2 .* has f1"),
        (replace(LOW, bounds=SpanBounds(1, 9)), CalibrationMismatch, "spans of 1 to 9 units; .* 1 to 8 units"),
        (replace(LOW, knots=((0.0, 0.0), (0.9, 0.2))), InvalidInput, "last one"),
        (replace(LOW, knots=()), InvalidInput, "first knot"),
        (replace(LOW, note="x" * 513), InvalidInput, "note"),
    ],
)
def test_a_calibration_that_does_not_belong_here_is_refused(catalog, draft, error, reason) -> None:
    with pytest.raises(error, match=reason):
        add_calibration(catalog, "calls", draft, activate=True)
    assert list_calibrations(catalog, "calls") == ()
    assert now(catalog).calibration_id is None


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_threshold_outside_its_scale_is_refused(catalog, value) -> None:
    with pytest.raises(InvalidInput) as refused:
        set_threshold(catalog, "calls", MODE, value)
    assert refused.value.field == "threshold"
    with pytest.raises(InvalidInput, match="note"):
        set_threshold(catalog, "calls", MODE, 0.5, note="\0")
    assert threshold_history(catalog, "calls", MODE) == ()


def test_an_unknown_collection_is_explained(catalog) -> None:
    for ask in (
        lambda: set_threshold(catalog, "no-such", MODE, 0.5),
        lambda: undo_threshold(catalog, "no-such", MODE),
        lambda: threshold_history(catalog, "no-such", MODE),
        lambda: add_calibration(catalog, "no-such", LOW),
        lambda: list_calibrations(catalog, "no-such"),
        lambda: activate_calibration(catalog, "no-such", "a"),
    ):
        with pytest.raises(CollectionNotFound):
            ask()
    for id in ("", "\0", "\ud800", "a" * 999, "it's"):
        with pytest.raises(CalibrationNotFound):
            delete_calibration(catalog, "calls", id)


def test_changes_at_once_are_all_kept(catalog) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: set_threshold(catalog, "calls", MODE, n / 20), range(20)))
    history = threshold_history(catalog, "calls", MODE)
    assert sorted(change.after.value for change in history) == [n / 20 for n in range(20)]
    for _ in range(20):
        undo_threshold(catalog, "calls", MODE)
    assert now(catalog).threshold is None


def test_a_reader_never_sees_half_a_change(catalog) -> None:
    """Threshold and calibration change together here; every reading fits to one of the two."""
    low, high = add_calibration(catalog, "calls", LOW), add_calibration(catalog, "calls", HIGH)
    set_threshold(catalog, "calls", MODE, 0.5, "raw")
    done = Event()

    def read() -> set[tuple[str | None, float]]:
        seen = set()
        while not done.is_set():
            tuning = now(catalog)
            seen.add((tuning.calibration_id, tuning.score(0.4)))
        return seen

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for id in [low.id, high.id] * 8:
                activate_calibration(catalog, "calls", id)
        finally:
            done.set()
        seen = set.union(*(reader.result() for reader in readers))
    assert seen <= {(None, 0.4), (low.id, 0.2), (high.id, 0.6)}


def test_tunings_are_read_again_when_they_are_old_or_forgotten(catalog) -> None:
    time = iter([0.0, 0.1, 0.2, 0.3, 0.5]).__next__
    tunings = Tunings(partial(read_tuning, catalog), clock=time)
    assert tunings.present("calls", MODE).threshold is None
    set_threshold(catalog, "calls", MODE, 0.5)
    assert tunings.present("calls", MODE).threshold is None
    tunings.forget()
    assert tunings.present("calls", MODE).threshold.value == 0.5
    set_threshold(catalog, "calls", MODE, 0.6)
    assert tunings.present("calls", MODE).threshold.value == 0.5
    assert tunings.present("calls", MODE).threshold.value == 0.6
    assert Tunings(partial(read_tuning, catalog)).present("no-such", MODE).threshold is None
