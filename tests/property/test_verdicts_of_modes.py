"""One scale in every mode: a verdict depends on the phrase and the sentence, not on the search that found it."""

import random
from collections.abc import Iterator, Sequence
from itertools import count
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.calibration.service import ThresholdService
from app.requests import PreviewRequest, SearchRequest
from app.search.answers import Hit
from app.search.mode import load_modes
from app.search.service import SearchService
from models.ops.span_score import SpanScore
from models.types import Document, Part
from models.verifier.types import Judgement, Pair
from tests.byte_restorer import ByteRestorer
from tests.workspace import ALL_REPRESENTATIONS, Workspace

SCORE = SpanScore(0.15, (-0.06, -0.03, 0, 0, 0, 0), (-0.05, -0.02, 0, 0, 0, 0), crossing=-0.1)
WORDS = ["cancel", "my", "plan", "the", "order", "not", "today", ",", ".", ". And"]
parts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join)
documents = st.lists(st.lists(parts, min_size=1, max_size=3), min_size=1, max_size=4)
queries = st.lists(st.sampled_from(WORDS[:7]), min_size=1, max_size=4).map(" ".join)
_numbers = count()


class Scale:
    """A verifier that says how similar a pair is."""

    decision_point, least = 0.5, 0.2

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        return [Judgement(pair.similarity, "match" if pair.similarity >= 0.5 else "unrelated") for pair in pairs]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("modes")
    stored = {"words": True, "nugget_ratio": 0.3, "representations": ALL_REPRESENTATIONS, "restorer": ByteRestorer()}
    with Workspace(folder, span_score=SCORE, **stored) as made:  # type: ignore[arg-type]
        yield made


def made(workspace: Workspace, texts: Sequence[Sequence[str]]) -> tuple[SearchService, str]:
    """A service with the second look, and a new collection of the texts."""
    collection = f"c{next(_numbers)}"
    documents = [Document(f"d{number}", tuple(map(Part, of))) for number, of in enumerate(texts)]
    workspace.index(documents, name=collection)
    modes = load_modes(workspace.encoders)
    return SearchService(workspace.store, modes, lambda recipe: Scale()), collection  # type: ignore[arg-type,return-value]


def judged(service: SearchService, collection: str, text: str, mode: str) -> list[Hit]:
    request = SearchRequest(collection, text=text, mode=mode, top_k=100, verify=100)
    return list(service.search(request)[0].hits)


def by_clause(hits: Sequence[Hit]) -> dict[tuple[str, int, int], float]:
    """The probability of every clause: that of the best of its hits."""
    said: dict[tuple[str, int, int], float] = {}
    for hit in hits:
        assert hit.clause is not None
        assert hit.probability is not None
        place = hit.document_id, hit.clause.start, hit.clause.end
        said[place] = max(said.get(place, 0.0), hit.probability)
    return said


@pytest.mark.ci("many examples")
@settings(max_examples=40, deadline=None)
@given(texts=documents, query=queries)
def test_a_sentence_has_one_verdict_in_every_mode(workspace: Workspace, texts: list[list[str]], query: str) -> None:
    service, collection = made(workspace, texts)
    indexed = {f"d{number}": Document(f"d{number}", tuple(map(Part, of))) for number, of in enumerate(texts)}
    spans = by_clause(judged(service, collection, query, "best_span"))
    for mode in service.modes.keys() - {"best_span", "maxsim"}:
        others = by_clause(judged(service, collection, query, mode))
        shared = spans.keys() & others.keys()
        assert {place: spans[place] for place in shared} == {place: others[place] for place in shared}
        assert shared or not others
    for hit in judged(service, collection, query, "maxsim"):
        best = max(probability for (id, _, _), probability in spans.items() if id == hit.document_id)
        assert hit.probability == pytest.approx(best, abs=0.01)  # the sentence is found by approximate scores
        assert hit.clause is not None
        assert indexed[hit.document_id].text[hit.clause.start : hit.clause.end] == hit.clause.text


