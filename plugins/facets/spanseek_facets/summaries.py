"""Extractive summaries: the sentences whose facets cover the words of texts best (eq. 7 of the paper), chosen greedily.

Words count by ``alpha / (alpha + p)``: rare words count most. A word is covered as well as its cosine with the nearest
facet of a chosen sentence.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Self

import numpy as np

from app.encoders.encoders import Encoders
from app.services import Services
from app.texts.requests import SpanRange
from app.texts.span_answers import TooManySentences
from indexer.engine.located import require_documents
from indexer.engine.query import Filter
from indexer.reading.stored_documents import stored_document
from indexer.segments.text import offset_in
from indexer.store import Store
from models.errors import InvalidInput
from models.text.borders import sentence_spans
from models.types import CharSpan, Document
from spanseek_facets.answers import (
    MAX_CHOSEN,
    MAX_SENTENCES,
    StoredTexts,
    SummaryAnswer,
    SummaryRequest,
    SummarySentence,
)
from spanseek_facets.scores import best_cosines, cover_cosines, frequency_weights
from spanseek_facets.shipped import Facets


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document, in code points."""

    document: Document
    span: CharSpan

    @property
    def text(self) -> str:
        """Its characters."""
        return self.span.of(self.document.text)


def sentences_of(document: Document) -> Iterator[Sentence]:
    """The sentences of all parts of a document.

    >>> from models.types import Part
    >>> [sentence.text for sentence in sentences_of(Document("a", (Part("Stop it. Now!"), Part("Yes"))))]
    ['Stop it.', 'Now!', 'Yes']
    """
    start = 0
    for part in document.parts:
        for span in sentence_spans(part.text):
            yield Sentence(document, CharSpan(start + span.start, start + span.end))
        start += len(part.text) + 1


class SummaryService:
    """Summarizes stored and given texts."""

    def __init__(self, store: Store, encoders: Encoders) -> None:
        self._store = store
        self._facets = encoders.shared(Facets)

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store, services.encoders)

    def summarize(self, request: SummaryRequest) -> SummaryAnswer:
        """Choose sentences of the texts together.

        Raises ``CollectionNotFound``, ``DocumentNotFound``, ``TooManySentences``, and ``InvalidInput`` for texts of
        which the word vectors have no word.
        """
        if not 1 <= request.sentences <= MAX_CHOSEN:
            raise InvalidInput(
                f"A summary cannot have {request.sentences} sentences.", hint=f"1 to {MAX_CHOSEN}.", field="sentences"
            )
        sentences = list(self._limited(self._sentences(request)))
        chosen, coverage = self._chosen(sentences, request.sentences)
        ranked = sorted(zip(chosen, range(1, len(chosen) + 1), coverage, strict=True))
        shown = (_shown(sentences[row], rank, covered, request) for row, rank, covered in ranked)
        return SummaryAnswer(tuple(shown), len(sentences))

    def _sentences(self, request: SummaryRequest) -> Iterator[Sentence]:
        for document in request.texts:
            yield from sentences_of(document)
        if request.stored is not None:
            yield from self._stored(request.stored)

    def _stored(self, stored: StoredTexts) -> Iterator[Sentence]:
        spans = {id: list(of_id) for id, of_id in groupby(sorted(stored.spans, key=_document_id), key=_document_id)}
        ids = dict.fromkeys([*stored.document_ids, *(span.document_id for span in stored.spans)])
        for document in self._documents(stored.collection, list(ids), stored.filter):
            whole, sentences = document.id in stored.document_ids, list(sentences_of(document))
            for span in spans.get(document.id, ()):
                if not any(_touches(sentence, span) for sentence in sentences):
                    raise InvalidInput(
                        f"No sentence of {document.id!r} lies between {span.start} and {span.end}.",
                        hint="Give start and end in code points, within the document's text.",
                        field="stored.spans",
                    )
            for sentence in sentences:
                if whole or any(_touches(sentence, span) for span in spans[document.id]):
                    yield sentence

    def _documents(self, collection: str, ids: Sequence[str], filter: Filter) -> Iterator[Document]:
        snapshot = self._store.snapshot(collection)
        located = require_documents(snapshot, collection, ids, filter)
        return (stored_document(located[id].view.segment, located[id].document) for id in ids)

    def _limited(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for number, sentence in enumerate(sentences):
            if number == MAX_SENTENCES:
                raise TooManySentences(
                    f"The texts have more than {MAX_SENTENCES:,} sentences.",
                    hint="Summarize fewer documents at once, or the spans of a search.",
                    field="sentences",
                )
            yield sentence

    def _chosen(self, sentences: Sequence[Sentence], count: int) -> tuple[list[int], list[float]]:
        """The rows of the chosen sentences, the first first, and how well each and those before it cover the words."""
        words = self._facets.words
        of_sentences = [words.text_ids(sentence.text) for sentence in sentences]
        ids, counts = np.unique(np.concatenate([np.zeros(0, np.int32), *of_sentences]), return_counts=True)
        if not len(ids):
            raise InvalidInput(
                "The texts hold no word that the word vectors have.",
                hint="The vectors that ship know English; operators can set others with SPANSEEK_FACET_WEIGHTS.",
                field="texts",
            )
        facets = self._facets.sentences.encode([sentence.text for sentence in sentences])
        cosines = best_cosines(facets, words.vectors[ids])
        cosines[[not len(of_sentence) for of_sentence in of_sentences]] = -1.0  # a sentence without words covers none
        weights = counts * frequency_weights(words.shares[ids])
        chosen = cover_cosines(cosines, weights, count)
        covered = np.maximum.accumulate(cosines[chosen], axis=0) @ weights / weights.sum()
        return chosen.tolist(), covered.round(6).tolist()


def _document_id(span: SpanRange) -> str:
    return span.document_id


def _touches(sentence: Sentence, span: SpanRange) -> bool:
    return sentence.span.start < span.end and span.start < sentence.span.end


def _shown(sentence: Sentence, rank: int, coverage: float, request: SummaryRequest) -> SummarySentence:
    text, unit = sentence.document.text, request.offset_unit
    start, end = (offset_in(text, at, unit) for at in (sentence.span.start, sentence.span.end))
    return SummarySentence(sentence.document.id, start, end, sentence.text, rank, coverage)
