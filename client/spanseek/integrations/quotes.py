"""A hit as a document that a language model reads and cites."""

from typing import Any, NamedTuple

from spanseek.models import Hit

# Characters on either side of a hit: some sentences.
CONTEXT = 300


class Quoted(NamedTuple):
    """A hit within its surroundings: an id of its own, the text that is read, and where the quotation stands.

    ``metadata`` is that of the document, and ``document_id``, ``start``, ``end``, ``quote`` and ``score``: characters
    ``start`` to ``end`` of the document are the quotation. ``part`` is the metadata of the part, out of which ``page``,
    and ``from_s`` and ``to_s`` of a recording, stand beside it; without a page of the part, ``page`` is the document's.
    These names and further ones of a hit are never the document's own: where its metadata has one of them,
    ``metadata`` in ``metadata`` is the document's, whole.

    A text that is ``restored``, with a ``confidence``, is no quotation: it is ``restored_text`` instead of ``quote``,
    and ``start`` and ``end`` are places of the text that was sent.
    """

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


def quoted(hit: Hit) -> Quoted:
    """A hit with its citation."""
    part = hit.part_metadata or {}
    page = part.get("page")
    own: dict[str, Any] = {
        "document_id": hit.document_id,
        "start": hit.start,
        "end": hit.end,
        "quote": None if hit.restored else hit.text,
        "restored": hit.restored,
        "restored_text": hit.text if hit.restored else None,
        "confidence": hit.confidence,
        "score": hit.score,
        "verdict": hit.verdict,
        "probability": hit.probability,
        "page": hit.metadata.get("page") if page is None else page,
        "from_s": _seconds(part.get("start")),
        "to_s": _seconds(part.get("end")),
        "part": part or None,
        "metadata": None,
    }
    others = {name: value for name, value in hit.metadata.items() if name not in own}
    metadata = others | {name: value for name, value in own.items() if value is not None}
    if any(metadata.get(name) != value for name, value in hit.metadata.items()):
        metadata["metadata"] = hit.metadata
    text = hit.context.text if hit.context is not None else hit.text
    return Quoted(f"{hit.document_id}[{hit.start}:{hit.end}]", text, hit.score, metadata)


def citation(metadata: dict[str, Any]) -> str:
    """One line that quotes and says where; without quotation marks if the text is restored.

    >>> citation({"document_id": "lease", "start": 10, "end": 14, "quote": "rent", "page": 3})
    '"rent" (lease[10:14], page 3)'
    """
    place = f"{metadata['document_id']}[{metadata['start']}:{metadata['end']}]"
    page = f", page {metadata['page']}" if metadata.get("page") is not None else ""
    seconds = _seconds(metadata.get("from_s"))
    time = f", {seconds:.1f} s" if seconds is not None else ""
    if metadata.get("restored"):
        return f"{metadata['restored_text']} ({place}{page}{time}, restored, confidence {metadata['confidence']:.2f})"
    return f'"{metadata["quote"]}" ({place}{page}{time})'


def _seconds(value: object) -> float | None:
    """A moment of a recording, unless metadata mean something else by its name."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
