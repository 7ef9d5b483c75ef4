"""The choice of segments to merge: three policies, all functions of the catalog's rows of live segments.

The background answer is size-tiered: a segment's tier is the number of times its live units can be divided by ``FAN``,
and ``FAN`` segments of one tier make one of the next. So every unit is copied once a tier, and of N units there are
about log(N) segments. ADR 7 has the reasons.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from indexer.types import LiveSegment

FAN = 8
# The largest merged segment, in units: beyond this size a merge gains nothing.
LARGEST = 2_000_000

Group: TypeAlias = list[LiveSegment]
Choice: TypeAlias = Callable[[Sequence[LiveSegment]], list[Group]]


def due(segments: Sequence[LiveSegment]) -> list[Group]:
    """The merges of a writer at the end of its work: mostly deleted segments, each by itself, and full tiers."""
    worn = [[segment] for segment in segments if _is_worn(segment)]
    return worn + _full_tiers(segment for segment in segments if not _is_worn(segment))


def with_dead(segments: Sequence[LiveSegment]) -> list[Group]:
    """The merges of a purge: every segment with a tombstone, by itself."""
    return [[segment] for segment in segments if len(segment.tombstones)]


def everything(segments: Sequence[LiveSegment]) -> list[Group]:
    """The merges that leave no tombstone and few segments: first-fit by descending size."""
    groups: list[Group] = []
    for segment in sorted(segments, key=_size, reverse=True):
        roomy = (group for group in groups if _units([*group, segment]) <= LARGEST)
        group = next(roomy, None)
        if group is None:
            groups.append([segment])
        else:
            group.append(segment)
    return [group for group in groups if len(group) > 1 or len(group[0].tombstones)]


def tier(units: int) -> int:
    """The tier of a number of units: its logarithm to the base ``FAN``, rounded down; 0 for 0.

    >>> tier(0), tier(7), tier(8), tier(63), tier(64)
    (0, 0, 1, 1, 2)
    """
    tiers = 0
    while units >= FAN:
        units, tiers = units // FAN, tiers + 1
    return tiers


def _is_worn(segment: LiveSegment) -> bool:
    return segment.live_documents < len(segment.tombstones) or not segment.live_documents


def _full_tiers(segments: Iterable[LiveSegment]) -> list[Group]:
    by_tier: defaultdict[int, Group] = defaultdict(list)
    for segment in sorted(segments, key=_size):
        by_tier[tier(segment.live_units)].append(segment)
    smallest = [members[:FAN] for _, members in sorted(by_tier.items())]
    return [group for group in smallest if len(group) == FAN and _units(group) <= LARGEST]


def _units(group: Iterable[LiveSegment]) -> int:
    return sum(segment.live_units for segment in group)


def _size(segment: LiveSegment) -> tuple[int, str]:
    return segment.live_units, segment.info.name
