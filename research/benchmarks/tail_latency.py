"""Simulation of tail latency: how late the last of many actors is, up to a thousand, from one actor's times.

A search waits for the slowest of its actors. Every actor draws its time from a measured distribution, one of whose
answers in a hundred is slow: pauses, other searches, a page that is not in memory. Without replicas a search takes the
largest draw. With hedging a request that is later than the 95th percentile goes to a second actor too, and the first
answer counts. ``milliseconds`` has one time a line, such as ``ray_cost --times`` writes.

    python -m research.benchmarks.tail_latency --times /tmp/times
"""

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from app.cli.console import print_json

_ACTORS = (1, 4, 16, 64, 256, 1000)
_SEARCHES = 20_000
_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds of searches that wait for so many actors; ``asked_twice`` is the share of requests."""

    actors: int
    p50_ms: float
    p99_ms: float
    hedged_p50_ms: float
    hedged_p99_ms: float
    asked_twice: float


def simulated(times: Float[np.ndarray, " answers"], actors: int, searches: int = _SEARCHES) -> Figures:
    """Searches of an index on so many actors.

    >>> figures = simulated(np.array([1.0] * 99 + [100.0]), 1000, 100)
    >>> figures.p50_ms, figures.hedged_p50_ms
    (100.0, 2.0)
    """
    rng, late = np.random.default_rng(actors), float(np.quantile(times, 0.95))
    alone, hedged, twice = [], [], 0
    for _ in range(0, searches, min(_AT_ONCE, searches)):
        shape = (min(_AT_ONCE, searches), actors)
        first = rng.choice(times, shape)
        is_late = first > late
        first_of_two = np.where(is_late, np.minimum(first, late + rng.choice(times, shape)), first)
        alone.append(first.max(axis=1))
        hedged.append(first_of_two.max(axis=1))
        twice += int(is_late.sum())
    p50, p99 = np.percentile(np.concatenate(alone), (50, 99)).tolist()
    hedged_p50, hedged_p99 = np.percentile(np.concatenate(hedged), (50, 99)).tolist()
    return Figures(
        actors=actors,
        p50_ms=round(p50, 1),
        p99_ms=round(p99, 1),
        hedged_p50_ms=round(hedged_p50, 1),
        hedged_p99_ms=round(hedged_p99, 1),
        asked_twice=round(twice / (actors * searches), 3),
    )


def main() -> None:
    """Print the figures for every number of actors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=Path, required=True, help="a file of milliseconds, one a line")
    times = np.array([float(line) for line in parser.parse_args().times.read_text("ascii").split()])
    for actors in _ACTORS:
        print_json(asdict(simulated(times, actors)))


if __name__ == "__main__":
    main()
