"""Strata cover every pair once, lie around the threshold, and get the labels that are asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search.verification.stratified_sampling import BINS, allocate, bins_of, draw, plan_strata, probabilities

sizes = st.lists(st.integers(0, 500), min_size=1, max_size=12).filter(any)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300), st.floats(0, 1), st.integers(20, 200))
def test_strata_part_all_pairs(raw, near, wanted) -> None:
    counts = np.bincount(bins_of(np.array(raw)), minlength=BINS)
    strata = plan_strata(counts, near, wanted)
    assert sum(stratum.population for stratum in strata) == len(raw)
    assert sum(stratum.drawn for stratum in strata) == min(wanted, len(raw))
    assert [stratum.number for stratum in strata] == list(range(1, len(strata) + 1))
    for one in strata:
        within = np.round(one.low * BINS) <= bins_of(np.array(raw)), bins_of(np.array(raw)) < np.round(one.high * BINS)
        assert np.logical_and(*within).sum() == one.population > 0
        assert min(2, one.population) <= one.drawn <= one.population


def test_most_are_near_the_threshold_and_some_everywhere() -> None:
    rng = np.random.default_rng(5)
    counts = np.bincount(bins_of(rng.beta(5, 5, 1_000_000)), minlength=BINS)
    strata = plan_strata(counts, near=0.8, size=200)
    assert [stratum.drawn for stratum in strata] == [50, 60, 50, 20, 20]
    assert any(stratum.low == 0.8 for stratum in strata)
    above = counts[8000:].sum()
    assert sum(stratum.population for stratum in strata[:2]) == above
    assert strata[2].population == pytest.approx(above, rel=0.1)


def test_a_threshold_that_hardly_anything_reaches_still_has_pairs_to_label() -> None:
    counts = np.bincount(bins_of(np.linspace(0.1, 0.6, 5000)), minlength=BINS)
    strata = plan_strata(counts, near=0.99, size=100)
    assert sum(stratum.drawn for stratum in strata) == 100
    assert strata[0].population == pytest.approx(25, abs=2)


@given(sizes, st.integers(2, 300))
def test_shares_are_kept_as_far_as_there_is_room(populations, wanted) -> None:
    found = allocate(populations, [1.0] * len(populations), wanted)
    assert all(0 <= count <= room for count, room in zip(found, populations, strict=True))
    assert sum(found) == max(min(wanted, sum(populations)), sum(min(room, 2) for room in populations))


@given(sizes, st.floats(0.01, 1))
def test_chances_add_up_to_what_is_drawn(populations, share) -> None:
    cells = np.array(populations)
    drawn = max(1, int(share * cells.sum()))
    chances = probabilities(cells, drawn)
    assert (cells * chances).sum() == pytest.approx(drawn)
    assert (chances[cells > 0] > 0).all()
    assert (chances <= 1 + 1e-12).all()


@given(sizes, st.floats(0.01, 1), st.integers(0, 1000))
def test_as_many_are_drawn_as_planned_and_each_once(populations, share, seed) -> None:
    cells = np.array(populations)
    drawn = max(1, int(share * cells.sum()))
    chances = probabilities(cells, drawn)
    chosen = draw(cells, chances, np.random.default_rng(seed))
    assert sum(map(len, chosen)) == drawn
    for places, room, chance in zip(chosen, cells, chances, strict=True):
        assert len(set(places.tolist())) == len(places)
        assert all(0 <= place < room for place in places)
        assert abs(len(places) - room * chance) <= 1 + 1e-9


def test_every_pair_is_drawn_with_its_chance() -> None:
    cells = np.array([3, 40, 1, 0, 200])
    chances = probabilities(cells, 30)
    rng = np.random.default_rng(13)
    times = [np.zeros(room) for room in cells]
    rounds = 4000
    for _ in range(rounds):
        for count, places in zip(times, draw(cells, chances, rng), strict=True):
            count[places] += 1
    for count, chance in zip(times, chances, strict=True):
        # Five standard errors of a share of so many rounds.
        assert np.abs(count / rounds - chance).max(initial=0) <= 5 * np.sqrt(chance * (1 - chance) / rounds) + 1e-9
