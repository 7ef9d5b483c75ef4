"""Sorted, collapsed, limited, counted: what naive loops make of the plain list of hits. Pages are slices of it."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.requests import SearchRequest
from app.search.answers import Hit, SearchAnswer
from models.errors import InvalidInput
from models.text.words import words
from tests import filter_trees, reference
from tests.examples import examples
from tests.workspace import Workspace

ALL = 1000
KEYS = ["a", "day", "tags", "a.b", "a.b.c", "part.a", "part.day", "part.a.b", "document.id"]
keys = st.sampled_from(KEYS)
thresholds = st.sampled_from([0.85, 0.92])


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    random = Random(11)
    with Workspace(tmp_path_factory.mktemp("arranged"), words=True) as made:
        documents = filter_trees.documents(random, 10)
        for begin in range(0, len(documents), 30):  # several segments
            made.index(documents[begin : begin + 30], merge=False)
        yield made


def ask(workspace: Workspace, threshold: float, **options: Any) -> SearchAnswer:
    request = SearchRequest("c", text="cancel my plan", threshold=threshold, threshold_on="raw", **options)
    (answer,) = workspace.service.search(request)
    return answer


def value_of(hit: Hit, key: str) -> Any:
    if key == "document.id":
        return hit.document_id
    level, _, rest = key.partition("part.")
    metadata = hit.metadata if level else hit.part_metadata or {}
    return reference.value_at(metadata, (level or rest).split("."))


def places(hits: Any) -> list[tuple[str, int, int]]:
    return [(hit.document_id, hit.start, hit.end) for hit in hits]


def expected(
    hits: list[Hit], sort: str | None, descending: bool, collapse: str | None, per_document: int | None
) -> list[tuple[Hit, int | None]]:
    """The list with the copies of each, by naive loops."""
    listed: list[tuple[Hit, int | None]] = [(hit, None) for hit in hits]
    if collapse is not None:
        values = [" ".join(words(hit.text)) if collapse == "text" else value_of(hit, collapse) for hit in hits]
        groups = [None if value in (None, reference.MISSING) else reference.json_key(value) for value in values]
        listed = list(reference.first_with(hits, groups, 1))
    if per_document is not None:
        ids = [hit.document_id for hit, _ in listed]
        listed = [item for item, _ in reference.first_with(listed, ids, per_document)]
    if sort is None:
        return listed
    dates = sort != "document.id"
    return reference.insertion_sorted(
        listed,
        lambda one, other: reference.comes_before(value_of(one[0], sort), value_of(other[0], sort), descending, dates),
    )


@settings(max_examples=examples(64))
@given(
    thresholds,
    st.none() | keys,
    st.booleans(),
    st.none() | st.just("text") | keys,
    st.none() | st.integers(1, 3),
    st.sampled_from(["span", "part", "document"]),
    st.integers(2, 4),
)
def test_the_list_is_what_naive_loops_make_of_all_hits(
    workspace: Workspace,
    threshold: float,
    sort: str | None,
    descending: bool,
    collapse: str | None,
    per_document: int | None,
    group_by: Any,
    pages: int,
) -> None:
    hits = list(ask(workspace, threshold, top_k=ALL, group_by=group_by).hits)
    assert 0 < len(hits) < ALL
    wanted = expected(hits, sort, descending, collapse, per_document)
    order = None if sort is None else f"{sort}:desc" if descending else sort
    options = {"sort": order, "collapse": collapse, "per_document": per_document, "group_by": group_by}

    whole = ask(workspace, threshold, top_k=ALL, **options)
    assert places(whole.hits) == places(hit for hit, _ in wanted)
    assert [hit.copies for hit in whole.hits] == [copies for _, copies in wanted]
    assert whole.cursor is None
    if sort or collapse or per_document:
        assert whole.arranged is not None
        assert (whole.arranged.hits, whole.arranged.listed) == (len(hits), len(wanted))

    size = -(-max(len(wanted), 1) // pages)
    answer = ask(workspace, threshold, top_k=size, **options)
    paged = list(answer.hits)
    while answer.cursor is not None:
        answer = ask(workspace, threshold, top_k=size, cursor=answer.cursor, **options)
        paged += answer.hits
    assert places(paged) == places(whole.hits)
    assert [hit.rank for hit in paged] == list(range(1, len(paged) + 1))
    assert places(ask(workspace, threshold, top_k=size, offset=size, **options).hits) == places(paged[size : 2 * size])


@settings(max_examples=examples(40))
@given(thresholds, keys, st.sampled_from(["span", "document"]))
def test_counts_are_those_of_loops_over_all_hits(
    workspace: Workspace, threshold: float, key: str, group_by: Any
) -> None:
    hits = ask(workspace, threshold, top_k=ALL, group_by=group_by).hits
    borders = [-2.5, 1.0, 7.0]
    wanted = [key, f"{key}:month", f"{key}:week", f"{key}:day", f"{key}:-2.5, 1,7"]
    answer = ask(workspace, threshold, top_k=1, counts=tuple(wanted), collapse="text", group_by=group_by)
    assert answer.counts is not None
    assert [each.key for each in answer.counts] == wanted
    values, *by_period, by_range = answer.counts

    naive: dict[str, list[Hit]] = {}
    without = 0
    for hit in hits:
        value = value_of(hit, key)
        members = value if isinstance(value, list) else [value]
        plain = [
            each for each in members if each not in (None, reference.MISSING) and not isinstance(each, list | dict)
        ]
        for name in {reference.json_key(each) for each in plain}:
            naive.setdefault(name, []).append(hit)
        without += not plain
    found = {reference.json_key(each.value): (each.hits, each.documents) for each in values.buckets}
    assert values.distinct == len(naive)
    assert values.without == without
    if len(naive) <= 100:
        assert found == {name: (len(of), len({hit.document_id for hit in of})) for name, of in naive.items()}
    assert [-each.hits for each in values.buckets] == sorted(-each.hits for each in values.buckets)

    for period, counts in zip(("month", "week", "day"), by_period, strict=True):
        days = [day for hit in hits for day in reference.periods(value_of(hit, key), period)]
        dated = [] if key == "document.id" else days
        assert [(each.value, each.hits) for each in counts.buckets] == [
            (day, dated.count(day)) for day in sorted(set(dated))
        ]
    numbers = [number for hit in hits for number in reference.ranges(value_of(hit, key), borders)]
    assert [each.hits for each in by_range.buckets] == [numbers.count(place) for place in range(len(borders) + 1)]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"sort": "dya"}, "sort"),
        ({"sort": "a:b:desc"}, "sort"),
        ({"collapse": "part.teem"}, "collapse"),
        ({"collapse": "caller.cty"}, "collapse"),
        ({"sort": "day.hour"}, "sort"),
        ({"sort": " score : asc"}, "sort"),
        ({"counts": ("day:year",)}, "counts"),
        ({"counts": ("a:7,1",)}, "counts"),
        ({"sort": "day", "threshold": None}, "sort"),
        ({"counts": ("day",), "threshold": None}, "counts"),
    ],
)
def test_what_cannot_be_arranged_is_refused(workspace: Workspace, options: dict[str, Any], field: str) -> None:
    request = {"threshold": 0.5} | options
    with pytest.raises(InvalidInput) as error:
        workspace.search("cancel my plan", **request)
    assert error.value.field == field
    assert error.value.hint


def test_the_order_of_scores_is_that_of_the_search(workspace: Workspace) -> None:
    assert places(ask(workspace, 0.85, sort="score").hits) == places(ask(workspace, 0.85).hits)
    with pytest.raises(InvalidInput, match="always the best first"):
        ask(workspace, 0.85, sort="score:desc")


def test_without_a_threshold_the_best_hits_are_collapsed(workspace: Workspace) -> None:
    (answer,) = workspace.service.search(SearchRequest("c", text="cancel my plan", collapse="text", top_k=5))
    assert answer.arranged is not None
    assert answer.arranged.complete
    assert len({words(hit.text) for hit in answer.hits}) == len(answer.hits) == 5
