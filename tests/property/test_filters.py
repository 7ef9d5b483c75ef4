"""Filter expressions, wherever they apply, pass what loops over the documents pass.

`FILTER_TREES=1000 python -m pytest --timeout 0 tests/property/test_filters.py` tries a thousand in every place; that
takes half an hour.
"""

import os
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from app.calibration.preview import preview
from app.collections.documents import DocumentService
from app.requests import PreviewRequest, SearchRequest
from app.search.answers import Filtered
from app.search.export import export
from indexer.catalog.matches import read_events
from indexer.engine.query import Filter
from indexer.errors import FilterInvalid
from indexer.filters.json_form import FilterBatch, expression_of, json_of
from indexer.filters.strings import parsed, printed, restored
from indexer.phrases import PhraseDraft
from models.errors import InvalidInput
from models.types import Document, Part
from tests import filter_trees, reference
from tests.examples import examples
from tests.workspace import Workspace

TREES = 1000
# In every place where filters apply; a search takes longer than a mask.
SEARCHED = int(os.environ.get("FILTER_TREES", examples(100)))


class Corpus:
    """Random documents in two segments, some of them replaced."""

    def __init__(self, workspace: Workspace) -> None:
        random = Random(7)
        self.workspace = workspace
        self.documents = filter_trees.documents(random, 40)
        old = [Document(each.id, each.parts, {"a": "replaced"}) for each in self.documents[::5]]
        workspace.index([*self.documents[::2], *old], merge=False)
        workspace.index([*self.documents[1::2], *self.documents[::5]], merge=False)

    def ids(self, tree: dict[str, Any]) -> list[str]:
        """The documents that pass, by loops."""
        return [
            each.id
            for each in self.documents
            if reference.passes(tree, each.id, each.metadata, parts=[part.metadata for part in each.parts])
        ]

    def parts(self, tree: dict[str, Any]) -> set[tuple[str, int]]:
        """The parts that pass, by loops."""
        return {
            (each.id, number)
            for each in self.documents
            for number, part in enumerate(each.parts)
            if reference.passes(tree, each.id, each.metadata, part.metadata)
        }


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with Workspace(tmp_path_factory.mktemp("filters"), nugget_ratio=1.0, words=True) as workspace:
        yield Corpus(workspace)


def trees(seed: int, count: int) -> Iterator[dict[str, Any]]:
    random = Random(seed)
    return (filter_trees.tree(random) for _ in range(count))


@pytest.mark.ci("many examples")
def test_masks_are_those_of_loops(corpus: Corpus) -> None:
    views = corpus.workspace.store.snapshot("c").views
    kept = []
    for tree in trees(1, TREES):
        filter = Filter(expression=expression_of(tree))
        documents, parts = [], set()
        for view in views:
            segment = view.segment
            documents += [segment.document_id(row) for row in np.flatnonzero(view.passing_documents(filter)).tolist()]
            for part in np.flatnonzero(view.passing_parts(filter)).tolist():
                owner = int(segment.part_document[part])
                parts.add((segment.document_id(owner), part - int(segment.document_parts[owner])))
        assert sorted(documents) == corpus.ids(tree), tree
        assert parts == corpus.parts(tree), tree
        kept.append(len(documents))
    assert sum(0 < count < len(corpus.documents) for count in kept) > TREES / 3


def searched(corpus: Corpus, tree: dict[str, Any], mode: str) -> set[tuple[str, int]]:
    """The parts that a search finds, by document and number."""
    found = corpus.workspace.search(
        "cancel my plan", mode=mode, group_by="part", top_k=1000, threshold=0, **asked(tree)
    )
    return {part_of(corpus, hit) for hit in found}


def part_at(corpus: Corpus, id: str, start: int) -> int:
    """The number of the part that a character of a document stands in."""
    text = next(each.text for each in corpus.documents if each.id == id)
    return text.count("\n", 0, start)


def asked(tree: dict[str, Any] | None) -> dict[str, Any]:
    return {} if tree is None else {"filter": Filter(expression=expression_of(tree))}


@pytest.mark.parametrize("mode", ["best_span", "lexical", "hybrid"])
def test_searches_find_what_passes(corpus: Corpus, mode: str) -> None:
    everything = searched(corpus, None, mode)
    assert everything
    for tree in trees(len(mode), SEARCHED):
        assert searched(corpus, tree, mode) == everything & corpus.parts(tree), tree


def test_documents_found_by_their_nuggets_have_a_part_that_passes(corpus: Corpus) -> None:
    for tree in trees(20, SEARCHED):
        options = asked(tree) | {"mode": "maxsim", "group_by": "document", "threshold": 0, "top_k": 1000}
        found = corpus.workspace.search("cancel my plan", **options)
        assert sorted(hit.document_id for hit in found) == sorted({id for id, _ in corpus.parts(tree)}), tree


