"""Rankings of every system for the queries of a judged set: all search modes of a collection, BM25, a plain script."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from app.requests import VERIFIED, SearchRequest, SpanChoice
from app.search.answers import Hit
from app.search.mode import available_modes
from app.search.service import SearchService
from app.search.verification.stage import is_phrase
from indexer.types import Recipe
from models.encoders.base import Encoder
from models.types import CharSpan
from models.verifier.types import LIKELY
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.retrieval_metrics import TOP, Ranked
from research.evaluation.searching import search_in_batches
from research.evaluation.span_retrieval import bm25_answers, sentence_answers, span_of

# What the product does when nothing is said; the others are set beside it.
DEFAULT: Final = "best_span"


@dataclass(frozen=True, slots=True)
class Found:
    """A hit, and whether the answer calls it unlikely."""

    place: DocumentSpan
    unlikely: bool = False


# The first hits of every query, by its id.
Ranking: TypeAlias = Mapping[str, Sequence[Found]]
System: TypeAlias = Callable[[Sequence[Query]], Ranking]


def mode_systems(service: SearchService, collection: str, recipe: Recipe) -> dict[str, System]:
    """All modes of a collection that find spans, by name.

    Every mode has the second look, if it takes one, and is there once more without it; best spans also as whole
    sentences.
    """
    requests = {DEFAULT: SearchRequest(collection, verify=VERIFIED, top_k=TOP)}
    for name in available_modes(service.modes, recipe):
        mode = service.modes[name]
        if mode.presented.unit == "span":
            requests[name] = SearchRequest(collection, mode=name, verify=VERIFIED, top_k=TOP)
            if is_phrase(replace(requests[name], text="a phrase"), mode):
                requests[f"{name}, first look"] = SearchRequest(collection, mode=name, verify=0, top_k=TOP)
    sentences = SpanChoice(boundaries="sentence")
    requests[f"{DEFAULT}, sentences"] = SearchRequest(collection, spans=sentences, verify=VERIFIED, top_k=TOP)
    return {name: partial(_search, service, request) for name, request in requests.items()}


def _search(service: SearchService, request: SearchRequest, queries: Sequence[Query]) -> Ranking:
    answers = search_in_batches(service, [replace(request, text=query.text) for query in queries])
    return {query.id: [_found(hit) for hit in hits] for query, hits in zip(queries, answers, strict=True)}


def _found(hit: Hit) -> Found:
    return Found(span_of(hit), hit.probability is not None and hit.probability < LIKELY)


def plain_systems(corpus: Corpus, plain: Callable[[], Encoder]) -> dict[str, System]:
    """BM25 over sentences, and scripts that encode every sentence, or every part, alone.

    >>> from models.encoders.hashing import HashingEncoder
    >>> from models.types import Document, Part
    >>> corpus = Corpus([Document("a", (Part("Red car. Blue car."), Part("Snow.")))])
    >>> asked = [Query("1", "blue car", gold=())]
    >>> systems = plain_systems(corpus, HashingEncoder)
    >>> {name: corpus.text(system(asked)["1"][0].place) for name, system in systems.items()}
    {'bm25': 'Blue car.', 'plain, sentences': 'Blue car.', 'plain, parts': 'Red car. Blue car.'}
    """
    return {
        "bm25": lambda queries: _ranking(queries, bm25_answers(corpus, corpus.sentences(), queries)),
        "plain, sentences": lambda queries: _alone(corpus, corpus.sentences(), queries, plain()),
        "plain, parts": lambda queries: _alone(corpus, corpus.parts(), queries, plain()),
    }


def _alone(corpus: Corpus, places: Iterable[DocumentSpan], queries: Sequence[Query], plain: Encoder) -> Ranking:
    return _ranking(queries, sentence_answers(corpus, places, queries, plain))


def _ranking(queries: Sequence[Query], answers: Sequence[Ranked]) -> Ranking:
    return {query.id: [Found(place) for place in answer.spans] for query, answer in zip(queries, answers, strict=True)}


def rankings(
    systems: Mapping[str, System], queries: Sequence[Query], folder: Path | None
) -> Iterator[tuple[str, Ranking]]:
    """Yield every system's name and ranking; what the folder keeps of an earlier run is not searched again."""
    for name, system in systems.items():
        kept = folder / f"{name.replace(', ', '-').replace(' ', '-')}.json" if folder else None
        if kept is not None and kept.exists():
            yield name, _read(kept)
        else:
            ranking = system(queries)
            if kept is not None:
                _write(kept, ranking)
            yield name, ranking


def _write(path: Path, ranking: Ranking) -> None:
    rows = {
        query: [[hit.place.document_id, hit.place.span.start, hit.place.span.end, hit.unlikely] for hit in hits]
        for query, hits in ranking.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows), "utf-8")


def _read(path: Path) -> Ranking:
    return {
        query: [Found(DocumentSpan(id, CharSpan(start, end)), unlikely) for id, start, end, unlikely in hits]
        for query, hits in json.loads(path.read_text("utf-8")).items()
    }
