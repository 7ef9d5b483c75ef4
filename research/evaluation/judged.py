"""The judged set: phrases that users would ask, and grades of the places that systems found for them.

Two files of a folder. ``queries.ndjson`` has a phrase a line, ``{"id", "corpus", "text"}``; ``judgements.ndjson`` has a
place a line, ``{"query", "document_id", "start", "end", "grade"}``. A place is a sentence, in code points of its
document, and no text of it is kept. Grade 2: it says the phrase; 1: partly, or nearly; 0: it does not.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from indexer.errors import SourceUnreadable
from models.errors import InvalidInput
from models.text.borders import sentence_spans
from models.types import CharSpan
from research.evaluation.corpus import Corpus, DocumentSpan, part_spans
from research.evaluation.queries import Query
from research.evaluation.scoring import at_same_place

QUERIES: Final = "queries.ndjson"
JUDGEMENTS: Final = "judgements.ndjson"
RELEVANT: Final = 2
GRADES: Final = (0, 1, RELEVANT)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The grade of a place for a query."""

    place: DocumentSpan
    grade: int


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """The queries of one corpus, in the order of their file, and the judgements of each by its id."""

    queries: Sequence[Query]
    judgements: Mapping[str, Sequence[Judgement]]

    def judged(self, corpus: Corpus, query: str, hit: DocumentSpan) -> list[Judgement]:
        """The judgements of the places that a hit is at: it shares half of the units of the shorter of the two.

        >>> from models.types import Document, Part
        >>> corpus = Corpus([Document("a", (Part("It rains. Stay in."),))])
        >>> rain, stay = (Judgement(DocumentSpan("a", CharSpan(*at)), grade) for *at, grade in ((0, 9, 2), (10, 18, 0)))
        >>> judged = JudgedSet([], {"q": [rain, stay]})
        >>> [each.grade for each in judged.judged(corpus, "q", DocumentSpan("a", CharSpan(3, 8)))]
        [2]
        """
        units = corpus.units(hit)
        of_document = (each for each in self.judgements.get(query, ()) if each.place.document_id == hit.document_id)
        return [each for each in of_document if at_same_place(units, corpus.units(each.place))]


def read_judged(folder: Path, name: str, corpus: Corpus) -> JudgedSet:
    """The judged set of a corpus. Raises ``SourceUnreadable`` for files that are not as this module says, and
    ``InvalidInput`` if the set has no such corpus, or judges a place that the corpus does not hold.
    """
    try:
        rows = list(_rows(folder / QUERIES))
        queries = [Query(row["id"], row["text"], gold=()) for row in rows if row["corpus"] == name]
        judgements: dict[str, list[Judgement]] = {query.id: [] for query in queries}
        for row in _rows(folder / JUDGEMENTS):
            if row["query"] in judgements:
                judgements[row["query"]].append(_judgement(row))
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        hint = f"Give the folder of {QUERIES} and {JUDGEMENTS} with --data."
        raise SourceUnreadable(f"{folder} holds no judged set: {error!r}", hint=hint, field="data") from error
    if not queries:
        hint = f"It has: {', '.join(sorted({row['corpus'] for row in rows}))}."
        raise InvalidInput(f"The judged set has no corpus {name!r}.", hint=hint, field="corpus")
    _check(judgements.values(), corpus)
    return JudgedSet(queries, judgements)


def _judgement(row: Mapping[str, Any]) -> Judgement:
    if row["grade"] not in GRADES:
        raise ValueError(f"a grade is one of {GRADES}, not {row['grade']!r}")
    return Judgement(DocumentSpan(row["document_id"], CharSpan(row["start"], row["end"])), row["grade"])


def _check(judgements: Iterable[Sequence[Judgement]], corpus: Corpus) -> None:
    for place in (each.place for of_query in judgements for each in of_query):
        document = corpus.documents.get(place.document_id)
        if document is None or not 0 <= place.span.start < place.span.end <= len(document.text):
            raise InvalidInput(
                f"The collection does not hold {place.span.start} to {place.span.end} of {place.document_id!r}.",
                hint="Index the corpus that `spanseek eval judged-corpora` writes.",
                field="collection",
            )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text("utf-8").splitlines())


def unjudged(
    judged: JudgedSet, corpus: Corpus, rankings: Iterable[Mapping[str, Sequence[DocumentSpan]]]
) -> Iterator[dict[str, object]]:
    """The places to judge: the sentences of all hits without a judgement, each once, with its text.

    ``rankings`` have the hits of every query by its id. The order is by crc32, which does not tell who found a place.
    """
    for query in judged.queries:
        hits = {hit for ranking in rankings for hit in ranking[query.id] if not judged.judged(corpus, query.id, hit)}
        places = {place for hit in hits for place in sentences_of(corpus, hit)}
        for place in sorted(places, key=_draw):
            yield {
                "query": query.id,
                "document_id": place.document_id,
                "start": place.span.start,
                "end": place.span.end,
                "phrase": query.text,
                "text": corpus.text(place),
            }


def _draw(place: DocumentSpan) -> int:
    return zlib.crc32(f"{place.document_id} {place.span.start}".encode())


def sentences_of(corpus: Corpus, hit: DocumentSpan) -> Iterator[DocumentSpan]:
    """The sentences that a hit is at, as the product reads sentences.

    >>> from models.types import Document, Part
    >>> corpus = Corpus([Document("a", (Part("It rains. Stay in."),))])
    >>> [corpus.text(place) for place in sentences_of(corpus, DocumentSpan("a", CharSpan(3, 18)))]
    ['It rains.', 'Stay in.']
    """
    units = corpus.units(hit)
    document = corpus.documents[hit.document_id]
    for part, span in zip(document.parts, part_spans(document), strict=True):
        if span.start < hit.span.end and hit.span.start < span.end:
            for sentence in sentence_spans(part.text):
                place = DocumentSpan(document.id, CharSpan(span.start + sentence.start, span.start + sentence.end))
                if at_same_place(units, corpus.units(place)):
                    yield place