def test_a_further_span_of_a_sentence_is_judged_by_itself(workspace: Workspace) -> None:
    workspace.index([Document("d", (Part("cancel my plan, not today the order"),))], name="beside")
    service = SearchService(workspace.store, load_modes(workspace.encoders), lambda recipe: Scale())  # type: ignore[arg-type,return-value]
    first, *others = judged(service, "beside", "cancel my plan", "best_span")
    assert (first.text, first.probability, first.verdict) == ("cancel my plan", 1.0, "match")
    assert others
    assert {hit.clause for hit in others} == {first.clause}
    for hit in others:
        assert hit.probability == pytest.approx(hit.raw, abs=1e-3)


@pytest.mark.ci("many examples")
@settings(max_examples=30, deadline=None)
@given(texts=documents, asked=st.lists(queries, min_size=2, max_size=5), order=st.randoms(use_true_random=False))
def test_verdicts_depend_neither_on_the_batch_nor_on_its_order(
    workspace: Workspace, texts: list[list[str]], asked: list[str], order: random.Random
) -> None:
    service, collection = made(workspace, texts)
    requests = [
        SearchRequest(collection, text=text, mode=mode, top_k=100, verify=verify)
        for text in asked
        for mode, verify in (("best_span", 100), ("best_span", 2), ("hybrid", 100))
    ]
    alone = [service.search(request)[0].hits for request in requests]
    places = order.sample(range(len(requests)), len(requests))
    together = service.search(*[requests[place] for place in places])
    assert [answer.hits for answer in together] == [alone[place] for place in places]


@pytest.mark.ci("many examples")
@settings(max_examples=30, deadline=None)
@given(texts=documents, query=queries, threshold=st.sampled_from(["auto", 0.3, 0.5, 0.62, 0.8, 1.0]))
def test_thresholds_counts_and_previews_agree(
    workspace: Workspace, texts: list[list[str]], query: str, threshold: float | str
) -> None:
    service, collection = made(workspace, texts)
    number = Scale.decision_point if threshold == "auto" else float(threshold)
    scale = {"threshold": threshold, "threshold_on": None if threshold == "auto" else "raw"}
    plain = service.search(SearchRequest(collection, text=query, top_k=1_000))[0].hits
    passed = [hit for hit in plain if hit.raw >= number]
    asked = SearchRequest(collection, text=query, top_k=1_000, total=True, **scale)  # type: ignore[arg-type]
    (answer,) = service.search(asked)
    assert answer.total is not None
    assert answer.total.spans == len(passed)
    # What verdicts leave out of the likely ones is left out of the answer alone.
    kept = [hit for hit in answer.hits if hit.verdict in ("match", None)]
    assert len(answer.hits) == (len(kept) if threshold == "auto" else len(passed))
    assert {(hit.document_id, hit.raw) for hit in answer.hits} <= {(hit.document_id, hit.raw) for hit in passed}
    previews = ThresholdService(workspace.store, service, workspace.encoders)
    (counted,) = previews.preview(PreviewRequest(collection=collection, phrases=(query,), **scale)).phrases  # type: ignore[arg-type]
    assert counted.spans == len(passed)
    assert counted.documents == len({hit.document_id for hit in passed})


@pytest.mark.ci("many examples")
@settings(max_examples=25, deadline=None)
@given(texts=documents, asked=st.lists(st.sampled_from("abcdefg"), min_size=3, max_size=7, unique=True))
def test_unrelated_phrases_have_one_median_in_every_mode(
    workspace: Workspace, texts: list[list[str]], asked: list[str]
) -> None:
    """Phrases share one frequent word with the texts, so that every mode finds something."""
    service, collection = made(workspace, [*texts, ["the order"]])
    medians = []
    for mode in service.modes:
        found = [judged(service, collection, f"{letter}rk the {letter}lm", mode) for letter in asked]
        medians.append(median(max(hit.probability or 0.0 for hit in hits) for hits in found))
    assert max(medians) - min(medians) <= 0.05
