"""How similar the encoder finds what was labelled."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Float32

from app.calibration.labels import Label, StoredSpan, refused
from app.search.nugget_queries import encode_nugget_queries
from indexer.engine.named_spans import Located, NamedSpan, find_documents, named_cosines
from indexer.engine.snapshot import Snapshot
from models.encoders.base import Encoder, check_query, encode_queries
from models.encoders.nugget_pass import NuggetPass
from models.errors import InvalidInput
from models.ops.maxsim import maxsim
from models.ops.similarity import raws
from models.types import QueryVectors

# Texts that share a forward pass.
_BATCH = 32


def label_scores(labels: Sequence[Label], snapshot: Snapshot, encoder: Encoder) -> Float[np.ndarray, " labels"]:
    """The raw of every label: of a stored span what a search shows of it, of a text that of the text by itself.

    Raises ``LabelsRefused`` for texts that cannot be encoded whole, unknown documents and offsets outside their text.
    """
    vectors = _vectors(labels, encoder)
    queries = np.stack([vectors[label.phrase] for label in labels])
    cosines = np.zeros(len(labels))
    for number, label in enumerate(labels):
        if isinstance(label.target, str):
            cosines[number] = queries[number].astype(np.float64) @ vectors[label.target]
    stored = _located(labels, snapshot)
    cosines[[span.query for span in stored]] = named_cosines(stored, queries)
    return raws(cosines)


def document_label_scores(labels: Sequence[Label], nuggets: NuggetPass) -> Float[np.ndarray, " labels"]:
    """The raw of every label in mode maxsim: of its text by itself, as of a document.

    Raises ``LabelsRefused`` for texts without words, and for spans, which are no documents.
    """
    texts: dict[str, str] = {}
    for label in labels:
        if isinstance(label.target, StoredSpan):
            raise refused(label.where, "mode maxsim compares documents, not spans; give a text")
        texts.setdefault(label.phrase, label.where)
        texts.setdefault(label.target, label.where)
    vectors = {text: _nuggets(text, where, nuggets) for text, where in texts.items()}
    scores = [maxsim(vectors[label.phrase], vectors[str(label.target)]).score for label in labels]
    return raws(np.array(scores))


def _nuggets(text: str, where: str, nuggets: NuggetPass) -> QueryVectors:
    try:
        text.encode()
        (found,) = encode_nugget_queries(nuggets, [text])
    except (InvalidInput, UnicodeEncodeError) as error:
        raise refused(where, f"{text[:80]!r} cannot be encoded ({str(error).rstrip('.')})") from error
    return found.vectors


def _vectors(labels: Sequence[Label], encoder: Encoder) -> dict[str, Float32[np.ndarray, " dim"]]:
    """The vector of every different text."""
    wanted: dict[str, str] = {}
    for label in labels:
        wanted.setdefault(label.phrase, label.where)
        if isinstance(label.target, str):
            wanted.setdefault(label.target, label.where)
    for text, where in wanted.items():
        try:
            text.encode()
            check_query(encoder, text)
        except (InvalidInput, UnicodeEncodeError) as error:
            raise refused(where, f"{text[:80]!r} cannot be encoded ({str(error).rstrip('.')})") from error
    texts = list(wanted)
    batches = [texts[begin : begin + _BATCH] for begin in range(0, len(texts), _BATCH)]
    return {
        text: vector for batch in batches for text, vector in zip(batch, encode_queries(encoder, batch), strict=True)
    }


def _located(labels: Sequence[Label], snapshot: Snapshot) -> list[NamedSpan]:
    """The stored spans among the labels, each with its label's number for a query."""
    wanted = [(number, label.target) for number, label in enumerate(labels) if isinstance(label.target, StoredSpan)]
    documents = find_documents(snapshot, (target.document_id for _, target in wanted))
    return [_named(number, labels[number].where, target, documents) for number, target in wanted]


def _named(number: int, where: str, target: StoredSpan, documents: Mapping[str, Located]) -> NamedSpan:
    if target.document_id not in documents:
        told = f"the collection has no document {target.document_id!r}"
        raise refused(where, told, hint="Take the label out, or index the document; ids are those it was indexed with.")
    located = documents[target.document_id]
    try:
        return NamedSpan(located, located.units(target.span), number)
    except InvalidInput as error:
        told = f"of document {target.document_id!r}, {error}"
        raise refused(where, told, hint="start and end count code points of the document's present text.") from error