def test_counts_previews_exports_and_lists_are_of_what_passes(corpus: Corpus) -> None:
    workspace = corpus.workspace
    deleting = DocumentService(workspace.store, None)  # type: ignore[arg-type]
    for tree in trees(21, SEARCHED):
        filter, ids, parts = Filter(expression=expression_of(tree)), corpus.ids(tree), corpus.parts(tree)
        with_parts = len({id for id, _ in parts})
        request = SearchRequest("c", text="plan", threshold=0, filter=filter, group_by="document", total=True)
        (answer,) = workspace.service.search(request)
        assert answer.total is not None
        assert answer.total.documents == with_parts
        assert answer.filtered == Filtered(len(ids), len(corpus.documents), ())
        shown = preview(workspace.service, PreviewRequest("c", phrases=("plan",), threshold=0, filter=filter))
        assert shown.phrases[0].documents == with_parts
        *hits, end = export(workspace.service, SearchRequest("c", text="plan", threshold=0, filter=filter))
        assert {part_of(corpus, hit) for hit in hits} == parts
        assert end.filtered == answer.filtered
        assert [each.id for each in workspace.reader.list("c", 1000, filter=filter).documents] == ids
        assert sorted(each.id for each in workspace.reader.export("c", filter).documents) == ids
        assert workspace.reader.metadata("c", 1, filter).documents == len(ids)
        assert deleting.delete_matching("c", filter, dry_run=True).deleted == len(ids)


def test_saved_phrases_match_what_passes(tmp_path) -> None:
    """Of documents that come after the phrases."""
    known = filter_trees.documents(Random(7), 40)
    asked_of = dict(zip(map(str, range(SEARCHED)), trees(22, SEARCHED), strict=True))
    with Workspace(tmp_path) as workspace:
        workspace.collection()
        filters = {name: Filter(expression=expression_of(tree)) for name, tree in asked_of.items()}
        workspace.phrases.put("c", [PhraseDraft(name, "plan", 0.0, "score", filters[name]) for name in filters])
        workspace.index(known)
        catalog = workspace.catalog
        events = read_events(catalog, catalog.collection("c").id, None, 10**9).events
    found: dict[str, set[str]] = {name: set() for name in asked_of}
    for event in events:
        found[event.phrase].add(event.document_id)
    for name, tree in asked_of.items():
        expected = {
            each.id
            for each in known
            if any(reference.passes(tree, each.id, each.metadata, part.metadata) for part in each.parts)
        }
        assert found[name] == expected, tree


def part_of(corpus: Corpus, hit: Any) -> tuple[str, int]:
    return hit.document_id, part_at(corpus, hit.document_id, hit.start)


def test_strings_and_json_are_stable() -> None:
    for tree in trees(2, TREES):
        expression = expression_of(tree)
        assert json_of(expression) == tree
        assert parsed(printed(expression)) == expression
        assert printed(parsed(printed(expression))) == printed(expression)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agee = 1", ["No document has the key `agee`", "character 1", "`age`"]),
        ("age = 1 and part.x = 1", ["No part has the key `part.x`", "character 13"]),
        ("from.town = 1", ["No document has the key `from.town`", "character 1", "Did you mean `from.city`?"]),
        ("ciyt = 1", ["Did you mean `from.city`?"]),
        ("id = 1", ["Did you mean `document.id`?"]),
        ('document.idd = "d"', ["Did you mean `document.id`?"]),
        ('age >= "a"', ["compares strings", "has numbers", "character 1"]),
        ('name contains "a"', ["compares lists", "has strings"]),
        ("name < 2025-01-01", ["compares dates"]),
        ("age = true", ["compares true or false", "has numbers"]),
    ],
)
def test_a_filter_that_does_not_suit_the_metadata_is_refused(tmp_path, text: str, words: list[str]) -> None:
    with Workspace(tmp_path) as workspace:
        metadata = {"age": 7, "name": "Ann", "from": {"city": "Rome"}}
        workspace.index([Document("d", (Part("Text.", {"speaker": "agent"}),), metadata)])
        for read in (workspace.reader.list, workspace.reader.export, workspace.reader.metadata):
            with pytest.raises(FilterInvalid) as error:
                read("c", filter=Filter(expression=parsed(text)))
            assert all(word in f"{error.value} {error.value.hint}" for word in words), error.value
        with pytest.raises(FilterInvalid):
            workspace.search("text", filter=Filter(expression=parsed(text)))
        workspace.catalog.create_collection("empty", workspace.catalog.collection("c").recipe)
        assert not workspace.search("text", collection="empty", filter=Filter(expression=parsed(text)))


