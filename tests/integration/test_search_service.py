"""What a search answers, and what it refuses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search.errors import ModeUnavailable
from app.search.mode import load_modes
from app.search.service import SearchService
from indexer.engine.executor import Executor
from indexer.engine.query import Filter
from indexer.errors import CollectionNotFound, RecipeMismatch
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.types import Document, Part
from tests.materialized import MaterializedExecutor
from tests.workspace import Workspace, document

DOCUMENTS = [
    Document(
        "call-1",
        (
            Part("cancel my subscription please", {"speaker": "customer"}),
            Part("you want to cancel my plan", {"speaker": "agent"}),
        ),
        {"lang": "en", "week": 7, "tags": ["a", {"b": None}]},
    ),
    Document("call-2", (Part("cancel the parcel"), Part("cancel my subscription")), {"lang": "de", "week": 7.0}),
    Document("call-3", (Part("nothing of the kind"),), {"lang": None}),
]


@pytest.fixture(scope="module", params=[Executor, MaterializedExecutor])
def workspace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("service"), executor=request.param()) as made:
        made.index(DOCUMENTS)
        yield made


def ids(workspace: Workspace, **options: Any) -> list[str]:
    return [hit.document_id for hit in workspace.search("cancel my subscription", **options)]


def test_hits_hold_all_there_is_to_say(workspace: Workspace) -> None:
    first, second = workspace.search("cancel my subscription", top_k=2)
    assert (first.document_id, second.document_id) == ("call-1", "call-2")
    assert first.metadata == {"lang": "en", "week": 7, "tags": ["a", {"b": None}]}
    assert first.part_metadata == {"speaker": "customer"}
    assert second.part_metadata is None
    assert (first.mode, first.rank, second.rank) == ("best_span", 1, 2)
    assert (first.context, first.explanation) == (None, None)


@pytest.mark.parametrize("on", ["raw", "score"])
def test_a_threshold_holds_for_every_hit_and_includes_its_own_value(workspace: Workspace, on: str) -> None:
    everything = workspace.search("cancel my subscription", top_k=100)
    for number, hit in enumerate(everything):
        kept = workspace.search("cancel my subscription", top_k=100, threshold=hit.raw, threshold_on=on)
        assert all(other.raw >= hit.raw for other in kept)
        assert kept[: number + 1] == everything[: number + 1]
    assert workspace.search("cancel my subscription", threshold=0.0, top_k=100) == everything
    assert workspace.search("unheard of", threshold=1.0) == ()


def test_the_answer_names_the_threshold(workspace: Workspace) -> None:
    (answer,) = workspace.service.search(SearchRequest("c", text="plan", threshold=0.9, threshold_on="raw"))
    assert (answer.threshold.value, answer.threshold.on, answer.generation) == (0.9, "raw", 1)
    assert answer.took_ms > 0


def test_grouping(workspace: Workspace) -> None:
    assert sorted(ids(workspace, group_by="document", top_k=100)) == ["call-1", "call-2", "call-3"]
    assert sorted(ids(workspace, group_by="part", top_k=100)) == ["call-1", "call-1", "call-2", "call-2", "call-3"]
    assert len(ids(workspace, top_k=100)) > 5
    spans = workspace.search("cancel my subscription", top_k=100)
    best = {id: max(hit.raw for hit in spans if hit.document_id == id) for id in ("call-1", "call-2", "call-3")}
    for hit in workspace.search("cancel my subscription", group_by="document", top_k=100):
        assert hit.raw == best[hit.document_id]
    assert ids(workspace, group_by="document", top_k=2) == ["call-1", "call-2"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter({"lang": "de"}), {"call-2"}),
        (Filter({"lang": None}), {"call-3"}),
        (Filter({"lang": "en", "week": 7}), {"call-1"}),
        (Filter({"tags": ["a", {"b": None}]}), {"call-1"}),
        (Filter({"lang": "de", "week": 8}), set()),
        (Filter({"unknown": 1}), set()),
        (Filter(part={"speaker": "agent"}), {"call-1"}),
        (Filter({"lang": "de"}, {"speaker": "agent"}), set()),
    ],
)
def test_filters(workspace: Workspace, wanted: Filter, expected: set[str]) -> None:
    assert set(ids(workspace, filter=wanted, top_k=100)) == expected
    assert set(ids(workspace, filter=wanted, group_by="document")) == expected


def test_a_part_filter_finds_nothing_beside_the_part(workspace: Workspace) -> None:
    hits = workspace.search("cancel my subscription", filter=Filter(part={"speaker": "agent"}), top_k=100)
    assert {hit.part_metadata["speaker"] for hit in hits if hit.part_metadata} == {"agent"}
    assert hits[0].text == "cancel my"


def test_a_whole_number_filter_and_a_fraction_are_one_number(workspace: Workspace) -> None:
    """7 and 7.0 are one number in JSON, whichever way a client spells it."""
    assert set(ids(workspace, filter=Filter({"week": 7}), top_k=100)) == {"call-1", "call-2"}


def test_vectors_of_any_length_are_directions(workspace: Workspace) -> None:
    spans = workspace.search("subscription", top_k=3)
    token = workspace.encoder.tokenize(["subscription"])[0].ids
    ((vectors,),) = workspace.encoder.forward([[token]])
    for length in (1.0, 1e-300, 1e300, 1e-320):
        vector = tuple((vectors[0].astype(np.float64) * length).tolist())
        hits = workspace.search(vector=vector, top_k=3)
        assert [(hit.document_id, hit.start) for hit in hits][:2] == [(hit.document_id, hit.start) for hit in spans][:2]


@pytest.mark.parametrize(
    ("options", "field", "reason"),
    [
        ({"vector": (1.0,) * 63}, "vector", "63 numbers; the collection's vectors have 64"),
        ({"vector": ()}, "vector", "0 numbers"),
        ({"vector": (float("nan"),) + (0.0,) * 63}, "vector", "not finite"),
        ({"vector": (float("inf"),) + (0.0,) * 63}, "vector", "not finite"),
        ({"vector": (0.0,) * 64}, "vector", "zero"),
        ({}, "text", "either text or vector"),
        ({"text": "x", "vector": (1.0,) * 64}, "text", "either text or vector"),
        ({"text": ""}, "text", "no words"),
        ({"text": " \n\t"}, "text", "no words"),
        ({"text": "word " * 65}, "text", "65 tokens; at most 64"),
        ({"text": "caf\udce9"}, "text", "lone surrogate"),
        ({"text": "x", "filter": Filter({"k": ["\ud800"]})}, "filter", "lone surrogate"),
        ({"text": "x", "filter": Filter(part={"\ud800": 1})}, "filter", "lone surrogate"),
        ({"text": "x", "mode": "maxsim"}, "mode", "mode maxsim"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    workspace: Workspace, options: dict[str, Any], field: str, reason: str
) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        workspace.service.prepare(SearchRequest("c", **options))
    assert refused.value.field == field


def test_modes_the_collection_does_not_hold(workspace: Workspace) -> None:
    with pytest.raises(ModeUnavailable):
        workspace.search("x", mode="maxsim")


def test_an_unknown_collection(workspace: Workspace) -> None:
    with pytest.raises(CollectionNotFound) as refused:
        workspace.search("x", collection="calls")
    assert refused.value.hint == "There is: c."


def test_another_encoder_than_the_collections(workspace: Workspace) -> None:
    other = SearchService(workspace.store, load_modes(Encoders.of({"hashing": HashingEncoder(dim=32)})))
    with pytest.raises(RecipeMismatch, match=r"this server has hashing\.v1"):
        other.search(SearchRequest("c", text="x"))
    # A vector says itself what it is.
    assert other.search(SearchRequest("c", vector=(1.0,) * 64))[0].hits


def test_many_requests_are_answered_as_one_by_one(workspace: Workspace) -> None:
    requests = [
        SearchRequest("c", text="cancel my subscription"),
        SearchRequest("c", vector=tuple(range(64))),
        SearchRequest("c", text="nothing", top_k=1, filter=Filter({"lang": None})),
        SearchRequest("c", text="cancel my subscription", threshold=0.8),
        SearchRequest("c", text="nothing", filter=Filter({"week": True})),
        SearchRequest("c", text="nothing", filter=Filter({"week": 1})),
    ]
    together = workspace.service.search(*requests)
    for request, answer in zip(requests, together, strict=True):
        (alone,) = workspace.service.search(request)
        assert [(hit.document_id, hit.start, hit.end) for hit in alone.hits] == [
            (hit.document_id, hit.start, hit.end) for hit in answer.hits
        ]
        assert [hit.raw for hit in alone.hits] == pytest.approx([hit.raw for hit in answer.hits], abs=1e-6)


def test_ties_are_broken_by_document_and_start(tmp_path: Path) -> None:
    with Workspace(tmp_path) as made:
        made.index([document("b", "same thing", "same thing"), document("a", "same thing")], segment_units=1)
        made.index([document("0", "same thing")])
        hits = made.search("same thing", top_k=4)
        assert [(hit.document_id, hit.start) for hit in hits] == [("0", 0), ("a", 0), ("b", 0), ("b", 11)]
        assert [hit.document_id for hit in made.search("same thing", top_k=1)] == ["0"]


def test_negated_hits_are_marked_unless_the_query_is_negated_or_the_language_is_another(tmp_path: Path) -> None:
    text = "We couldn't book a table. You can book a table."
    with Workspace(tmp_path) as workspace:
        workspace.index([document("en", text), Document("de", (Part(text),), {"lang": "de"})])
        marks = {(hit.document_id, hit.start): hit.polarity for hit in workspace.search("book a table", top_k=4)}
        assert marks == {("en", 12): "negated", ("en", 34): None, ("de", 12): None, ("de", 34): None}
        assert {hit.polarity for hit in workspace.search("couldn't book a table", top_k=4)} == {None}
