"""One scale in every mode: a verdict depends on the phrase and the sentence, not on the search that found it."""

from collections.abc import Iterator, Sequence
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.requests import SearchRequest
from app.search.mode import load_modes
from app.search.service import SearchService
from app.search.types import Hit
from models.ops.span_score import SpanScore
from models.types import Document, Part
from models.verifier.types import Judgement, Pair
from tests.workspace import Workspace

SCORE = SpanScore(0.15, (-0.06, -0.03, 0, 0, 0, 0), (-0.05, -0.02, 0, 0, 0, 0), crossing=-0.1)
WORDS = ["cancel", "my", "plan", "the", "order", "not", "today", ",", ".", ". And"]
parts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join)
documents = st.lists(st.lists(parts, min_size=1, max_size=3), min_size=1, max_size=4)
queries = st.lists(st.sampled_from(WORDS[:7]), min_size=1, max_size=4).map(" ".join)
_numbers = count()


class Scale:
    """A verifier that says how similar a pair is."""

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        return [Judgement(pair.similarity, "match" if pair.similarity >= 0.5 else "unrelated") for pair in pairs]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("modes")
    with Workspace(folder, words=True, nugget_ratio=0.3, span_score=SCORE) as made:
        yield made


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


@settings(max_examples=40, deadline=None)
@given(texts=documents, query=queries)
def test_a_sentence_has_one_verdict_in_every_mode(workspace: Workspace, texts: list[list[str]], query: str) -> None:
    collection = f"c{next(_numbers)}"
    indexed = {f"d{number}": Document(f"d{number}", tuple(map(Part, of))) for number, of in enumerate(texts)}
    workspace.index(indexed.values(), name=collection)
    service = SearchService(workspace.store, load_modes(workspace.encoders), lambda recipe: Scale())  # type: ignore[arg-type,return-value]
    spans = by_clause(judged(service, collection, query, "best_span"))
    for mode in ("lexical", "hybrid"):
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
