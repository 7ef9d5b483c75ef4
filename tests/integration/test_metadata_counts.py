"""Counts of documents by their metadata equal those of loops over the documents, and the totals of lists."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.collections.reading import MetadataCounts
from indexer.engine.query import Filter
from models.errors import InvalidInput
from models.types import Document, Metadata, Part
from tests import reference
from tests.examples import examples
from tests.workspace import Workspace

VALUES = st.sampled_from([0, 1, 1.0, True, "1", "1.0", "a", None, [1.0], ["a", 1, "a"], ["b", True], [], 2.5])
METADATA = st.dictionaries(st.sampled_from(["kind", "year"]), VALUES, max_size=2)
PARTS = st.lists(METADATA, min_size=1, max_size=3)


def documents_of(rows: list[tuple[Metadata, list[Metadata]]]) -> list[Document]:
    return [
        Document(f"d{number}", tuple(Part("Text.", part) for part in parts), metadata)
        for number, (metadata, parts) in enumerate(rows)
    ]


def as_numbers(counts: MetadataCounts) -> dict[tuple[str, str], dict[str, int]]:
    return {
        (field.level, field.name): {reference.json_key(one.value): one.documents for one in field.values}
        for field in counts.fields
    }


@given(st.lists(st.tuples(METADATA, PARTS), min_size=1, max_size=8), METADATA, METADATA)
@settings(max_examples=examples(40), deadline=None)
def test_counts_are_those_of_loops_and_of_lists(tmp_path_factory, rows, document_filter, part_filter) -> None:
    documents, filter = documents_of(rows), Filter(document_filter, part_filter)
    with Workspace(tmp_path_factory.mktemp("metadata")) as workspace:
        workspace.index([*documents[::2], *documents_of([({"kind": "replaced"}, [{"year": "replaced"}])])])
        workspace.index([documents[0], *documents[1::2]])
        reader = workspace.reader
        counts = reader.metadata("c", 100, filter)
        assert as_numbers(counts) == reference.metadata_counts(rows, document_filter, part_filter)
        assert counts.documents == reader.list("c", filter=filter).total
        for field in counts.fields:
            assert field.distinct == len(field.values)
            for one in field.values:
                levels = {"document": dict(filter.document), "part": dict(filter.part)}
                levels[field.level][field.name] = one.value
                assert one.documents == reader.list("c", filter=Filter(**levels)).total


def test_the_most_frequent_values_come_first(tmp_path: Path) -> None:
    with Workspace(tmp_path) as workspace:
        workspace.index(documents_of([({"kind": kind}, [{}]) for kind in ("b", "c", "c", "a", "d", "d", "d")]))
        reader = workspace.reader
        (field,) = reader.metadata("c", limit=3).fields
        assert [(one.value, one.documents) for one in field.values] == [("d", 3), ("c", 2), ("a", 1)]
        assert field.distinct == 4
        for limit in (0, 1001):
            with pytest.raises(InvalidInput):
                reader.metadata("c", limit)


def test_a_collection_without_metadata_has_no_fields(tmp_path: Path) -> None:
    with Workspace(tmp_path) as workspace:
        workspace.index(documents_of([({}, [{}])]))
        counts = workspace.reader.metadata("c")
        assert (counts.fields, counts.documents) == ((), 1)
