"""The similarity of labelled pairs, as a mode computes it."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from app.calibration.labels import Label, StoredSpan, refused
from app.requests import SearchRequest
from app.search import literal
from app.search.mode import AnyMode
from app.search.reading import read_request
from indexer.engine.located import Located, find_documents
from indexer.engine.named_spans import NamedSpan
from indexer.engine.snapshot import Snapshot
from indexer.words.literal import Terms
from models.errors import InvalidInput
from models.ops.similarity import raws

# Texts that share a forward pass.
_BATCH = 32


def label_scores(labels: Sequence[Label], snapshot: Snapshot, mode: AnyMode) -> Float[np.ndarray, " labels"]:
    """The raw of every label: a stored span is scored as a hit of a search, a text as it stands alone.

    Raises ``LabelsRefused`` for texts that the mode cannot read, unknown documents, offsets outside their text, and for
    spans in modes that compare documents.
    """
    _refuse_spans(labels, mode)
    encoded = _encoded(labels, snapshot, mode)
    queries = [encoded[label.phrase] for label in labels]
    terms = [_terms(label.phrase, snapshot, mode) for label in labels]
    cosines = np.zeros(len(labels))
    texts = {number: label.target for number, label in enumerate(labels) if isinstance(label.target, str)}
    if texts:
        pairs = [queries[number] for number in texts], [encoded[text] for text in texts.values()]
        of_pairs = [(terms[number], _terms(text, snapshot, mode)) for number, text in texts.items()]
        cosines[list(texts)] = literal.text_cosines(mode, *pairs, of_pairs)
    stored = _located(labels, snapshot)
    if stored:
        cosines[[span.query for span in stored]] = literal.span_cosines(snapshot, mode, queries, stored, terms)
    return raws(cosines)


def _refuse_spans(labels: Sequence[Label], mode: AnyMode) -> None:
    for label in labels:
        if mode.presented.unit != "span" and isinstance(label.target, StoredSpan):
            raise refused(label.where, f"mode {mode.name} compares {mode.presented.unit}s, not spans; give a text")


def _encoded(labels: Sequence[Label], snapshot: Snapshot, mode: AnyMode) -> dict[str, object]:
    """Every distinct text, encoded."""
    where: dict[str, str] = {}
    for label in labels:
        where.setdefault(label.phrase, label.where)
        if isinstance(label.target, str):
            where.setdefault(label.target, label.where)
    read = [_read(text, place, snapshot, mode) for text, place in where.items()]
    batches = [read[begin : begin + _BATCH] for begin in range(0, len(read), _BATCH)]
    queries = [query for batch in batches for query in mode.encode(batch, snapshot.recipe)]
    return dict(zip(where, queries, strict=True))


def _read(text: str, where: str, snapshot: Snapshot, mode: AnyMode) -> object:
    try:
        text.encode()
        return read_request(mode, SearchRequest("", text=text, mode=mode.name), snapshot.recipe)
    except (InvalidInput, UnicodeEncodeError) as error:
        raise refused(where, f"{text[:80]!r} cannot be encoded ({str(error).rstrip('.')})") from error


def _terms(text: str, snapshot: Snapshot, mode: AnyMode) -> Terms:
    return literal.terms_of(mode, SearchRequest("", text=text, mode=mode.name), snapshot.recipe)


def _located(labels: Sequence[Label], snapshot: Snapshot) -> list[NamedSpan]:
    """The stored spans among the labels, each with the number of its label as its query."""
    targets = [(number, label.target) for number, label in enumerate(labels) if isinstance(label.target, StoredSpan)]
    documents = find_documents(snapshot, (target.document_id for _, target in targets))
    return [_named(number, labels[number].where, target, documents) for number, target in targets]


def _named(number: int, where: str, target: StoredSpan, documents: Mapping[str, Located]) -> NamedSpan:
    if target.document_id not in documents:
        reason = f"the collection has no document {target.document_id!r}"
        raise refused(where, reason, hint="Remove the label, or index the document under this id.")
    located = documents[target.document_id]
    try:
        return NamedSpan(located, located.units(target.span), number)
    except InvalidInput as error:
        reason = f"of document {target.document_id!r}, {error}"
        raise refused(where, reason, hint="start and end count code points of the document's current text.") from error
