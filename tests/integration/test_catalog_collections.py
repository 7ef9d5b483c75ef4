"""Making collections and asking about them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.errors import CollectionNotFound, RecipeMismatch
from indexer.types import Recipe
from models.errors import InvalidInput
from models.types import SpanBounds
from tests.waiting import PATIENCE_S

NUGGETS = {"nuggets": {"fingerprint": "n1", "dim": 384, "ratio": 0.1}}
RECIPE = Recipe("slice", "f1", 384, SpanBounds(2, 12), NUGGETS)


def test_a_collection_comes_back_as_it_was_made(catalog):
    made = catalog.create_collection("calls", RECIPE)
    assert made.recipe == RECIPE
    assert made.generation == 0
    assert catalog.collection("calls") == made


def test_making_it_again_changes_nothing(catalog):
    assert catalog.create_collection("calls", RECIPE) == catalog.create_collection("calls", RECIPE)
    assert len(catalog.collections()) == 1


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Recipe("nugget", "f1", 384, SpanBounds(2, 12), NUGGETS), "nugget f1"),
        (Recipe("slice", "f2", 384, SpanBounds(2, 12), NUGGETS), "slice f2"),
        (Recipe("slice", "f1", 64, SpanBounds(2, 12), NUGGETS), "64 dimensions"),
        (Recipe("slice", "f1", 384, SpanBounds(1, 12), NUGGETS), "spans of 1 to 12"),
        (Recipe("slice", "f1", 384, SpanBounds(2, 12)), r"stores units \(text.v2\)\)"),
        (replace(RECIPE, details={"nuggets": {**NUGGETS["nuggets"], "ratio": 0.2}}), "fingerprint n1, ratio 0.2"),
    ],
)
def test_another_recipe_is_refused_and_both_are_named(catalog, other, words):
    catalog.create_collection("calls", RECIPE)
    with pytest.raises(RecipeMismatch, match=rf"made with slice f1 .* not with .*{words}") as caught:
        catalog.create_collection("calls", other)
    assert "another name" in caught.value.hint
    assert catalog.collection("calls").recipe == RECIPE


def test_a_name_that_cannot_be_is_refused(catalog):
    with pytest.raises(InvalidInput) as caught:
        catalog.create_collection("../calls", RECIPE)
    assert caught.value.field == "collection"
    assert catalog.collections() == ()


def test_an_unknown_collection_is_explained(catalog):
    def ask(question, *arguments):
        with pytest.raises(CollectionNotFound, match="'calls'") as caught:
            question("calls", *arguments)
        return caught.value.hint

    questions = [
        (catalog.collection,),
        (catalog.generation,),
        (catalog.live_generation,),
        (catalog.content_hashes, ["a"]),
    ]
    assert all("spanseek index" in ask(*question) for question in questions)
    catalog.create_collection("contracts", RECIPE)
    assert all("contracts" in ask(*question) for question in questions)


def test_a_collection_that_cannot_be_is_simply_not_there(catalog):
    for name in ("", "Calls", "\0", "\ud800", "x" * 1000):
        for question in (catalog.collection, catalog.generation, catalog.live_generation):
            with pytest.raises(CollectionNotFound):
                question(name)


def test_figures_count_what_is_live(catalog, put):
    catalog.create_collection("contracts", RECIPE)
    catalog.create_collection("calls", RECIPE)
    with lease(catalog, "calls") as held:
        put(catalog, held, "a", "b", "c")
        put(catalog, held, "c", "d")
        remove(catalog, held, ["a"])
    calls, contracts = catalog.collections()  # by name
    assert (calls.name, calls.documents, calls.segments, calls.generation) == ("calls", 3, 2, 3)
    assert (calls.units, calls.bytes) == (50, 5 * 99)
    assert (contracts.name, contracts.documents, contracts.units, contracts.segments) == ("contracts", 0, 0, 0)
    assert calls == catalog.collection("calls")


def test_collections_are_in_the_order_of_their_code_points(catalog):
    """A database that speaks English would put a_b before a-c and a0."""
    names = ["a_b", "a-c", "a0", "a", "ab"]
    for name in names:
        catalog.create_collection(name, RECIPE)
    assert [collection.name for collection in catalog.collections()] == sorted(names)


def test_racing_to_make_it_gives_all_the_same_collection(catalog):
    start = Barrier(6)

    def make(_):
        start.wait(PATIENCE_S)
        return catalog.create_collection("calls", RECIPE)

    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(make, range(6)))
    assert len(set(made)) == 1
    assert catalog.collections() == (made[0],)