def test_hints_name_no_key_beyond_the_reach_of_a_key(tmp_path) -> None:
    of_a, of_b = {"tenant": "a", "from": {"city": "Rome"}}, {"tenant": "b", "from": {"secret": 1}}
    with Workspace(tmp_path) as workspace:
        workspace.index([Document(of["tenant"], (Part("Text."),), of) for of in (of_a, of_b)])
        with pytest.raises(FilterInvalid) as error:
            workspace.reader.list("c", filter=Filter(expression=parsed("secret = 1"), always=parsed('tenant = "a"')))
        assert error.value.hint != "Did you mean `from.secret`?"
        with pytest.raises(FilterInvalid) as error:
            workspace.reader.list("c", filter=Filter(expression=parsed("secret = 1")))
        assert error.value.hint == "Did you mean `from.secret`?"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "character 1"),
        ("a =", "character 4"),
        ("a = 1 and", "character 10"),
        ("a = 1 b = 2", "character 7"),
        ("(a = 1", "character 7"),
        ("a ! 1", "character 3"),
        ("a < true", "character 1"),
        ("a starts with 1", "character 1"),
        ("a in 1", "character 6"),
        ("a = 2025-02-30", "character 5"),
        ("a = 'x'", "character 5"),
        ('a = "\\ud800"', "character 1"),
        ("not " * 21 + "a = 1", "character 85"),
        ("(" * 21 + "a = 1", "character 22"),
        ("a = 1" + " or a = 1" * 1000, "character 9001"),
    ],
)
def test_a_string_that_is_no_filter_is_refused_at_its_place(text: str, place: str) -> None:
    with pytest.raises(FilterInvalid, match=f"{place} "):
        expression_of(text)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (1, "the top"),
        ({"and": []}, "the top"),
        ({"and": [{"key": "a", "op": "=", "value": 1}, {"key": "a"}]}, r"and\[1\]"),
        ({"not": {"key": "a", "op": "exists", "value": 1}}, "not"),
        ({"not": {"key": "a b", "op": "exists"}}, "not"),
        ({"key": "a", "op": "in", "value": 1}, "value"),
        ({"key": "a", "op": "=", "value": [1]}, "value"),
        ({"key": "a", "op": "=", "value": {"b": 1}}, "the top"),
        ({"key": "a", "op": "<", "value": float("inf")}, "the top"),
    ],
)
def test_json_that_is_no_filter_is_refused_at_its_place(value: Any, place: str) -> None:
    with pytest.raises(FilterInvalid, match=f"at {place} "):
        expression_of(value)


def test_depth_is_limited_in_json() -> None:
    tree: dict[str, Any] = {"key": "a", "op": "exists"}
    for _ in range(20):
        tree = {"not": tree}
    assert json_of(expression_of(tree)) == tree
    with pytest.raises(FilterInvalid, match="More than 20"):
        expression_of({"not": tree})


@pytest.mark.parametrize(
    ("value", "limit"),
    [
        ("a = 1 or " * 1001 + "(", "1,000 comparisons"),
        ("a in [" + "1," * 10_001 + "(", "10,000 values"),
        ("a in [" + "1," * 9_000 + "1] or a in [" + "1," * 1_001 + "(", "10,000 values"),
        ("(" * 65_537, "65,536 characters"),
        ({"or": [*({"key": "a", "op": "exists"},) * 1001, "wrong"]}, "1,000 comparisons"),
        ({"key": "a", "op": "in", "value": [*range(10_001), {}]}, "10,000 values"),
        ({"and": [*({"key": "a", "op": "in", "value": [*range(4_000)]},) * 3, "wrong"]}, "10,000 values"),
        ({"or": [*({"key": "a", "op": "=", "value": "x" * 1000},) * 66, "wrong"]}, "65,536 characters"),
        ({"or": [*({"key": "a" * 1000, "op": "exists"},) * 66, "wrong"]}, "65,536 characters"),
    ],
)
def test_parsing_ends_where_a_limit_is_exceeded(value: Any, limit: str) -> None:
    # What follows is wrong, too, and is not read any more.
    with pytest.raises(FilterInvalid, match=f"at most {limit}"):
        expression_of(value)


def test_a_filter_within_the_limits_is_read_again_however_long_it_is_written() -> None:
    strings = [f"{number:04d}" + '"' for number in range(9_000)]
    expression = expression_of({"key": "a", "op": "in", "value": strings})
    written = printed(expression)
    assert len(written) > 65_536
    assert restored(written) == expression


def test_the_filters_of_one_request_share_a_budget() -> None:
    batch = FilterBatch()
    long = "a in [" + ", ".join(["7"] * 9_000) + "]"
    for _ in range(100):
        assert batch.expression_of(long) == expression_of(long)
    for number in range(9):
        batch.expression_of(f"b = {number} or {long}")
    with pytest.raises(InvalidInput, match="262,144 characters in all"):
        batch.expression_of("b = 10")
    assert batch.expression_of(long) == expression_of(long)


def test_filters_that_are_refused_spend_the_budget_of_their_request() -> None:
    batch = FilterBatch()
    reasons = []
    for number in range(8):
        with pytest.raises(InvalidInput) as refused:
            batch.expression_of("(" * (65_536 - number))
        reasons.append(type(refused.value))
    assert reasons == [FilterInvalid] * 5 + [InvalidInput] * 3
