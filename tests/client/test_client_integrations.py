"""Retrievers and stores, each with the real framework: documents quote, and filters mean what they mean there."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from spanseek.errors import SpanseekError
from spanseek.errors_by_code import InvalidFilter, InvalidInput
from spanseek.integrations import filters
from spanseek.integrations.quotes import citation, quoted
from spanseek.models import Hit
from spanseek.tables import text_id
from tests.client.homes import Homes

LEASES = [
    {
        "id": "lease",
        "parts": [{"text": "The rent is due monthly.", "metadata": {"page": 3}}],
        "metadata": {"year": 2019},
    },
    {
        "id": "talk",
        "parts": [{"text": "Hello. You took my rent twice.", "metadata": {"start": 1.5, "end": 4.0}}],
        "metadata": {"year": 2021, "tags": ["a", "b"], "team": "A"},
    },
    {"id": "note", "text": "No rent at all.", "metadata": {"year": 2023, "team": "B"}},
]


@pytest.fixture(scope="session", autouse=True)
def leases(homes: Homes) -> None:
    homes.connected.collection("leases").add(LEASES)


@pytest.fixture
def haystack_store(homes: Homes) -> Iterator[Callable[[str], Any]]:
    """Makes stores over a collection of the server."""
    module = pytest.importorskip("spanseek.integrations.haystack")
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(closing(module.SpanseekDocumentStore(homes.connected.url, name)))


def check_quotation(homes: Homes, metadata: dict[str, Any], text: str) -> None:
    """The metadata of a document say where its quotation is, and the text has it."""
    whole = homes.connected.collection("leases").read(metadata["document_id"]).text
    assert whole[metadata["start"] : metadata["end"]] == metadata["quote"]
    assert metadata["quote"] in text


def test_langchain_documents_quote(homes: Homes) -> None:
    langchain = pytest.importorskip("spanseek.integrations.langchain")
    retriever = langchain.SpanseekRetriever(collection=homes.connected.collection("leases"), k=1, filter={"year": 2021})
    (document,) = retriever.invoke("you took my rent twice")
    assert (document.page_content, document.metadata["from_s"]) == ("Hello. You took my rent twice.", 1.5)
    assert (document.metadata["team"], document.metadata["score"], document.id) == ("A", 1.0, "talk[7:29]")
    assert citation(document.metadata) == '"You took my rent twice" (talk[7:29], 1.5 s)'
    check_quotation(homes, document.metadata, document.page_content)


def test_langchain_has_a_store_without_embeddings(homes: Homes) -> None:
    langchain = pytest.importorskip("spanseek.integrations.langchain")
    collection = homes.connected.collection("langchain")
    store = langchain.SpanseekVectorStore.from_texts(
        ["cancel my plan", "where is my parcel"], None, [{"n": 1}, {"n": 2}], ids=["a", "b"], collection=collection
    )
    ((document, score),) = store.similarity_search_with_relevance_scores("cancel my plan", k=1)
    assert (document.page_content, document.metadata["document_id"], score) == ("cancel my plan", "a", 1.0)
    (found,) = store.as_retriever(search_kwargs={"k": 1, "filter": {"n": {"$gt": 1}}}).invoke("cancel my plan")
    assert found.metadata["document_id"] == "b"
    assert [each.page_content for each in store.get_by_ids(["b", "none"])] == ["where is my parcel"]
    (id,) = store.add_texts(["one more"])
    assert store.delete([id])
    assert store.get_by_ids([id]) == []


def test_langchain_returns_an_id_for_every_document(homes: Homes) -> None:
    langchain = pytest.importorskip("spanseek.integrations.langchain")
    document = pytest.importorskip("langchain_core.documents").Document
    store = langchain.SpanseekVectorStore(homes.connected.collection("without-ids"))
    ids = store.add_documents([document(id="a", page_content="hello"), document(page_content="goodbye")])
    assert ids == ["a", text_id("goodbye")]
    assert [each.page_content for each in store.get_by_ids(ids)] == ["hello", "goodbye"]


def test_langchain_says_which_documents_are_refused(homes: Homes) -> None:
    langchain = pytest.importorskip("spanseek.integrations.langchain")
    store = langchain.SpanseekVectorStore(homes.connected.collection("refusing"))
    with pytest.raises(SpanseekError, match="1 of 2 documents were refused: document 2: the id has 600 ") as refused:
        store.add_texts(["hello", "hello"], ids=["a", "x" * 600])
    assert refused.value.added.indexed == 1
    assert [each.id for each in store.get_by_ids(["a"])] == ["a"]


def test_llama_index_nodes_quote(homes: Homes) -> None:
    llama_index = pytest.importorskip("spanseek.integrations.llama_index")
    stores = pytest.importorskip("llama_index.core.vector_stores")
    asked = stores.MetadataFilters(filters=[stores.MetadataFilter(key="year", value=2019)])
    retriever = llama_index.SpanseekRetriever(homes.connected.collection("leases"), k=1, filters=asked)
    (found,) = retriever.retrieve("the rent is due")
    assert (found.score, found.node.text, found.node.ref_doc_id) == (1.0, "The rent is due monthly.", "lease")
    assert (found.node.start_char_idx, found.node.end_char_idx) == (0, 24)
    assert citation(found.metadata) == '"The rent is due" (lease[0:15], page 3)'
    check_quotation(homes, found.metadata, found.node.text)


def test_haystack_documents_quote_in_a_pipeline_that_is_saved(
    homes: Homes, haystack_store: Callable[[str], Any]
) -> None:
    haystack = pytest.importorskip("spanseek.integrations.haystack")
    pipelines = pytest.importorskip("haystack")
    store = haystack_store("leases")
    pipeline = pipelines.Pipeline()
    pipeline.add_component("retriever", haystack.SpanseekRetriever(store, top_k=1))
    (document,) = pipeline.run({"retriever": {"query": "no rent at all"}})["retriever"]["documents"]
    assert (document.content, document.score, document.meta["document_id"]) == ("No rent at all.", 1.0, "note")
    check_quotation(homes, document.meta, document.content)
    again = pipelines.Pipeline.loads(pipeline.dumps(), allowed_modules=["spanseek.integrations.haystack"])
    assert again.run({"retriever": {"query": "no rent at all"}})["retriever"]["documents"] == [document]
    again.get_component("retriever").document_store.close()


def test_haystack_writes_by_its_policies(haystack_store: Callable[[str], Any]) -> None:
    types = pytest.importorskip("haystack.document_stores.types")
    errors = pytest.importorskip("haystack.document_stores.errors")
    document = pytest.importorskip("haystack").Document
    store = haystack_store("haystack")
    assert store.write_documents([document(id="a", content="one", meta={"n": 1})]) == 1
    newer = [document(id="a", content="two"), document(id="b", content="three")]
    with pytest.raises(errors.DuplicateDocumentError):
        store.write_documents(newer, types.DuplicatePolicy.FAIL)
    assert store.write_documents(newer, types.DuplicatePolicy.SKIP) == 1
    assert {each.id: each.content for each in store.filter_documents()} == {"a": "one", "b": "three"}
    store.write_documents(newer, types.DuplicatePolicy.OVERWRITE)
    store.delete_documents(["b", "none"])
    assert [each.content for each in store.filter_documents()] == ["two"]
    assert store.count_documents() == 1


def test_haystack_has_no_documents_before_the_first(haystack_store: Callable[[str], Any]) -> None:
    store = haystack_store("fresh")
    assert (store.count_documents(), store.filter_documents()) == (0, [])
    store.delete_documents(["x"])


def test_haystack_refuses_ids_that_come_twice(haystack_store: Callable[[str], Any]) -> None:
    types = pytest.importorskip("haystack.document_stores.types")
    errors = pytest.importorskip("haystack.document_stores.errors")
    document = pytest.importorskip("haystack").Document
    store = haystack_store("twice")
    twice = [document(id="a", content="one"), document(id="b", content="two"), document(id="a", content="three")]
    with pytest.raises(errors.DuplicateDocumentError, match="'a' is there already"):
        store.write_documents(twice, types.DuplicatePolicy.FAIL)
    assert store.count_documents() == 0
    assert store.write_documents(twice, types.DuplicatePolicy.SKIP) == 2
    assert {each.id: each.content for each in store.filter_documents()} == {"a": "one", "b": "two"}
    for texts in (["text"], "text", None):
        with pytest.raises(ValueError, match="Haystack's documents"):
            store.write_documents(texts)


def test_haystack_passes_a_number_of_hits_on_that_is_refused(haystack_store: Callable[[str], Any]) -> None:
    haystack = pytest.importorskip("spanseek.integrations.haystack")
    with pytest.raises(InvalidInput, match="top_k"):
        haystack.SpanseekRetriever(haystack_store("leases")).run(query="rent", top_k=0)


def test_haystack_says_which_documents_are_refused(haystack_store: Callable[[str], Any]) -> None:
    document = pytest.importorskip("haystack").Document
    with pytest.raises(SpanseekError, match="1 of 1 documents were refused: document 1: the id has 600 "):
        haystack_store("refusing").write_documents([document(id="x" * 600, content="hello")])


def haystack_filter(operator: str, value: object, field: str = "meta.year") -> dict[str, object]:
    return {"field": field, "operator": operator, "value": value}


@pytest.mark.parametrize(
    "asked",
    [
        haystack_filter("==", 2021),
        haystack_filter("!=", "A", "meta.team"),  # of a missing key true
        haystack_filter("==", None, "meta.team"),
        haystack_filter(">", 2019),
        haystack_filter("<=", 2021),
        haystack_filter("in", [2019, 2023]),
        haystack_filter("not in", ["B"], "meta.team"),
        haystack_filter("==", "talk", "id"),
        haystack_filter("not in", ["talk"], "id"),
        {"operator": "OR", "conditions": [haystack_filter("<", 2020), haystack_filter("==", "B", "meta.team")]},
        {"operator": "NOT", "conditions": [haystack_filter(">", 2020), haystack_filter("==", "B", "meta.team")]},
    ],
)
def test_filters_of_haystack_mean_the_same(haystack_store: Callable[[str], Any], asked: dict[str, Any]) -> None:
    matches = pytest.importorskip("haystack.utils.filters").document_matches_filter
    store = haystack_store("leases")
    expected = {document.id for document in store.filter_documents() if matches(asked, document)}
    assert {document.id for document in store.filter_documents(asked)} == expected


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        ({"year": {"$gte": 2021, "$lt": 2023}}, {"talk"}),
        ({"$or": [{"team": "B"}, {"year": {"$in": [2019]}}]}, {"note", "lease"}),
        ({"$not": {"team": "B"}}, {"lease", "talk"}),
        ({"team": {"$exists": False}}, {"lease"}),
        ({"team": {"$nin": ["A"]}, "tags": None}, {"lease", "note"}),
        ({"part.page": 3}, {"lease"}),
        ({"$or": [{}, {"team": "B"}]}, {"lease", "talk", "note"}),
        ({"$and": [{}, {"$or": []}, {"team": {}}]}, {"lease", "talk", "note"}),
    ],
)
def test_filters_of_langchain_mean_what_they_say(homes: Homes, asked: dict[str, Any], ids: set[str]) -> None:
    documents = homes.connected.collection("leases").documents({"expression": filters.of_mongo(asked)})
    assert {document.id for document in documents} == ids


@pytest.mark.parametrize(
    ("key", "operator", "value", "ids"),
    [
        ("year", ">=", 2021, {"talk", "note"}),
        ("team", "nin", ["A"], {"lease", "note"}),
        ("tags", "any", ["b", "c"], {"talk"}),
        ("tags", "all", ["a", "b"], {"talk"}),
        ("tags", "contains", "a", {"talk"}),
        ("team", "is_empty", None, {"lease"}),
    ],
)
def test_filters_of_llama_index_mean_what_they_say(
    homes: Homes, key: str, operator: str, value: object, ids: set[str]
) -> None:
    stores = pytest.importorskip("llama_index.core.vector_stores")
    one = stores.MetadataFilter(key=key, operator=stores.FilterOperator(operator), value=value)
    collection = homes.connected.collection("leases")
    tree = filters.of_llama_index(stores.MetadataFilters(filters=[one]))
    assert {document.id for document in collection.documents({"expression": tree})} == ids
    denied = stores.MetadataFilters(filters=[one], condition=stores.FilterCondition.NOT)
    others = collection.documents({"expression": filters.of_llama_index(denied)})
    assert {document.id for document in others} == {"lease", "talk", "note"} - ids


def hit_of(metadata: dict[str, Any], **fields: Any) -> Hit:
    place = {"document_id": "talk", "start": 0, "end": 4, "text": "rent"}
    return Hit(**place, score=1, raw=1, mode="best_span", rank=1, metadata=metadata, **fields)


def test_a_document_never_speaks_in_the_place_of_its_citation() -> None:
    own = {"score": "B", "start": "2024-01-01", "verdict": "guilty", "quote": "q", "part": "x", "from_s": 9, "k": 1}
    metadata = quoted(hit_of(own | {"page": None, "metadata": 2})).metadata
    assert metadata.pop("metadata") == own | {"page": None, "metadata": 2}
    assert metadata == {"document_id": "talk", "start": 0, "end": 4, "quote": "rent", "score": 1, "k": 1}
    assert citation(metadata | {"page": None}) == '"rent" (talk[0:4])'


def test_a_restored_text_is_no_quotation() -> None:
    hit = hit_of({"k": 1}, restored=True, confidence=0.5, context={"text": "my rent", "start": 3, "end": 7})
    metadata = quoted(hit).metadata
    assert "quote" not in metadata
    assert (metadata["restored"], metadata["confidence"], metadata["restored_text"]) == (True, 0.5, "rent")
    assert citation(metadata) == "rent (talk[0:4], restored, confidence 0.50)"
    node = pytest.importorskip("spanseek.integrations.llama_index")._node(hit)
    assert (node.text, node.start_char_idx, node.end_char_idx) == ("my rent", None, None)


def test_the_page_of_the_part_comes_before_that_of_the_document() -> None:
    assert quoted(hit_of({"page": 3}, part_metadata={"page": None})).metadata["page"] == 3
    metadata = quoted(hit_of({"page": 3}, part_metadata={"page": 4})).metadata
    assert (metadata["page"], metadata["metadata"]) == (4, {"page": 3})
    assert "metadata" not in quoted(hit_of({"page": 3, "year": None})).metadata


def test_a_citation_has_the_time_of_recordings_alone() -> None:
    metadata = quoted(hit_of({}, part_metadata={"start": "0:01", "end": True})).metadata
    assert "from_s" not in metadata
    assert citation(metadata) == citation(metadata | {"from_s": "0:01"}) == '"rent" (talk[0:4])'


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (haystack_filter("==", "x", "content"), "not for 'content'"),
        ({"field": "meta.year", "value": 1}, "no 'operator'"),
        ({"field": "meta.year", "operator": "=="}, "no 'value'"),
        ({"operator": "=="}, "no 'field'"),
        ({"conditions": [haystack_filter("==", 1)]}, "no 'operator'"),
        ({"operator": "XOR", "conditions": [haystack_filter("==", 1)]}, "there are AND, OR, NOT"),
    ],
)
def test_filters_of_haystack_that_cannot_be_asked_are_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(filters.FilterNotTranslated, match=said):
        filters.of_haystack(asked)


def test_an_empty_condition_is_always_true() -> None:
    one = haystack_filter("==", 1)
    assert filters.of_haystack({"operator": "OR", "conditions": [{}, one]}) is None
    assert filters.of_haystack({"operator": "NOT", "conditions": [{}, one]}) == {"not": filters.of_haystack(one)}
    stores = pytest.importorskip("llama_index.core.vector_stores")
    listed = [stores.MetadataFilters(filters=[]), stores.MetadataFilter(key="year", value=1)]
    either = stores.MetadataFilters(filters=listed, condition=stores.FilterCondition.OR)
    assert filters.of_llama_index(either) is None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"$or": {"x": 1}}, "'\\$or' takes a list"),
        ({"$or": ["x"]}, "not 'x'"),
        ({"$not": 1}, "not 1"),
        ({"$not": {}}, "nothing passes"),
    ],
)
def test_filters_of_langchain_that_say_nothing_are_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(filters.FilterNotTranslated, match=said):
        filters.of_mongo(asked)


def test_keys_that_no_document_has_are_refused(homes: Homes) -> None:
    tree = filters.of_mongo({"$not": {"nope": 1}})
    with pytest.raises(InvalidFilter, match="No document has the key `nope`"):
        list(homes.connected.collection("leases").documents({"expression": tree}))


def test_operators_without_a_counterpart_are_named() -> None:
    with pytest.raises(filters.FilterNotTranslated, match=r"'\$regex' has no counterpart"):
        filters.of_mongo({"a": {"$regex": "x"}})
    assert filters.of_mongo(None) is filters.of_haystack({}) is filters.of_llama_index(None) is None
