"""What may be called what."""

import pytest

from indexer.catalog.names import checked_collection_name, is_document_id, possible_ids
from models.errors import InvalidInput


@pytest.mark.parametrize("name", ["a", "0", "calls_2024-05", "x" * 63])
def test_names_that_collections_may_have(name):
    assert checked_collection_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", "_a", "Calls", "a b", "a/b", "..", "é", "a\n", "x" * 64])
def test_names_that_they_may_not_have(name):
    with pytest.raises(InvalidInput) as caught:
        checked_collection_name(name)
    assert caught.value.field == "collection"
    assert "63" in caught.value.hint


@pytest.mark.parametrize("id", ["a", " ", "\n", "日本", "😀" * 512])
def test_ids_that_documents_may_have(id):
    assert is_document_id(id)


@pytest.mark.parametrize("id", ["", "x" * 513, "a\0", "\ud800", "a\udfff"])
def test_ids_that_they_may_not_have(id):
    assert not is_document_id(id)
    assert list(possible_ids(["a", id])) == ["a"]
