"""One suite for every search mode: registering a mode enrols it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

from app.calibration.label_scores import label_scores
from app.calibration.labels import Label, LabelsRefused, StoredSpan
from app.encoders.encoders import Encoders
from app.requests import ModeName, Ranking, SearchRequest
from app.search import literal
from app.search.answers import ExportEnd, Filtered, Hit, Total
from app.search.errors import ModeUnavailable
from app.search.export import export
from app.search.mode import AnyMode, Scored, ScoredRows, available_mode, available_modes, is_available, selection_of
from app.search.reading import read_request
from app.search.service import encode, scan
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.engine.executor import Executor
from indexer.engine.query import Filter, Grouping
from indexer.types import Recipe
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.text.tokens import Tokens
from models.types import CharSpan, Document
from tests.byte_restorer import ByteRestorer
from tests.executors import ON_CLUSTER
from tests.workspace import ALL_REPRESENTATIONS, Workspace, document

MODES: tuple[ModeName, ...] = get_args(ModeName)
QUERIES = ["cancel my subscription", "the invoice", "naïve 😀 façade", "cancel"]
DOCUMENTS: list[Document] = [
    document("a", "I want to cancel my subscription today.", "Please cancel it. Cancel my subscription!", lang="en"),
    document("b", "The invoice is late, and the invoice is wrong.", lang="en"),
    document("c", "Une naïve 😀 façade. 東京で会いましょう。", lang="fr"),
    document("d", "cancel my subscription", lang="en"),
    document("e", "cancel my subscription", lang="fr"),
    document("gone", "cancel my subscription", lang="en"),
]
TEXTS = {each.id: each.text for each in DOCUMENTS}


class CountingEncoder(HashingEncoder):
    """Counts the texts that it tokenizes."""

    texts = 0

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        self.texts += len(texts)
        return super().tokenize(texts)


@pytest.fixture(scope="module", params=[Executor(), *ON_CLUSTER], ids=lambda executor: executor.name)
def workspace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    stored = {"words": True, "nugget_ratio": 0.5, "representations": ALL_REPRESENTATIONS, "restorer": ByteRestorer()}
    with Workspace(tmp_path_factory.mktemp("modes"), CountingEncoder(), request.param, **stored) as made:  # type: ignore[arg-type]
        for some in (DOCUMENTS[:2], DOCUMENTS[2:]):
            made.index(some)
        with lease(made.catalog, "c") as held:
            remove(made.catalog, held, ["gone"])
        yield made


@pytest.fixture(params=MODES)
def mode(workspace: Workspace, request: pytest.FixtureRequest) -> AnyMode:
    return workspace.service.modes[request.param]


def searched(workspace: Workspace, mode: AnyMode, text: str = QUERIES[0], **options: object) -> tuple[Hit, ...]:
    return workspace.search(text, mode=mode.name, **{"top_k": 1000} | options)


def scored(rows: ScoredRows) -> list[Scored]:
    return [rows.row(row) for row in range(len(rows.cosines))]


def test_the_registry_has_every_name(workspace: Workspace) -> None:
    assert tuple(workspace.service.modes) == MODES
    assert available_modes(workspace.service.modes, workspace.store.snapshot("c").recipe) == MODES
    assert all(mode.name == name for name, mode in workspace.service.modes.items())
    assert {mode.presented.unit for mode in workspace.service.modes.values()} <= {"span", "document"}


@pytest.mark.ci("every mode")
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("group_by", ["span", "document"])
def test_pages_and_exports_are_slices_of_one_list(
    workspace: Workspace, mode: AnyMode, query: str, group_by: Grouping
) -> None:
    options: dict[str, object] = {} if mode.presented.unit == "document" else {"group_by": group_by}
    hits = searched(workspace, mode, query, **options)
    pages = [searched(workspace, mode, query, top_k=3, offset=first, **options) for first in range(0, len(hits) + 3, 3)]
    assert tuple(hit for page in pages for hit in page) == hits
    request = SearchRequest("c", text=query, mode=mode.name, **options)  # type: ignore[arg-type]
    for limit in (2, max(len(hits), 1), 1000):
        *lines, end = export(workspace.service, request, limit)
        assert tuple(lines) == hits[:limit]
        assert isinstance(end, ExportEnd)
        assert (end.hits, end.complete) == (len(lines), len(hits) <= limit)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.7, 1.0])
def test_totals_are_the_numbers_of_all_hits(workspace: Workspace, mode: AnyMode, query: str, threshold: float) -> None:
    hits = searched(workspace, mode, query, threshold=threshold, filter=Filter({"lang": "en"}))
    request = SearchRequest(
        "c", text=query, mode=mode.name, top_k=1, threshold=threshold, filter=Filter({"lang": "en"}), total=True
    )
    (answer,) = workspace.service.search(request)
    documents = len({hit.document_id for hit in hits})
    assert answer.total == Total(documents, len(hits) if mode.presented.unit == "span" else None)
    assert answer.filtered == Filtered(3, 5, ())


def test_a_mode_is_available_or_says_what_it_requires(workspace: Workspace, mode: AnyMode) -> None:
    plain = Recipe("hashing", workspace.encoder.fingerprint, workspace.encoder.dim)
    if is_available(mode, plain):
        assert available_mode(workspace.service.modes, mode.name, "c", plain) is mode
        assert mode.fingerprint(plain)
        return
    with pytest.raises(ModeUnavailable) as refused:
        available_mode(workspace.service.modes, mode.name, "c", plain)
    assert refused.value.field == "mode"
    assert mode.needs is not None
    assert mode.needs.hint in refused.value.hint


def test_a_name_that_is_no_mode(workspace: Workspace) -> None:
    with pytest.raises(ModeUnavailable, match="mode worst_span"):
        workspace.search("x", mode="worst_span")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": " \n\t"}, "text"),
        ({"vector": ()}, "vector"),
        ({"vector": (0.0,) * 64}, "vector"),
        ({"vector": (float("nan"),) * 64}, "vector"),
    ],
)
def test_reading_refuses_bad_input_with_its_field(workspace: Workspace, mode: AnyMode, options, field) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_request(mode, SearchRequest("c", mode=mode.name, **options), workspace.store.snapshot("c").recipe)
    assert refused.value.field == field


def test_every_text_is_tokenized_at_most_once(workspace: Workspace, mode: AnyMode) -> None:
    encoder = workspace.encoder
    assert isinstance(encoder, CountingEncoder)
    mode.load(workspace.store.snapshot("c").recipe)  # reads a text once a process
    before = encoder.texts
    workspace.service.search(*(SearchRequest("c", text=text, mode=mode.name) for text in QUERIES))
    assert encoder.texts - before <= len(QUERIES)


def test_a_batch_is_answered_as_one_by_one(workspace: Workspace, mode: AnyMode) -> None:
    filters = Filter(), Filter({"lang": "en"})
    requests = [SearchRequest("c", text=text, mode=mode.name, filter=each) for text in QUERIES for each in filters]
    for request, answer in zip(requests, workspace.service.search(*requests), strict=True):
        (alone,) = workspace.service.search(request)
        assert [(hit.document_id, hit.start, hit.end) for hit in alone.hits] == [
            (hit.document_id, hit.start, hit.end) for hit in answer.hits
        ]
        assert [hit.raw for hit in alone.hits] == pytest.approx([hit.raw for hit in answer.hits], abs=1e-6)


@pytest.mark.parametrize("floor", [0.2, 0.9])
@pytest.mark.parametrize("filter", [Filter(), Filter({"lang": "en"}), Filter({"lang": "none"})])
def test_counting_agrees_with_searching(workspace: Workspace, mode: AnyMode, floor: float, filter: Filter) -> None:
    service = workspace.service
    for text in QUERIES:
        request = SearchRequest("c", text=text, mode=mode.name, top_k=1000, filter=filter)
        (encoded,) = encode([service.prepare(request)])
        counts = service.count(encoded, floor)
        assert (counts.spans is None) == (mode.presented.unit == "document")
        rows = counts.spans or counts.documents
        above = {(row.document_id, row.span, row.cosine) for row in scored(rows) if row.cosine >= floor}
        assert {(row.document_id, row.span, row.cosine) for row in results(workspace, mode, request, floor)} == above
        documents = scored(counts.documents)
        assert [row.cosine for row in documents] == counts.documents.cosines.tolist()
        best = results(workspace, mode, replace(request, group_by="document"), None)
        assert {row.document_id: row.cosine for row in best} == {row.document_id: row.cosine for row in documents}
        assert service.count(encoded, None).spans is None


def results(workspace: Workspace, mode: AnyMode, request: SearchRequest, floor: float | None) -> list[Scored]:
    """All results of a request over a floor of cosines, at their places."""
    prepared = workspace.service.prepare(request)
    prepared = replace(prepared, selection=selection_of(mode, request, floor))
    (encoded,) = encode([prepared])
    (found,) = scan([encoded])
    return [mode.presented.hit(literal.scored(prepared.snapshot, row, prepared.terms)) for row in found.rows]


def test_hits_say_what_stands_in_the_document(workspace: Workspace, mode: AnyMode) -> None:
    for text in QUERIES:
        hits = searched(workspace, mode, text)
        assert hits
        for hit in hits:
            assert hit.text == TEXTS[hit.document_id][hit.start : hit.end]
            assert hit.mode == mode.name
            assert hit.metadata["lang"] in ("en", "fr")
        for hit in searched(workspace, mode, text, offset_unit="utf16"):
            start, end = 2 * hit.start, 2 * hit.end
            assert hit.text.encode("utf-16-le") == TEXTS[hit.document_id].encode("utf-16-le")[start:end]


def test_an_explanation_adds_up(workspace: Workspace, mode: AnyMode) -> None:
    for hit in searched(workspace, mode, explain=True):
        if hit.explanation is not None:
            others = (getattr(hit.explanation, name, 0.0) for name in ("length", "borders", "exact"))
            assert hit.explanation.cosine + sum(others) == pytest.approx(2 * hit.raw - 1, abs=1e-9)


def test_thresholds_are_respected(workspace: Workspace, mode: AnyMode) -> None:
    everything = searched(workspace, mode, threshold=0)
    for threshold in (0.6, everything[0].raw, 1.0):
        hits = searched(workspace, mode, threshold=threshold, threshold_on="raw")
        assert {hit.document_id for hit in hits} == {h.document_id for h in everything if h.raw >= threshold}
        assert all(hit.raw >= threshold for hit in hits)


def test_hits_are_in_order_and_numbered(workspace: Workspace, mode: AnyMode) -> None:
    hits = searched(workspace, mode)
    order = [(-hit.raw, hit.document_id, hit.start) for hit in hits]
    assert order == sorted(order)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    few = searched(workspace, mode, top_k=2)
    assert [(hit.document_id, hit.start) for hit in few] == [(hit.document_id, hit.start) for hit in hits[:2]]


def test_documents_are_grouped_and_filtered(workspace: Workspace, mode: AnyMode) -> None:
    hits = searched(workspace, mode, group_by="document", filter=Filter({"lang": "en"}))
    ids = [hit.document_id for hit in hits]
    assert len(ids) == len(set(ids))
    assert set(ids) <= {"a", "b", "d"}


def test_a_phrase_is_most_similar_to_itself(workspace: Workspace, mode: AnyMode) -> None:
    labels = [Label("l", "cancel my subscription", text, 5.0) for text in ("cancel my subscription", "the invoice")]
    same, other = label_scores(labels, workspace.store.snapshot("c"), mode)
    assert same == pytest.approx(1, abs=1e-6)
    assert other < same


def test_a_labelled_span_has_the_raw_of_a_hit(workspace: Workspace, mode: AnyMode) -> None:
    hits = searched(workspace, mode)
    labels = [Label("l", QUERIES[0], StoredSpan(h.document_id, CharSpan(h.start, h.end)), 5.0) for h in hits]
    if mode.presented.unit == "document":
        with pytest.raises(LabelsRefused, match="compares documents, not spans"):
            label_scores(labels, workspace.store.snapshot("c"), mode)
    else:
        np.testing.assert_array_equal(label_scores(labels, workspace.store.snapshot("c"), mode), [h.raw for h in hits])


def test_loading_is_not_part_of_the_time_of_an_answer(
    workspace: Workspace, mode: AnyMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=0.0)

    def slow_to_load(encoders: Encoders, recipe: Recipe) -> None:
        clock.now += 10.0

    monkeypatch.setattr(type(mode), "load", slow_to_load)
    for module in ("request_plan", "service"):
        monkeypatch.setattr(f"app.search.{module}.time", SimpleNamespace(perf_counter=lambda: clock.now))
    (answer,) = workspace.service.search(SearchRequest("c", text="x", mode=mode.name))
    assert (clock.now, answer.took_ms) == (10.0, 0.0)


@pytest.mark.parametrize("ranking", ["span_score", "cosine"])
def test_a_large_batch_is_answered_without_and_with_the_literal_floor(
    workspace: Workspace, mode: AnyMode, ranking: Ranking
) -> None:
    requests = [SearchRequest("c", text=text, mode=mode.name, ranking=ranking) for text in QUERIES * 3]
    answers = workspace.service.search(*requests)
    assert [answer.hits for answer in answers[:4]] == [answer.hits for answer in answers[4:8]]
