"""Merging ends, takes little work for what it saves, and leaves few segments."""

from itertools import count

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from indexer.indexing import merge_policy as tiers
from indexer.indexing.merge_policy import FAN, LARGEST, Choice, due, everything, tier, with_dead
from indexer.types import LiveSegment, SegmentInfo

_number = count()


def segment(documents: int, units: int, dead: int) -> LiveSegment:
    info = SegmentInfo(f"s{next(_number):06}", "sha", documents, documents, units, 100 * units)
    return LiveSegment(info, np.arange(dead))


@st.composite
def segments(draw):
    documents = draw(st.integers(0, 60))
    size = draw(st.sampled_from([0, 1, 9, 700, 50_000, LARGEST // 8, LARGEST]))
    return segment(documents, documents and size, draw(st.integers(0, documents)))


live_sets = st.lists(segments(), max_size=40)
choices = st.sampled_from([due, everything, with_dead])


def merged(group: list[LiveSegment]) -> list[LiveSegment]:
    documents, units = sum(one.live_documents for one in group), sum(one.live_units for one in group)
    return [segment(documents, units, 0)] if documents else []


def run(choice: Choice, live: list[LiveSegment]) -> tuple[list[LiveSegment], int, int]:
    """Merges one group after the other; the segments at last, how many merges it took, units that were copied."""
    merges = copied = 0
    while groups := choice(live):
        merges += 1
        assert merges <= 10_000
        gone = {one.info.name for one in groups[0]}
        assert len(gone) == len(groups[0])
        assert gone <= {one.info.name for one in live}
        made = merged(groups[0])
        live = [one for one in live if one.info.name not in gone] + made
        copied += sum(one.info.units for one in made)
    return live, merges, copied


@given(live_sets, choices)
def test_it_ends_and_loses_nothing(live: list[LiveSegment], choice: Choice) -> None:
    after, merges, _ = run(choice, live)
    assert sum(one.live_documents for one in after) == sum(one.live_documents for one in live)
    assert sum(one.live_units for one in after) == sum(one.live_units for one in live)
    # Every merge takes away a segment, or the tombstones of one.
    assert merges <= len(live) + sum(bool(len(one.tombstones)) for one in live)


@given(live_sets, choices)
def test_groups_do_not_share_segments(live: list[LiveSegment], choice: Choice) -> None:
    names = [one.info.name for group in choice(live) for one in group]
    assert len(names) == len(set(names))


@given(live_sets)
def test_the_background_leaves_at_most_half_dead_and_no_tier_full(live: list[LiveSegment]) -> None:
    after, _, _ = run(due, live)
    for one in after:
        assert len(one.tombstones) <= one.live_documents
    for number in {tier(one.live_units) for one in after}:
        sizes = sorted(one.live_units for one in after if tier(one.live_units) == number)
        assert len(sizes) < FAN or sum(sizes[:FAN]) > LARGEST


@given(st.lists(st.integers(1, 3_000), max_size=300))
def test_every_unit_is_copied_once_a_tier_at_most(sizes: list[int]) -> None:
    """A stream of small segments, merged after each: the work is that of a logarithm, not of a square."""
    live: list[LiveSegment] = []
    copied = 0
    for size in sizes:
        live, _, more = run(due, [*live, segment(1, size, 0)])
        copied += more
    highest = tier(sum(sizes))
    assert copied <= sum(sizes) * highest
    assert len(live) <= (FAN - 1) * (highest + 1)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.integers(1, 40))
def test_a_deletion_pays_for_one_copy_at_most(deletions: list[int], documents: int) -> None:
    """Documents are deleted some at a time; rewriting the rest takes no more copies than there were deletions."""
    live, deleted, copied = [segment(documents, documents, 0)], 0, 0
    for wanted in deletions:
        if not live:
            break
        dead = min(wanted, live[0].live_documents)
        live = [LiveSegment(live[0].info, np.arange(len(live[0].tombstones) + dead))]
        live, _, more = run(due, live)
        deleted, copied = deleted + dead, copied + more
        assert copied <= deleted


@given(live_sets)
def test_a_purge_leaves_no_tombstone_and_touches_nothing_else(live: list[LiveSegment]) -> None:
    after, _, _ = run(with_dead, live)
    assert not any(len(one.tombstones) for one in after)
    assert {one.info.name for one in after} >= {one.info.name for one in live if not len(one.tombstones)}


@given(live_sets)
def test_optimizing_leaves_no_tombstone_and_no_two_that_would_fit_together(live: list[LiveSegment]) -> None:
    after, _, _ = run(everything, live)
    assert not any(len(one.tombstones) for one in after)
    sizes = sorted(one.live_units for one in after)
    assert len(sizes) < 2 or sizes[0] + sizes[1] > LARGEST


@given(live_sets, choices)
def test_no_merge_makes_a_segment_that_is_too_large(live: list[LiveSegment], choice: Choice) -> None:
    for group in choice(live):
        assert len(group) == 1 or sum(one.live_units for one in group) <= LARGEST


def test_what_large_jobs_publish_is_left_alone() -> None:
    assert due([segment(1_000, 500_000, 0) for _ in range(50)]) == []


def test_eight_of_a_size_are_merged() -> None:
    live = [segment(1, 10, 0) for _ in range(tiers.FAN)]
    assert due(live[1:]) == []
    assert due(live) == [live]
