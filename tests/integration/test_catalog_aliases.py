"""Aliases: one transaction, one namespace with collections, and writers that stay where they began."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from indexer.catalog.aliases import list_aliases, set_aliases
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove_collection
from indexer.catalog.thresholds import read_tuning, set_threshold
from indexer.errors import AliasExists, AliasNotFound, CollectionAliased, CollectionExists, CollectionNotFound
from indexer.types import Recipe
from models.errors import InvalidInput, SpanseekError

RECIPE = Recipe("hashing", "f1", 64)


@pytest.fixture
def catalog(catalog: Catalog) -> Iterator[Catalog]:
    for name in ("one", "two"):
        catalog.create_collection(name, RECIPE)
    yield catalog
    with catalog.database.write() as connection:  # rows of collections refer to none, but aliases to them
        connection.exec_driver_sql("DELETE FROM aliases")


def targets(catalog: Catalog) -> dict[str, str]:
    return {alias.name: alias.collection for alias in list_aliases(catalog)}


def test_an_alias_is_read_as_its_collection(catalog: Catalog) -> None:
    set_aliases(catalog, {"live": "one"})
    assert catalog.collection("live") == catalog.collection("one")
    assert catalog.version("live") == catalog.version("one")
    assert catalog.live_generation("live").collection == "one"
    set_threshold(catalog, "live", "best_span", 0.7, "score", "")
    assert read_tuning(catalog, "one", "best_span").threshold == read_tuning(catalog, "live", "best_span").threshold
    set_aliases(catalog, {"live": "two"})
    assert catalog.collection("live").name == "two"
    set_aliases(catalog, {"live": None})
    with pytest.raises(CollectionNotFound):
        catalog.collection("live")


def test_changes_are_all_made_or_none(catalog: Catalog) -> None:
    set_aliases(catalog, {"a": "one", "b": "two"})
    set_aliases(catalog, {"a": "b", "b": "a"})  # an alias stands for its collection before the change
    assert targets(catalog) == {"a": "two", "b": "one"}
    failing: list[tuple[dict[str, str | None], type[SpanseekError]]] = [
        ({"a": "one", "b": "nobody"}, CollectionNotFound),
        ({"a": "one", "nobody": None}, AliasNotFound),
        ({"a": "one", "two": "one"}, CollectionExists),
        ({"a": "one", "../x": "one"}, InvalidInput),
    ]
    for changes, error in failing:
        with pytest.raises(error):
            set_aliases(catalog, changes)
        assert targets(catalog) == {"a": "two", "b": "one"}


def test_collections_and_aliases_share_their_names(catalog: Catalog) -> None:
    set_aliases(catalog, {"live": "one"})
    with pytest.raises(AliasExists):
        catalog.create_collection("live", RECIPE)
    with pytest.raises(AliasExists):
        catalog.require_own_name("live")
    with pytest.raises(CollectionAliased), lease(catalog, "live") as held:
        remove_collection(catalog, held)
    set_aliases(catalog, {"live": "two"})
    with lease(catalog, "one") as held:
        remove_collection(catalog, held)
    assert [each.name for each in catalog.collections()] == ["two"]


def test_a_lease_is_of_the_collection_and_outlives_a_swap(catalog: Catalog) -> None:
    set_aliases(catalog, {"live": "one"})
    with lease(catalog, "live") as held:
        set_aliases(catalog, {"live": "two"})
        assert held.collection == "one"
        with lease(catalog, "live") as other:
            assert other.collection == "two"


def test_a_name_is_given_once_however_many_want_it(catalog: Catalog) -> None:
    def take(number: int) -> None:
        name = f"name-{number % 10}"
        with suppress(AliasExists, CollectionExists):
            if random.Random(number).random() < 0.5:
                set_aliases(catalog, {name: "one"})
            else:
                catalog.create_collection(name, RECIPE)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(take, range(80)))
    names = [each.name for each in catalog.collections()]
    assert not set(names) & set(targets(catalog))
    assert {f"name-{number}" for number in range(10)} <= {*names, *targets(catalog)}
