"""Times of refusals: those about a foreign collection or document beside those about one that is missing.

    python -m research.benchmarks.foreign_times --requests 2000

A server has a collection of two tenants and one that is foreign to the key that asks. Each operation is asked about
what is foreign, about what is missing, and once more about what is missing, in random order. ``told`` is the
probability that a foreign one takes longer than a missing one, and ``noise`` the same of missing ones among
themselves: 0.5 tells nothing.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.cli.console import print_json
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import SCOPES, create_key
from indexer.catalog.schema import upgrade
from research.benchmarks.http_latency import Connection, serving
from research.evaluation.sample import auc

_DOCUMENTS: Final = 5_000
_SEARCH: Final = {"text": "the parcel was late", "mode": "lexical"}
# Method, path and body of an operation about a collection {c}, or about a document {d} of an own one.
_OPERATIONS: Final[dict[str, tuple[str, str, Any]]] = {
    "search a collection": ("POST", "/search", {"collection": "{c}", **_SEARCH}),
    "describe a collection": ("GET", "/collections/{c}", None),
    "write to a collection": ("POST", "/collections/{c}/documents", {"id": "x", "text": "It is late."}),
    "delete a collection": ("DELETE", "/collections/{c}", None),
    "read a document": ("GET", "/collections/own/documents/{d}", None),
    "search within a document": (
        "POST",
        "/search",
        {"collection": "own", "filter": {"expression": 'document.id = "{d}"'}, **_SEARCH},
    ),
}
# What is foreign and what is missing; of documents, the odd ones are another tenant's.
_FOREIGN: Final = {"c": "foreign", "d": "n0001"}
_MISSING: Final = {"c": "missing", "d": "n9999"}


@contextmanager
def _served() -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a server, and the keys of who has one collection, and of who has one tenant of it."""
    with tempfile.TemporaryDirectory() as made:
        url = f"sqlite:///{made}/catalog.sqlite3"
        upgrade(url)
        with closing(Catalog(url)) as catalog:
            admin = create_key(catalog, "admin", SCOPES)[1]
            keys = {"c": create_key(catalog, "own", SCOPES, ["own"])[1]}
            keys["d"] = create_key(catalog, "tenant", SCOPES, ["own"], filter='tenant = "a"')[1]
        with serving(Path(made), encoder="hashing") as address:
            documents = [
                {"id": f"n{n:04d}", "text": f"Parcel {n} came late.", "metadata": {"tenant": "ab"[n % 2]}}
                for n in range(_DOCUMENTS)
            ]
            with closing(Connection(address, key=admin)) as connection:
                for name in ("own", "foreign"):
                    connection.request("PUT", f"/collections/{name}", {})
                    for first in range(0, _DOCUMENTS, 500):
                        batch = documents[first : first + 500]
                        status, answer = connection.request("POST", f"/collections/{name}/documents", batch)
                        if status != HTTPStatus.OK:
                            raise SystemExit(f"{status} {answer}")
            yield address, keys


def measure(requests: int) -> dict[str, dict[str, float | str]]:
    """The figures of every operation."""
    with _served() as (url, keys):
        return {name: _compared(url, keys, name, requests) for name in _OPERATIONS}


def _compared(url: str, keys: dict[str, str], name: str, requests: int) -> dict[str, float | str]:
    method, path, body = _OPERATIONS[name]
    kind = "c" if "{c}" in path + json.dumps(body) else "d"
    cases = {"foreign": _FOREIGN, "missing": _MISSING, "again": _MISSING}
    seconds: dict[str, list[float]] = {case: [] for case in cases}
    order = [case for case in cases for _ in range(requests)]
    random.Random(1).shuffle(order)
    statuses = set()
    with closing(Connection(url, key=keys[kind])) as connection:
        for case in order:
            filled = [
                json.loads(json.dumps(each).replace("{" + kind + "}", cases[case][kind])) for each in (path, body)
            ]
            began = time.perf_counter()
            status, _ = connection.request(method, *filled)
            seconds[case].append(time.perf_counter() - began)
            statuses.add(status)
    return {
        "statuses": ", ".join(map(str, sorted(statuses))),
        "foreign_p50_ms": round(1000 * float(np.median(seconds["foreign"])), 3),
        "missing_p50_ms": round(1000 * float(np.median(seconds["missing"])), 3),
        "told": _longer(seconds["foreign"], seconds["missing"] + seconds["again"]),
        "noise": _longer(seconds["again"], seconds["missing"]),
    }


def _longer(first: list[float], second: list[float]) -> float:
    """The probability that one of the first is longer than one of the second."""
    return round(auc(np.array(first), np.array(second)), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    print_json(measure(parser.parse_args().requests))


if __name__ == "__main__":
    main()
