"""The capacity that a corpus needs: units, disk, memory, indexing time and search rate, from measured costs of a unit.

The costs were measured on two cores (docs/figures.md#speed-and-size); docs/capacity.md says by which commands, and
what is calculated from them.
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Final

from app.answers import described, optional
from models.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of one unit and of one search, on ``cores`` cores of a server processor without a GPU."""

    cores: int = 2
    units_a_word: float = 1.2
    units_a_second: float = 2_900
    unit_bytes: float = 430  # vectors, texts, borders and words
    candidate_bytes: float = 90
    vector_bytes: float = 384  # of a unit, which a scan reads
    index_bytes: float = 1.5e9
    server_bytes: float = 0.46e9
    search_ms: float = 10  # of both cores, for whatever a search does besides scanning
    scan_ms: float = 34  # for a million units
    candidates_ms: float = 39  # for ten million units; for more, with the power 3/4 (ADR 8)
    second_look_ms: float = 61


MEASURED: Final = Costs()


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """Servers on one catalog and one data folder: calculated from one machine, not measured."""

    servers: Annotated[int, described("Servers that answer the searches, one of which may stop.")]
    memory_bytes: Annotated[int, described("Memory of all servers.")]
    disk_bytes: Annotated[int, described("Disk of the data folder, which they share.")]
    searches_a_second: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The resources of a collection on one machine."""

    units: Annotated[int, described("Words and punctuation marks.")]
    disk_bytes: Annotated[int, described("The collection, and room to merge it.")]
    memory_bytes: Annotated[int, described("Of a server that searches it without reading from the disk.")]
    index_memory_bytes: Annotated[int, described("Of the job that indexes it.")]
    index_hours: float
    engine: Annotated[str, described("`scan`, or `candidates` for large collections.")]
    search_ms: Annotated[float, described("One search on an idle machine, second look included.")]
    searches_a_second: Annotated[float, described("Second look included; searches that come together take less.")]
    cluster: Annotated[ClusterPlan | None, optional("Absent unless searches a second were asked for.")] = None


def plan(
    documents: int,
    words: float,
    *,
    cores: int = MEASURED.cores,
    searches: float | None = None,
    candidates_from: int,
    costs: Costs = MEASURED,
) -> Plan:
    """The plan of a collection of so many documents of so many words on average.

    Time is in proportion to the cores, but one search is not: it takes as long as on two. ``searches`` a second are
    met by a cluster. Raises ``InvalidInput`` for less than a word or a core.

    >>> small = plan(10_000, 100, candidates_from=8_000_000)
    >>> small.units, round(small.disk_bytes / 1e9, 2), round(small.index_hours, 2), small.engine
    (1200000, 1.03, 0.11, 'scan')
    """
    if documents < 1 or words < 1 or cores < 1:
        raise InvalidInput(
            "A plan needs documents, words and cores, at least one of each.", hint="Give larger numbers."
        )
    units = math.ceil(documents * words * costs.units_a_word)
    is_large = units >= candidates_from
    look_ms = costs.candidates_ms * (units / 1e7) ** 0.75 if is_large else costs.scan_ms * units / 1e6
    search_ms = costs.search_ms + look_ms + costs.second_look_ms
    share = cores / costs.cores
    candidate_bytes = costs.candidate_bytes if is_large else 0
    stored = units * (costs.unit_bytes + candidate_bytes)
    memory = math.ceil(costs.server_bytes + units * (costs.vector_bytes + candidate_bytes))
    one = Plan(
        units=units,
        disk_bytes=math.ceil(2 * stored),
        memory_bytes=memory,
        index_memory_bytes=math.ceil(costs.index_bytes),
        index_hours=units / (costs.units_a_second * share) / 3600,
        engine="candidates" if is_large else "scan",
        search_ms=search_ms,
        searches_a_second=1000 / search_ms * share,
    )
    return one if searches is None else _with_cluster(one, searches)


def _with_cluster(one: Plan, searches: float) -> Plan:
    servers = math.ceil(searches / one.searches_a_second) + 1
    cluster = ClusterPlan(servers, servers * one.memory_bytes, one.disk_bytes, servers * one.searches_a_second)
    return replace(one, cluster=cluster)
