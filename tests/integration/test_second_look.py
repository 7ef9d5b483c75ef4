"""The second look in a search: which hits are read, in which order they come, and what is said of them."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any
from zlib import crc32

import pytest

from app.encoders.encoders import Encoders
from app.http import search_lanes
from app.http.search_lanes import SearchLanes
from app.requests import SearchRequest
from app.search.answers import ExportEnd, Hit, LikelyMatches, SearchAnswer, Verified
from app.search.errors import DeadlineExceeded
from app.search.export import export
from app.search.federated import search_several
from app.search.mode import load_modes
from app.search.service import SearchService, encode, finish, scan
from app.search.verification.ordering import Ordered
from app.texts.requests import SpansRequest
from app.texts.spans import SpanService
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.types import Document, Part
from models.verifier.types import Judgement, Pair
from tests.waiting import PATIENCE_S
from tests.workspace import Workspace, document

TEXTS = [
    "I do not want to cancel my plan. Thank you.",
    "Please cancel my plan today! It is too dear.",
    "Well, cancel my order. And my plan stays.",
    "The plan is fine, and nothing else.",
]


class Reader:
    """A verifier that likes texts with an exclamation mark."""

    decision_point, least = 0.6, 0.4

    def __init__(self) -> None:
        self.read: list[Pair] = []
        self.go = Event()
        self.go.set()

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        self.go.wait(PATIENCE_S)
        self.read += pairs
        return [self._of(pair) for pair in pairs]

    def _of(self, pair: Pair) -> Judgement:
        if "!" in pair.text:
            return Judgement(0.9, "match")
        return Judgement(0.2, "differs", ("negation",)) if "not" in pair.text else Judgement(0.1, "unrelated")


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path, words=True) as made:
        made.index([Document(f"d{number}", (Part(text),)) for number, text in enumerate(TEXTS)])
        yield made


@pytest.fixture
def service(workspace: Workspace, reader: Reader) -> SearchService:
    return SearchService(workspace.store, load_modes(workspace.encoders), lambda recipe: reader)  # type: ignore[arg-type,return-value]


def answer(service: SearchService, **options: Any) -> SearchAnswer:
    return service.search(SearchRequest("c", text="cancel my plan", group_by="document", **options))[0]


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_hits_of_every_mode_are_read(service: SearchService, reader: Reader, mode: str) -> None:
    found = answer(service, verify=20, mode=mode)
    assert (found.hits[0].document_id, found.hits[0].verdict) == ("d1", "match")
    read = sorted(_read(service, reader, "best_span"), key=lambda pair: pair.similarity)
    of_spans = {pair.text: pair for pair in read}  # the best of each sentence
    assert of_spans
    for pair in _read(service, reader, mode):
        assert of_spans[pair.text] == pair


def _read(service: SearchService, reader: Reader, mode: str) -> list[Pair]:
    reader.read.clear()
    service.search(SearchRequest("c", text="cancel my plan", verify=20, mode=mode))
    return list(reader.read)


@pytest.mark.parametrize("text", ['cancel "my plan"', "canc* my plan"])
def test_operators_of_words_are_no_phrase_to_read(service: SearchService, reader: Reader, text: str) -> None:
    (found,) = service.search(SearchRequest("c", text=text, mode="lexical", verify=20))
    assert found.hits
    assert found.verified is None
    assert reader.read == []


def test_the_sentence_of_a_hit_is_read_and_the_likely_one_comes_first(service: SearchService, reader: Reader) -> None:
    found = answer(service, verify=20)
    assert (found.hits[0].document_id, found.hits[0].probability, found.hits[0].verdict) == ("d1", 0.9, "match")
    assert [hit.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
    assert {pair.text for pair in reader.read} >= {"Please cancel my plan today!", "I do not want to cancel my plan."}
    (denied,) = [hit for hit in found.hits if hit.document_id == "d0"]
    assert (denied.verdict, denied.differs) == ("differs", ("negation",))
    assert found.verified == Verified(len(found.hits), 1, complete=True)


def test_the_own_words_of_a_query_stay_first_whatever_is_said_of_them(service: SearchService) -> None:
    (found,) = service.search(SearchRequest("c", text="I do not want to cancel my plan", verify=20))
    assert (found.hits[0].match, found.hits[0].verdict) == ("exact", "differs")
    assert found.hits[1].verdict == "match"


def test_the_span_is_marked_in_its_sentence(service: SearchService, reader: Reader) -> None:
    hits = answer(service, verify=20).hits
    for pair in reader.read:
        assert pair.mark is not None
        marked = pair.text[pair.mark.start : pair.mark.end]
        assert any(marked in hit.text for hit in hits)


@pytest.mark.parametrize(
    "text",
    [
        'Well. "I want to cancel my old plan now." Yes.',
        "Well. \u201cI want to cancel my old plan now. Yes, do.\u201d",
        "Well, yes! I do. I want to cancel my old plan now. Yes.",
    ],
)
def test_quotation_marks_around_a_phrase_and_a_sentence_are_not_read(
    workspace: Workspace, reader: Reader, text: str
) -> None:
    workspace.index([document("q", text)], name="q")
    service = SearchService(workspace.store, load_modes(workspace.encoders), lambda recipe: reader)  # type: ignore[arg-type,return-value]
    (found,) = service.search(SearchRequest("q", text="\u00abcancel plan\u00bb", verify=20))
    assert {pair.phrase for pair in reader.read} == {"cancel plan"}
    of_sentence = [pair for pair in reader.read if pair.text == "I want to cancel my old plan now."]
    assert {pair.text[slice(*pair.marked)] for pair in of_sentence} == {"plan"}
    for hit in found.hits:
        assert hit.clause is not None
        assert hit.clause.text == text[hit.clause.start : hit.clause.end]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        (
            "Our lessee can terminate rental of the flat. They would and could.",
            "Our lessee can terminate rental of the flat",
        ),
        ("Our lessee can terminate rental of the flat. Va bene, grazie mille.", None),
    ],
)
def test_what_is_marked_is_fitted_where_the_text_around_a_sentence_is_english(
    workspace: Workspace, reader: Reader, text: str, marked: str | None
) -> None:
    workspace.index([document("e", text)], name="e")
    service = SearchService(workspace.store, load_modes(workspace.encoders), lambda recipe: reader)  # type: ignore[arg-type,return-value]
    (found,) = service.search(SearchRequest("e", text="lessee terminate flat", group_by="document", verify=20))
    assert (found.hits[0].text == marked) == (marked is not None)


def test_hits_beyond_those_that_are_read_follow_as_they_were_found(service: SearchService) -> None:
    plain = answer(service, verify=0)
    assert plain.verified is None
    assert {hit.probability for hit in plain.hits} == {None}
    found = answer(service, verify=2)
    assert [hit.probability is None for hit in found.hits] == [False, False, True, True]
    assert found.hits[2:] == plain.hits[2:]


def test_hits_that_nothing_says_stay_nearly_as_they_were_found(
    service: SearchService, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = SearchRequest("c", text="stays today", mode="hybrid", group_by="document", verify=0)
    first, second, *others = service.search(request)[0].hits
    gap = first.raw - second.raw
    assert 0 < gap < 0.05

    def order_if_second_is_likelier(by: float) -> list[str]:
        said = {second.text: 0.1 + by}
        monkeypatch.setattr(reader, "_of", lambda pair: Judgement(said.get(pair.text, 0.1), "unrelated"))
        return [hit.document_id for hit in service.search(replace(request, verify=20))[0].hits]

    rest = [hit.document_id for hit in others]
    assert order_if_second_is_likelier(gap / 0.15 - 0.01) == [first.document_id, second.document_id, *rest]
    assert order_if_second_is_likelier(gap / 0.15 + 0.01) == [second.document_id, first.document_id, *rest]


def test_more_hits_are_read_than_shown_and_pages_agree(service: SearchService) -> None:
    whole = answer(service, verify=4).hits
    assert answer(service, verify=4, top_k=1).hits == whole[:1]
    assert answer(service, verify=4, top_k=2, offset=1).hits == whole[1:3]


@pytest.mark.parametrize("verify", [0, 1, 3, 20])
def test_pages_of_a_cursor_keep_the_order_of_the_second_look(service: SearchService, verify: int) -> None:
    whole = answer(service, verify=verify)
    assert whole.cursor is None
    pages = [answer(service, verify=verify, top_k=1)]
    while pages[-1].cursor is not None:
        pages.append(answer(service, verify=verify, top_k=1, cursor=pages[-1].cursor))
    assert [hit for page in pages for hit in page.hits] == list(whole.hits)


@pytest.mark.parametrize("options", [{"likely": True}, {"threshold": "auto"}, {"threshold": "auto", "mode": "hybrid"}])
def test_pages_are_full_where_verdicts_drop_hits(
    service: SearchService, workspace: Workspace, options: dict[str, Any]
) -> None:
    more = ["Cancel my plan! It is I.", "I say cancel my plan. Not now.", "We cancel my plan! Yes.", "cancel my plan"]
    workspace.index([Document(f"e{number}", (Part(text),)) for number, text in enumerate(more)])
    whole = answer(service, verify=5, top_k=9, **options)
    assert len(whole.hits) > 2
    assert whole.cursor is None
    pages = [answer(service, verify=5, top_k=2, **options)]
    while pages[-1].cursor is not None:
        pages.append(answer(service, verify=5, top_k=2, cursor=pages[-1].cursor, **options))
    assert [len(page.hits) for page in pages[:-1]] == [2] * (len(pages) - 1)
    assert [hit for page in pages for hit in page.hits] == list(whole.hits)
    assert [hit.rank for page in pages for hit in page.hits] == list(range(1, len(whole.hits) + 1))
    assert {page.verified for page in pages} == {pages[0].verified}


def test_the_pages_of_a_list_are_counted_once(service: SearchService) -> None:
    first = answer(service, estimate=True, verify=20, top_k=1)
    second = answer(service, verify=20, top_k=1, cursor=first.cursor)
    assert (first.likely is None, second.likely) == (False, None)
    assert second.hits == answer(service, verify=20, top_k=2).hits[1:]


def test_a_further_span_is_not_read_with_the_clause_of_the_best(workspace: Workspace, reader: Reader) -> None:
    sentence = "My landlord wrote cancel my plan, and that the plan of my brother stays."
    workspace.index([document("e", sentence)], name="e")
    service = SearchService(workspace.store, load_modes(workspace.encoders), lambda recipe: reader)  # type: ignore[arg-type,return-value]
    (found,) = service.search(SearchRequest("e", text="cancel my plan", verify=20))
    read = {(pair.text, pair.marked) for pair in reader.read}
    assert {(sentence, (18, 32)), (sentence, (47, 57)), ("landlord", (0, 8))} <= read
    assert {hit.clause and hit.clause.text for hit in found.hits} == {sentence}


def test_a_cursor_says_whether_its_list_took_the_second_look(service: SearchService) -> None:
    (encoded,) = encode([service.prepare(SearchRequest("c", text="cancel my plan", verify=4, top_k=1))])
    (found,) = scan([encoded])
    without_room = finish(encoded, Ordered(found, verified=False))
    plain = SearchRequest("c", text="cancel my plan", verify=0)
    (following,) = service.search(replace(encoded.prepared.request, cursor=without_room.cursor, top_k=9))
    assert following.hits == service.search(plain)[0].hits[1:]
    assert following.verified is None


def test_copies_are_read_once_and_sorted_hits_are_not_read(service: SearchService, reader: Reader) -> None:
    found = answer(service, verify=20, threshold=0.1, threshold_on="raw", per_document=1)
    assert found.verified is not None
    assert found.verified.hits == len(found.hits) == len(reader.read)
    reader.read.clear()
    found = answer(service, verify=20, threshold=0.1, threshold_on="raw", sort="document.id:desc")
    assert [hit.document_id for hit in found.hits] == ["d3", "d2", "d1", "d0"]
    assert (found.verified, reader.read) == (None, [])
    with pytest.raises(InvalidInput, match="second look"):
        answer(service, likely=True, threshold=0.1, sort="document.id")


def test_only_likely_hits_are_returned_if_asked_for(service: SearchService) -> None:
    found = answer(service, likely=True)
    assert [(hit.document_id, hit.verdict) for hit in found.hits] == [("d1", "match")]
    with pytest.raises(InvalidInput, match="second look") as refused:
        answer(service, likely=True, verify=0)
    assert refused.value.field == "likely"


def test_the_threshold_auto_keeps_what_is_likely_and_of_others_what_is_similar(service: SearchService) -> None:
    plain = answer(service, verify=0)
    found = answer(service, threshold="auto", verify=2)
    assert (found.threshold.value, found.threshold.on, found.threshold.source) == (0.6, "raw", "auto")
    read = {hit.document_id for hit in answer(service, verify=2).hits if hit.verdict is not None}
    assert all(hit.verdict in ("match", None) and hit.raw >= 0.6 for hit in found.hits)
    others = {hit.document_id for hit in plain.hits if hit.raw >= 0.6 and hit.document_id not in read}
    assert {hit.document_id for hit in found.hits if hit.verdict is None} == others
    total = answer(service, threshold="auto", total=True).total
    assert total is not None
    assert total.documents == sum(hit.raw >= 0.6 for hit in plain.hits)


def test_the_threshold_auto_of_other_scales_is_what_verdicts_say(service: SearchService) -> None:
    found = answer(service, threshold="auto", mode="hybrid")
    assert (found.threshold.value, found.threshold.source) == (None, "auto")
    assert [(hit.document_id, hit.verdict) for hit in found.hits] == [("d1", "match")]
    for counted in ({"total": True}, {"counts": ("day",)}):
        with pytest.raises(InvalidInput, match="In mode hybrid the threshold auto") as refused:
            answer(service, threshold="auto", mode="hybrid", **counted)
        assert refused.value.field == "threshold"


def test_the_threshold_auto_is_unknown_without_a_verifier(tmp_path: Path) -> None:
    with Workspace(tmp_path) as made:
        made.index([Document("d", (Part("cancel my plan"),))])
        with pytest.raises(InvalidInput, match="auto"):
            answer(made.service, threshold="auto")


@pytest.mark.parametrize("mode", ["best_span", "lexical", "hybrid"])
def test_likely_matches_of_the_collection_are_counted_if_all_can_be_judged(service: SearchService, mode: str) -> None:
    found = answer(service, estimate=True, mode=mode, top_k=1)
    assert found.likely == LikelyMatches(1, 1, (1, 1))
    assert answer(service, mode=mode).likely is None
    with pytest.raises(InvalidInput, match="second look") as refused:
        answer(service, estimate=True, verify=0, mode=mode)
    assert refused.value.field == "estimate"


def test_likely_matches_are_sentences_also_where_hits_are_documents(tmp_path: Path, reader: Reader) -> None:
    with Workspace(tmp_path, words=True, nugget_ratio=0.3) as made:
        made.index([Document("d", tuple(map(Part, [*TEXTS, "Cancel my plan now!"])))])
        service = SearchService(made.store, load_modes(made.encoders), lambda recipe: reader)  # type: ignore[arg-type,return-value]
        (found,) = service.search(SearchRequest("c", text="cancel my plan", mode="maxsim", estimate=True))
    assert found.likely == LikelyMatches(1, 2, (2, 2))
    assert found.hits[0].clause is not None
    assert found.hits[0].clause.text in ("Please cancel my plan today!", "Cancel my plan now!")


def test_likely_matches_of_many_sentences_are_estimated_alike_each_time(tmp_path: Path, reader: Reader) -> None:
    with Workspace(tmp_path, words=True) as made:
        marks = "".join("!" if crc32(bytes([number % 251, number % 3])) % 3 == 0 else "." for number in range(600))
        said = (f"Please cancel my plan {number}{mark}" for number, mark in enumerate(marks))
        made.index([Document(f"d{number}", (Part(text),)) for number, text in enumerate(said)])
        service = SearchService(made.store, load_modes(made.encoders), lambda recipe: reader)  # type: ignore[arg-type,return-value]
        first, second = (answer(service, estimate=True).likely for _ in range(2))
    assert first is not None
    assert first == second
    low, high = first.interval
    assert low < marks.count("!") < high
    assert 20 < high - low < 100
    assert len({pair.text for pair in reader.read}) <= 220


def test_an_export_judges_every_hit_if_asked_for_likely_ones(service: SearchService, reader: Reader) -> None:
    request = SearchRequest("c", text="cancel my plan", group_by="document", likely=True)
    *hits, end = export(service, request, limit=4)
    assert [(hit.document_id, hit.verdict) for hit in hits if isinstance(hit, Hit)] == [("d1", "match")]
    assert isinstance(end, ExportEnd)
    assert (end.hits, end.complete) == (1, True)
    assert len(reader.read) == 4
    with pytest.raises(InvalidInput, match="judged") as refused:
        export(service, request, limit=10_001)
    assert refused.value.field == "limit"
    assert [hit.verdict for hit in export(service, replace(request, likely=False)) if isinstance(hit, Hit)] == [
        None
    ] * 4


def test_a_judged_hit_shows_its_clause_and_what_of_it_is_marked(service: SearchService) -> None:
    (found,) = service.search(SearchRequest("c", text="stop my order", verify=20, offset_unit="utf16"))
    for hit in found.hits:
        text = TEXTS[int(hit.document_id[1:])]
        assert hit.text == text[hit.start : hit.end]
        assert hit.clause is not None
        assert hit.clause.text == text[hit.clause.start : hit.clause.end]
        assert hit.clause.start <= hit.start < hit.end <= hit.clause.end


def test_what_a_verdict_calls_a_match_is_not_called_negated(
    service: SearchService, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def polarity() -> str | None:
        (denied,) = [hit for hit in answer(service, verify=20).hits if hit.document_id == "d0"]
        return denied.polarity

    assert polarity() == "negated"
    monkeypatch.setattr(reader, "_of", lambda pair: Judgement(0.9, "match"))
    assert polarity() is None


def test_what_is_likely_is_not_said_without_a_verifier(tmp_path: Path) -> None:
    with Workspace(tmp_path) as made:
        made.index([Document("d", (Part("cancel my plan"),))])
        assert answer(made.service, verify=20).verified is None
        with pytest.raises(InvalidInput, match="second look"):
            answer(made.service, likely=True)


def test_a_vector_has_no_words_to_read(service: SearchService, reader: Reader) -> None:
    dim = service.prepare(SearchRequest("c", text="a")).snapshot.recipe.dim
    (found,) = service.search(SearchRequest("c", vector=(1.0,) * dim, verify=20))
    assert found.verified is None
    assert reader.read == []


def test_a_batch_is_read_together_and_as_each_alone(service: SearchService) -> None:
    requests = [SearchRequest("c", text=text, verify=4) for text in ("cancel my plan", "my order", "thank you")]
    together = service.search(*requests)
    assert [each.hits for each in together] == [service.search(request)[0].hits for request in requests]


def test_without_room_in_its_lane_the_first_look_answers(
    service: SearchService, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_lanes, "VERIFY_QUEUE", 1)
    lanes = SearchLanes(service)
    request = SearchRequest("c", text="cancel my plan", verify=4)
    reader.go.clear()

    async def crowd() -> list[SearchAnswer]:
        asked = [asyncio.create_task(lanes.search(request, PATIENCE_S)) for _ in range(12)]
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        assert all(task.result().verified is False for task in done)
        reader.go.set()
        return list(await asyncio.gather(*asked))

    try:
        answers = asyncio.run(crowd())
    finally:
        reader.go.set()
        lanes.close()
    assert {each.verified is False for each in answers} == {True, False}
    first = [hit.document_id for hit in answer(service, verify=0).hits]
    for each in answers:
        if each.verified is False:
            assert [hit.document_id for hit in each.hits][:1] == first[:1]


def test_without_time_in_its_lane_the_first_look_answers(
    service: SearchService, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_lanes, "VERIFY_SHARE", 0.001)
    lanes = SearchLanes(service)
    request = SearchRequest("c", text="cancel my plan", verify=4, group_by="document")
    reader.go.clear()
    try:
        answered = asyncio.run(lanes.search(request, PATIENCE_S))
        assert answered.verified is False
        assert [hit.document_id for hit in answered.hits] == [hit.document_id for hit in answer(service, verify=0).hits]
        with pytest.raises(DeadlineExceeded, match=r"No answer within 0\.2 s"):
            asyncio.run(lanes.search(replace(request, likely=True), 0.2))
        with pytest.raises(DeadlineExceeded):  # only verdicts say what reaches it
            asyncio.run(lanes.search(replace(request, mode="lexical", threshold="auto"), 0.2))
    finally:
        reader.go.set()
        lanes.close()


def test_the_literal_cosine_is_not_judged(service: SearchService, reader: Reader) -> None:
    assert answer(service, verify=20, ranking="cosine").verified is None
    assert reader.read == []


def test_likely_hits_of_several_collections_are_read_without_being_told_how_many(service: SearchService) -> None:
    request = SearchRequest("c", text="cancel my plan", likely=True, group_by="document")
    found = search_several(service, request, ["c"])
    assert [hit.document_id for hit in found.hits] == ["d1"]


def test_hits_of_several_collections_stand_as_those_of_one(service: SearchService, workspace: Workspace) -> None:
    workspace.index(
        [Document("e0", (Part("Cancel this plan!"),)), Document("e1", (Part("The plan is dear."),))], name="e"
    )
    request = SearchRequest("c", text="cancel the plan", verify=3, group_by="document", mode="hybrid")
    found = search_several(service, request, ["c", "e"]).hits
    assert {hit.verdict for hit in found} == {"match", "unrelated", "differs", None}
    assert [hit.verdict == "match" for hit in found] == sorted((hit.verdict == "match" for hit in found), reverse=True)
    rest = [hit.raw + 0.15 * (hit.probability or 0) for hit in found if hit.verdict != "match"]
    assert rest == sorted(rest, reverse=True)


def test_spans_of_texts_are_read_phrase_by_phrase(monkeypatch: pytest.MonkeyPatch, reader: Reader) -> None:
    encoders = Encoders.of({"hashing": HashingEncoder()})
    monkeypatch.setattr(encoders, "verifier", lambda recipe: reader)
    spans = SpanService(encoders, "hashing", load_modes(encoders)["best_span"])
    texts = tuple(Document(str(number), (Part(text),)) for number, text in enumerate(TEXTS))
    request = SpansRequest(("cancel my plan", "thank you"), texts, limit=2, verify=3)
    answered = spans.find(request)
    hits = [hit for text in answered.results for hit in text.hits]
    for phrase in (0, 1):
        assert sum(hit.phrase == phrase and hit.probability is not None for hit in hits) == 3
    for text in answered.results:
        for phrase in (0, 1):
            ranks = [hit.rank for hit in text.hits if hit.phrase == phrase]
            assert ranks == list(range(1, len(ranks) + 1))
    likely = [sum(hit.phrase == phrase and hit.verdict == "match" for hit in hits) for phrase in (0, 1)]
    assert [(each.hits, each.likely) for each in answered.verified or ()] == [(3, likely[0]), (3, likely[1])]
    assert spans.find(replace(request, verify=0)).verified is None
    nothing = spans.find(replace(request, threshold=1, threshold_on="raw", phrases=("a phrase of nobody",)))
    assert nothing.verified == (Verified(0, 0, complete=True),)
    many = Document("many", tuple(Part("cancel my plan!") for _ in range(6)))
    few, all_ = (spans.find(SpansRequest(("cancel my plan",), (many,), limit=limit)).verified for limit in (3, 20))
    assert (few, all_) == ((Verified(3, 3, complete=False),), (Verified(12, 12, complete=True),))
    only = spans.find(replace(request, likely=True))
    assert {hit.verdict for text in only.results for hit in text.hits} == {"match"}
    monkeypatch.setattr(encoders, "verifier", lambda recipe: None)
    with pytest.raises(InvalidInput, match="second look"):
        spans.find(replace(request, likely=True))
