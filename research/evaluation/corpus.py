"""Documents to evaluate on: their parts and sentences, and spans of them counted in units."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from indexer.errors import SourceUnreadable
from indexer.sources import BadRecord, Source
from models.text import units
from models.types import CharSpan, CharSpans, Document, UnitSpan
from research.evaluation.sentences import sentence_spans


@dataclass(frozen=True, slots=True)
class DocumentSpan:
    """A span of a document that is known by its id: what is looked for, and what is found."""

    document_id: str
    span: CharSpan


class Corpus:
    """Documents by id; of an id that occurs twice the last one counts.

    >>> from models.types import Part
    >>> corpus = Corpus([Document("a", (Part("It rains. Stay in."), Part("Yes.")))])
    >>> [corpus.text(found) for found in corpus.sentences()]
    ['It rains.', 'Stay in.', 'Yes.']
    >>> corpus.units(DocumentSpan("a", CharSpan(3, 14)))
    UnitSpan(start=1, end=4)
    >>> corpus.part(DocumentSpan("a", CharSpan(3, 14)))
    DocumentSpan(document_id='a', span=CharSpan(start=0, end=18))
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents = {document.id: document for document in documents}
        self._units: dict[str, CharSpans] = {}
        self._parts = {id: part_spans(document) for id, document in self.documents.items()}

    def text(self, where: DocumentSpan) -> str:
        """Text of a span."""
        return where.span.of(self.documents[where.document_id].text)

    def units(self, where: DocumentSpan) -> UnitSpan:
        """The units of which a span holds any character."""
        if where.document_id not in self._units:
            self._units[where.document_id] = units.split(self.documents[where.document_id].text)
        spans = self._units[where.document_id]
        first = np.searchsorted(spans[:, 1], where.span.start, side="right")
        last = np.searchsorted(spans[:, 0], where.span.end)
        return UnitSpan(int(first), int(last))

    def part(self, where: DocumentSpan) -> DocumentSpan:
        """The part in which a span starts."""
        parts = self._parts[where.document_id]
        number = bisect_right(parts, where.span.start, key=lambda part: part.start) - 1
        return DocumentSpan(where.document_id, parts[number])

    def parts(self) -> Iterator[DocumentSpan]:
        """All parts, in order."""
        return (DocumentSpan(id, part) for id, parts in self._parts.items() for part in parts)

    def sentences(self) -> Iterator[DocumentSpan]:
        """The sentences of all parts, in order."""
        for part in self.parts():
            for sentence in sentence_spans(self.text(part)):
                start, end = part.span.start + sentence.start, part.span.start + sentence.end
                yield DocumentSpan(part.document_id, CharSpan(start, end))


def read_corpus(path: Path) -> Corpus:
    """The documents of a file or folder. A figure counts all of them: one that cannot be read is an error here."""
    return Corpus(_good(Source(path)))


def _good(source: Source) -> Iterator[Document]:
    for record in source:
        if isinstance(record, BadRecord):
            raise SourceUnreadable(f"{record.where}: {record.reason}.", hint="Correct the document, or leave it out.")
        yield record


def part_spans(document: Document) -> list[CharSpan]:
    """Spans of a document's parts in its text.

    >>> from models.types import Part
    >>> part_spans(Document("a", (Part("Hi."), Part(""), Part("You?"))))
    [CharSpan(start=0, end=3), CharSpan(start=4, end=4), CharSpan(start=5, end=9)]
    """
    spans, start = [], 0
    for part in document.parts:
        spans.append(CharSpan(start, start + len(part.text)))
        start += len(part.text) + 1
    return spans
